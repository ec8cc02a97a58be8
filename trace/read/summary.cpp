// Adding up the newest run; see the header. Which traces it has is found out in runs.cpp, the sums of one trace in
// file_totals.cpp; the two ways to show the result are in summary_text.cpp.
#include "trace/read/summary.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "detector/median.h"
#include "trace/clocks/clock_bounds.h"
#include "trace/clocks/clock_text.h"
#include "trace/formatted.h"
#include "trace/names/names.h"
#include "trace/names/slot_places.h"
#include "trace/read/file_totals.h"
#include "trace/read/line_reader.h"
#include "trace/read/parallel.h"
#include "trace/read/printable.h"
#include "trace/read/runs.h"
#include "trace/totals.h"

namespace weft {
namespace {

// Why nothing was filled, for a rank that had a fill job.
void add_unfilled_note(const RankSummary& rank, const std::string& label, std::vector<std::string>& notes) {
  std::string reasons;
  const auto& unfilled = rank.totals.unfilled;
  for (std::size_t i = 0; i < unfilled.size(); ++i)
    if (unfilled[i] > 0)
      reasons += (reasons.empty() ? "" : ", ") + std::string(unfilled_names[i]) + " " + std::to_string(unfilled[i]);
  if (!reasons.empty()) notes.push_back(label + "bubbles without a slice: " + reasons);
}

// Lines that could not be read may be those of the bubbles, and have a note of their own.
bool lacks_bubbles(const FileTotals& file) {
  return file.missing_bubbles.lines > file.damage.unreadable.lines + file.damage.too_long.lines;
}

void add_missing_bubbles(const FileTotals& file, const std::string& label, std::vector<std::string>& notes) {
  const LineCount& missing = file.missing_bubbles;
  if (!lacks_bubbles(file)) return;
  const bool one = missing.lines == 1;
  notes.push_back(label + std::to_string(missing.lines) +
                  (one ? " bubble is missing, before " : " bubbles are missing, the first before ") +
                  printable(file.path) + ":" + std::to_string(missing.first) +
                  (file.rank.complete ? ": " : ": records were dropped, or ") + "lines are lost or were cut out");
}

void add_uncertain_note(const RankSummary& rank, const std::string& label, std::vector<std::string>& notes) {
  const std::optional<PartOfRun> steady = rank.steady();
  const double most = steady ? std::max(rank.uncertain_share(), steady->uncertain_share()) : rank.uncertain_share();
  if (!is_measured(rank.header) || most <= 0.01) return;
  std::string note = label + formatted("for %.1f %% of the time ", 100 * rank.uncertain_share());
  if (steady) note += formatted("(%.1f %% after start-up) ", 100 * steady->uncertain_share());
  notes.push_back(note + "nobody could tell whether the GPU computed: " + printable(rank.totals.uncertain_reason));
}

void add_notes(const FileTotals& file, std::vector<std::string>& notes) {
  const RankSummary& rank = file.rank;
  const std::string label = "rank " + rank.name + ": ";
  if (!rank.complete)
    notes.push_back(label +
                    "no summary was written (still running, killed, out of disk space, or ended without destroying "
                    "its communicators); its numbers come from its records" +
                    (file.limited ? ", and cover only what fitted into WEFT_TRACE_LIMIT" : ""));
  else if (file.limited)
    notes.push_back(note_on_limit(rank));
  if (file.segments_of_others > 0)
    notes.push_back(
        label + "of earlier processes in the same file that are left out: " + std::to_string(file.segments_of_others));
  if (file.doubts.count() > 0)
    notes.push_back(label + "its numbers are unsure and left out of the totals: " + file.doubts.text(file.path));
  add_damage_notes(file, notes);
  if (file.bubbles_without_slot > 0)
    notes.push_back(label + "there are too many slots to show: " + std::to_string(file.bubbles_without_slot) +
                    " bubbles are not among those with the most idle time");
  // Of one alone, that is why filling stopped.
  if (!rank.totals.filling_stopped)
    for (const std::string& job : rank.lost_jobs) notes.push_back(label + job);
  if (rank.totals.filling_stopped) notes.push_back(label + "filling was stopped: " + printable(rank.totals.reason));
  if (rank.totals.fill_units == 0) add_unfilled_note(rank, label, notes);
  if (rank.totals.dropped_records > 0)
    notes.push_back(label + (rank.complete ? "" : "at least ") + std::to_string(rank.totals.dropped_records) +
                    " records were dropped");
  if (rank.totals.annotations_refused > 0)
    notes.push_back(label + std::to_string(rank.totals.annotations_refused) +
                    " annotations were not believed: they contradict others, and its anomalies say which, or name no "
                    "device");
  if (rank.totals.annotations_held_back > 0)
    notes.push_back(label + std::to_string(rank.totals.annotations_held_back) +
                    " annotations are lost: there were more than could be taken beside the events of the training");
  add_trust_notes(rank, notes);
}

// A last line that breaks off is one that cannot be read; without a summary it was to be expected.
void add_lost_lines(const FileTotals& file, LostLines& lost) {
  lost.unreadable += file.damage.unreadable.lines + (file.rank.complete ? file.damage.cut_off.lines : 0);
  lost.too_long += file.damage.too_long.lines;
  lost.bubbles += lacks_bubbles(file) ? file.missing_bubbles.lines : 0;
  lost.broken_files += file.damage.error != 0 ? 1 : 0;
}

// Of each rank, in their order.
using Places = std::vector<std::unique_ptr<SlotPlaces>>;

// Why it could not be read; "": it could. It has been read before, and may have gone since.
std::string add_groups(GroupJoiner& joiner, const FileTotals& file, TraceClock clock, SlotPlaces& places,
                       ReadProgress* progress) {
  try {
    joiner.add_file(file.path, file.rank.unsure ? nullptr : &places, clock, progress);
    places.finish();
    return "";
  } catch (const std::runtime_error& error) {
    return std::string(error.what()) + "; its groups are not joined";
  }
}

HostClocks clocks_of(const std::vector<FileTotals>& files) {
  std::vector<TraceHeader> headers;
  std::vector<TimePoint> ends;
  for (const FileTotals& file : files) {
    ends.push_back(file.last);
    headers.push_back(file.rank.header);  // that of the last segment; clocks begin with the first one
    headers.back().started = file.started;
    headers.back().wall_clock = file.begin;
  }
  return host_clocks(headers, ends);
}

// The second pass over the files: what their groups say, with the clock of each. Of each file why it could not be read.
std::vector<std::string> read_groups(const std::vector<FileTotals>& files, const HostClocks& hosts, GroupJoiner& joiner,
                                     Places& places, ReadProgress* progress) {
  std::uint64_t bytes = 0;
  for (const FileTotals& file : files) bytes += progress == nullptr ? 0 : size_of_trace(file.path);
  if (progress != nullptr) progress->begin("looking for groups", bytes);
  std::vector<std::string> failures(files.size());
  for (std::size_t index = 0; index < files.size(); ++index) places.push_back(std::make_unique<SlotPlaces>());
  std::vector<GroupJoiner> joiners(readers_for(files.size()), joiner);
  std::mutex mutex;
  for_each_file(files.size(), joiners.size(), [&](std::size_t reader, std::size_t index) {
    ReaderProgress own(progress, mutex);
    failures[index] = add_groups(joiners[reader], files[index], hosts.traces[index], *places[index],
                                 progress == nullptr ? nullptr : &own);
  });
  for (GroupJoiner& each : joiners) {
    joiner.add(each);
    each = GroupJoiner();
  }
  return failures;
}

// "all ranks", or some of them.
std::string listed(const std::vector<std::string>& names, const RunSummary& run) {
  return names.size() == run.ranks.size() ? "all ranks" : listed_ranks(names);
}

// Shares are those of the steady state, where it is known.
void add_startup_notes(RunSummary& run) {
  std::vector<std::string> only_startup, unknown;
  for (const RankSummary& rank : run.ranks) {
    if (!is_measured(rank.header) || rank.window <= Duration{}) continue;
    if (rank.totals.iterations == 0)
      only_startup.push_back(rank.name);
    else if (!rank.totals.startup)
      unknown.push_back(rank.name);
  }
  if (!only_startup.empty())
    run.notes.push_back("no iteration was found on " + listed(only_startup, run) +
                        ": all of the run counts as start-up, and the shares are of all of it");
  if (!unknown.empty())
    run.notes.push_back("the trace does not tell start-up from steady state on " + listed(unknown, run) +
                        ": the shares are of the whole run");
}

// As a rule they are the same everywhere.
void add_other_settings(RunSummary& run) {
  const auto settings = [](const TraceHeader& header) {
    return header.fill_job.empty() ? "mode " + printable(header.mode) : "filled with " + printable(header.fill_job);
  };
  std::vector<std::pair<std::string, std::vector<std::string>>> ranks;  // in the order of their first ranks
  for (const RankSummary& rank : run.ranks) {
    const std::string own = settings(rank.header);
    auto known = std::ranges::find_if(ranks, [&](const auto& entry) { return entry.first == own; });
    if (known == ranks.end()) known = ranks.insert(ranks.end(), {own, {}});
    known->second.push_back(rank.name);
  }
  if (ranks.size() < 2) return;
  std::string note = "ranks have other settings: ";
  for (const auto& [own, names] : ranks)
    note += (own == ranks.front().first ? "" : "; ") + own + " on " + listed(names, run);
  run.notes.push_back(note);
}

// One note for all ranks that share a reason: as a rule it is the same everywhere.
void add_unknown_idle_notes(RunSummary& run) {
  std::map<std::string, std::vector<std::string>> ranks;
  for (const RankSummary& rank : run.ranks)
    if (!is_measured(rank.header)) ranks[std::string(rank.header.idle_unknown)].push_back(rank.name);
  for (const auto& [reason, names] : ranks)
    run.notes.push_back("idle time unknown, bubbles were not measured, on " + listed(names, run) + ": " +
                        printable(reason));
}

// Likewise.
void add_cautions(RunSummary& run) {
  std::map<std::string, std::vector<std::string>> ranks;
  for (const RankSummary& rank : run.ranks)
    if (!rank.header.caution.empty()) ranks[std::string(rank.header.caution)].push_back(rank.name);
  for (const auto& [caution, names] : ranks) run.notes.push_back(listed(names, run) + ": " + printable(caution));
}

std::int64_t ranks_of_job(const RunSummary& run) {
  std::int64_t expected = 0;
  for (const RankSummary& rank : run.ranks)
    if (!rank.unsure) expected = std::max<std::int64_t>(expected, rank.header.ranks);
  return expected;
}

std::set<std::int64_t> numbers_of_ranks(const RunSummary& run) {
  std::set<std::int64_t> numbers;
  for (const RankSummary& rank : run.ranks) numbers.insert(rank.header.rank);
  return numbers;
}

void add_missing_ranks(RunSummary& run) {
  if (const std::uint64_t missing = missing_ranks(run); missing > 0)
    run.notes.push_back("the job has " + std::to_string(ranks_of_job(run)) + " ranks; " + std::to_string(missing) +
                        " left no trace here");
}

// Shares of all ranks are sums of times: a rank whose trace is shorter counts for less in them.
void add_shorter_traces(RunSummary& run) {
  constexpr double alike = 0.9;
  const auto length = [](const RankSummary& rank) { return static_cast<double>(rank.shown().window.count()); };
  double longest = 0;
  const auto counts = [](const RankSummary& rank) { return !rank.unsure && is_measured(rank.header); };
  for (const RankSummary& rank : run.ranks)
    if (counts(rank)) longest = std::max(longest, length(rank));
  std::vector<std::string> shorter;
  double shortest = longest;
  for (const RankSummary& rank : run.ranks) {
    if (!counts(rank) || length(rank) >= alike * longest) continue;
    shorter.push_back(rank.name);
    shortest = std::min(shortest, length(rank));
  }
  if (!shorter.empty())
    run.notes.push_back(listed_ranks(shorter) + ": trace of " + formatted("%.3g s", shortest / 1e9) +
                        (shorter.size() == 1 ? "" : " or more") + formatted(" (others up to %.3g s)", longest / 1e9) +
                        ": counts for less in the shares of all ranks");
}

// "560.0 ms on rank 1 (22 of them)"
std::string iterations_of(const RankSummary& rank) {
  return formatted("%.1f ms", static_cast<double>(rank.totals.iteration_median.count()) / 1e6) + " on rank " +
         rank.name + " (" + std::to_string(rank.totals.iterations) + " of them)";
}

// "22 on rank 0 (start-up 0.52 s)"
std::string count_of(const RankSummary& rank) {
  std::string text = std::to_string(rank.totals.iterations) + " on rank " + rank.name;
  if (rank.totals.iterations > 0 && rank.totals.startup)
    text += formatted(" (start-up %.2f s)", static_cast<double>(rank.totals.startup->length.count()) / 1e9);
  return text;
}

// Ranks of one job whose numbers are of all of their run.
std::vector<const RankSummary*> whole_ranks(const RunSummary& run) {
  std::vector<const RankSummary*> whole;
  for (const RankSummary& rank : run.ranks)
    if (rank.complete && !rank.unsure) whole.push_back(&rank);
  return whole;
}

// One more or less lies at the ends of the run. More may be no fault, as a rank counts from where it has found its
// rhythm: its start-up then is longer by as much.
void add_disagreement_about_number(RunSummary& run) {
  const std::vector<const RankSummary*> whole = whole_ranks(run);
  if (whole.empty()) return;
  const auto [fewest, most] =
      std::ranges::minmax(whole, {}, [](const RankSummary* rank) { return rank->totals.iterations; });
  if (most->totals.iterations - fewest->totals.iterations <= 1) return;
  run.notes.push_back("ranks disagree about the number of iterations: " + count_of(*most) + ", " + count_of(*fewest) +
                      "; a rank counts from where it has found what repeats, or took something else for an iteration");
}

// All stages of a pipeline take part in each iteration. Where the times differ, one has taken something else for one.
void add_disagreement_about_length(RunSummary& run) {
  constexpr double alike = 1.25;
  constexpr std::uint64_t fewest = 4;
  std::vector<const RankSummary*> known;
  for (const RankSummary* rank : whole_ranks(run)) {
    const bool is_measured_whole = rank->totals.records_left_out == 0 && is_measured(rank->header);
    if (is_measured_whole && rank->totals.iterations >= fewest && rank->totals.iteration_median > Duration{})
      known.push_back(rank);
  }
  if (known.empty()) return;
  const auto [shortest, longest] =
      std::ranges::minmax(known, {}, [](const RankSummary* rank) { return rank->totals.iteration_median; });
  const auto length = [](const RankSummary* rank) {
    return static_cast<double>(rank->totals.iteration_median.count());
  };
  if (length(longest) <= alike * length(shortest)) return;
  run.notes.push_back("iterations take " + iterations_of(*longest) + " and " + iterations_of(*shortest) +
                      ": if they are stages of one pipeline, one of them took something else for an iteration");
}

// A rank may begin later or end earlier than another, or leave some out. With as many iterations as the other one its
// numbers have to be the same ones then.
bool are_of_other_iterations(const SaidNumbers& left, const SaidNumbers& right) {
  constexpr double alike = 1.5;
  const auto [fewer, more] = std::minmax(left.count, right.count);
  if (more - fewer > 1 + fewer / 20) return false;
  if (left.step() > alike * right.step() || right.step() > alike * left.step()) return true;
  return (left.least < right.least && left.most < right.most) || (left.least > right.least && left.most > right.most);
}

// "0 to 11 on rank 0"
std::string said_of(const RankSummary& rank) {
  return std::to_string(rank.said.least) + " to " + std::to_string(rank.said.most) + " on rank " + rank.name;
}

// Iterations without fill, and the forecasts of the ranks, go by these numbers.
void add_disagreement_about_said_numbers(RunSummary& run) {
  constexpr std::uint64_t fewest = 4;
  const RankSummary* first = nullptr;
  for (const RankSummary* rank : whole_ranks(run)) {
    if (rank->said.count < fewest || rank->totals.records_left_out + rank->totals.dropped_records > 0) continue;
    if (first == nullptr) first = rank;
    if (!are_of_other_iterations(first->said, rank->said)) continue;
    run.notes.push_back("ranks give their iterations other numbers (annotations): " + said_of(*first) + ", " +
                        said_of(*rank) + " (" + std::to_string(first->said.count) + " and " +
                        std::to_string(rank->said.count) +
                        " of them); an iteration has to have the same number on all ranks: if these are the same "
                        "ones, each rank leaves out fill in other ones");
    return;
  }
}

// The collectives that bound iterations come in evaluation, too, or several times in a step: nothing but the lengths
// shows it.
void add_unequal_iterations(RunSummary& run) {
  constexpr double alike = 1.5;
  constexpr std::uint64_t fewest = 10;
  std::vector<std::string> names;
  const RankSummary* widest = nullptr;
  const auto spread = [](const RankSummary& rank) {
    return static_cast<double>(rank.iteration_high.count()) / static_cast<double>(rank.iteration_low.count());
  };
  for (const RankSummary& rank : run.ranks) {
    if (rank.unsure || rank.totals.iterations < fewest || rank.iteration_low <= Duration{}) continue;
    if (spread(rank) <= alike) continue;
    names.push_back(rank.name);
    if (widest == nullptr || spread(rank) > spread(*widest)) widest = &rank;
  }
  if (widest == nullptr) return;
  run.notes.push_back("iterations differ on " + listed(names, run) +
                      formatted(", one in ten is shorter than %.1f ms and one in ten longer than %.1f ms on rank ",
                                static_cast<double>(widest->iteration_low.count()) / 1e6,
                                static_cast<double>(widest->iteration_high.count()) / 1e6) +
                      widest->name +
                      ": if the training's steps do not, evaluation or parts of a step were taken for iterations");
}

void add_up(RunSummary& run) {
  constexpr std::size_t most_slots = 5;
  std::vector<Duration> medians;
  std::vector<double> errors;
  std::uint64_t iterations = 0;
  bool any_measured = false;
  RecordText idle_unknown;
  run.total.totals.startup.emplace();
  for (std::size_t index = 0; index < run.ranks.size(); ++index) {
    const RankSummary& rank = run.ranks[index];
    run.total.unsure = run.total.unsure || rank.unsure;
    if (rank.unsure) continue;
    TraceSummary totals = rank.totals;
    if (!is_measured(rank.header)) totals.startup.emplace(), totals.dark = {};  // as its window is not in the sum
    add_up(run.total.totals, totals);
    if (is_measured(rank.header)) {
      any_measured = true;
      add_to(run.total.window, rank.window);
    } else if (idle_unknown.empty()) {
      idle_unknown = rank.header.idle_unknown;
    }
    run.total.end_uncertainty_high = std::max(run.total.end_uncertainty_high, rank.end_uncertainty_high);
    add_to(run.total.idle_near_ends, rank.idle_near_ends);
    for (const auto& [cause, idle] : rank.idle_by_cause) add_to(run.total.idle_by_cause[cause], idle);
    run.total.complete = run.total.complete && rank.complete;
    iterations = std::max(iterations, rank.totals.iterations);
    if (rank.totals.iterations > 0) medians.push_back(rank.totals.iteration_median);
    if (rank.forecast_error) errors.push_back(*rank.forecast_error);
    run.total.forecasts += rank.forecasts;
    for (const SlotTotals& slot : rank.slots) run.longest.push_back({slot, index, {}});
  }
  if (!any_measured) run.total.header.idle_unknown = idle_unknown;
  run.total.totals.idle_known = is_measured(run.total.header);
  if (run.total.totals.startup) run.total.totals.startup->idle_known = run.total.totals.idle_known;
  run.total.totals.iterations = iterations;
  run.total.totals.iteration_median = median(std::move(medians));
  if (!errors.empty()) run.total.forecast_error = median(std::move(errors));
  std::stable_sort(run.longest.begin(), run.longest.end(),
                   [](const RankSlot& left, const RankSlot& right) { return left.slot.idle > right.slot.idle; });
  if (run.longest.size() > most_slots) run.longest.resize(most_slots);
}

// As people call it all: of the ranks as far as they are sure.
std::unique_ptr<RunNames> add_names(RunSummary& run, const Places& places) {
  std::vector<names::NamedRank> traces;
  for (std::size_t index = 0; index < run.ranks.size(); ++index) {
    const TraceHeader& header = run.ranks[index].header;
    traces.push_back({header.rank, header.ranks, &places[index]->iterations()});
  }
  auto made = std::make_unique<RunNames>(std::move(traces));
  const RunNames& names = *made;
  for (std::size_t index = 0; index < run.ranks.size(); ++index) {
    RankSummary& rank = run.ranks[index];
    rank.stage = names.stage(index);
    for (const auto& [communicator, role] : names.roles(index))
      rank.communicators.push_back({communicator, names.communicator(index, communicator), role});
  }
  for (RankSlot& longest : run.longest)
    longest.name = name_of_slot(names, longest.rank, *places[longest.rank], longest.slot,
                                run.ranks[longest.rank].totals.iterations > 0);
  run.notes_on_names = names.notes();
  if (run.groups.recorded == 0 && run.total.totals.iterations > 0 && !run.longest.empty())
    run.notes_on_names.push_back("slots are named by peer alone: there are no groups in the traces");
  return made;
}

}  // namespace

void add_damage_notes(const FileTotals& file, std::vector<std::string>& notes) {
  const std::string label = "rank " + file.rank.name + ": ";
  const TraceDamage& damage = file.damage;
  const std::string path = printable(file.path);
  const auto number = [](const LineCount& lines) {
    return std::to_string(lines.lines) + (lines.lines == 1 ? " line" : " lines");
  };
  const auto first = [&](const LineCount& lines) {
    return (lines.lines == 1 ? ": " : ", the first is ") + path + ":" + std::to_string(lines.first);
  };
  if (damage.error != 0) notes.push_back(label + path + " could be read in part only: " + std::strerror(damage.error));
  if (damage.cut_off.lines > 0 && file.rank.complete)
    notes.push_back(label + "the last line breaks off" + first(damage.cut_off));
  if (damage.unreadable.lines > 0)
    notes.push_back(label + number(damage.unreadable) + " not readable" + first(damage.unreadable));
  if (damage.too_long.lines > 0)
    notes.push_back(label + number(damage.too_long) + " longer than " + std::to_string(most_line_bytes) +
                    " bytes, skipped" + first(damage.too_long));
  add_missing_bubbles(file, label, notes);
}

void add_trust_notes(const RankSummary& rank, std::vector<std::string>& notes) {
  const std::string label = "rank " + rank.name + ": ";
  if (rank.was_late()) notes.push_back(label + lateness_of(rank));
  add_uncertain_note(rank, label, notes);
}

void add_group_notes(const GroupJoin& groups, std::vector<std::string>& notes) {
  if (!groups.first_difference.empty())
    notes.push_back("ranks disagree about " +
                    std::to_string(groups.not_joined[static_cast<std::size_t>(Unjoined::different)]) +
                    " groups, first about " + groups.first_difference);
  if (groups.unusable > 0)
    notes.push_back(std::to_string(groups.unusable) + " lines of groups or communicators cannot be used");
  if (groups.not_looked_at > 0)
    notes.push_back(std::to_string(groups.not_looked_at) + " groups were too many to be joined");
}

void add_notes_on_ranks(RunSummary& run) {
  add_other_settings(run);
  add_unknown_idle_notes(run);
  add_cautions(run);
  add_missing_ranks(run);
  add_shorter_traces(run);
}

std::uint64_t missing_ranks(const RunSummary& run) {
  const std::set<std::int64_t> there = numbers_of_ranks(run);
  if (processes_of(run).size() > there.size()) return 0;
  const std::int64_t missing = ranks_of_job(run) - static_cast<std::int64_t>(there.size());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(missing, 0));
}

std::vector<std::string> names_of_missing_ranks(const RunSummary& run) {
  constexpr std::uint64_t most_names = 8;
  const std::set<std::int64_t> there = numbers_of_ranks(run);
  const std::uint64_t wanted = std::min(missing_ranks(run), most_names);
  std::vector<std::string> names;
  for (std::int64_t rank = 0; names.size() < wanted && rank < ranks_of_job(run); ++rank)
    if (!there.contains(rank)) names.push_back(std::to_string(rank));
  return names;
}

std::string listed_ranks(const std::vector<std::string>& names) {
  constexpr std::size_t most_names = 8;
  std::string list = "rank";
  for (std::size_t i = 0; i < std::min(names.size(), most_names); ++i) list += (i == 0 ? " " : ", ") + names[i];
  if (names.size() > most_names) list += " and " + std::to_string(names.size() - most_names) + " more";
  return list;
}

void SaidNumbers::add(std::int64_t number) {
  least = count == 0 ? number : std::min(least, number);
  most = count == 0 ? number : std::max(most, number);
  ++count;
}

double SaidNumbers::step() const {
  return count < 2 ? 1 : (static_cast<double>(most) - static_cast<double>(least)) / static_cast<double>(count - 1);
}

std::string lateness_of(const RankSummary& rank) {
  const auto milliseconds = [](Duration time) { return static_cast<double>(time.count()) / 1e6; };
  std::string text = formatted("Weft's thread was late: one in ten ends of bubbles is known to %.3f ms only",
                               milliseconds(rank.end_uncertainty_high));
  if (rank.totals.end_uncertainty > Duration{})  // only the process itself knows it of all bubbles
    text += formatted(" (the median is %.3f ms)", milliseconds(rank.totals.end_uncertainty));
  const double near = milliseconds(rank.idle_near_ends) / std::max(milliseconds(rank.totals.idle), 1e-6);
  return text + formatted("; %.1f %% of the idle time is that close to an end, so its share is known to %.1f points",
                          100 * std::min(near, 1.0), 100 * rank.lateness_share());
}

std::string note_on_limit(const RankSummary& rank) {
  return "rank " + rank.name +
         ": its trace has reached WEFT_TRACE_LIMIT: causes, slots and forecast errors cover only its first part, the "
         "other numbers all of it";
}

std::set<RankProcess> processes_of(const RunSummary& run) {
  std::set<RankProcess> processes;
  for (const RankSummary& rank : run.ranks)
    processes.emplace(rank.header.rank, std::string(rank.header.host), rank.header.process);
  return processes;
}

RunSummary summarize_directories(const std::vector<std::string>& directories) {
  std::vector<std::string> notes;
  const std::vector<FileTotals> files = newest_run(directories, notes);
  return summarize(files, notes);
}

NamedRun::NamedRun() = default;
NamedRun::NamedRun(NamedRun&&) noexcept = default;
NamedRun& NamedRun::operator=(NamedRun&&) noexcept = default;
NamedRun::~NamedRun() = default;

RunSummary summarize(const std::vector<FileTotals>& files, const std::vector<std::string>& notes_of_all) {
  return std::move(summarize_with_names(files, notes_of_all).summary);
}

NamedRun summarize_with_names(const std::vector<FileTotals>& files, const std::vector<std::string>& notes_of_all,
                              ReadProgress* progress) {
  NamedRun named;
  RunSummary& run = named.summary;
  HostClocks hosts = clocks_of(files);
  ClockBounds bounds;
  GroupJoiner joiner(GroupJoiner::usual_most, &bounds);
  const std::vector<std::string> failures = read_groups(files, hosts, joiner, named.places, progress);
  for (std::size_t index = 0; index < files.size(); ++index) {
    run.ranks.push_back(files[index].rank);
    add_notes(files[index], run.notes);
    if (!failures[index].empty()) run.notes.push_back(failures[index]);
    add_lost_lines(files[index], run.lost_lines);
  }
  run.groups = joiner.result();
  run.clocks = RunClocks(std::move(hosts), std::move(bounds), 0);
  add_group_notes(run.groups, run.notes);
  run.notes.insert(run.notes.end(), notes_of_all.begin(), notes_of_all.end());
  add_notes_on_ranks(run);
  add_startup_notes(run);
  add_disagreement_about_length(run);
  add_unequal_iterations(run);
  add_disagreement_about_number(run);
  add_disagreement_about_said_numbers(run);
  for (std::string& note : clock_notes(run.clocks)) run.notes.push_back(std::move(note));
  add_up(run);
  named.names = add_names(run, named.places);
  return named;
}

}  // namespace weft
