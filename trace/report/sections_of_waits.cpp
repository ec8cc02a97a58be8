// The sections that say for whom and where the run waits: pairs of ranks, the frontier, slots; see sections.h.
#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>

#include "trace/formatted.h"
#include "trace/report/sections.h"
#include "trace/report/shown_numbers.h"

namespace weft::report {
namespace {

constexpr std::array unfilled_texts{
#define REASON(name, text) text,
#include "trace/unfilled.def"
#undef REASON
};

// Of many units the ones with the most work.
ordered_json frontier_plot(const Frontier& frontier) {
  constexpr std::size_t most_units = 64;
  if (!frontier.missing.empty()) return {{"missing", frontier.missing}};
  std::vector<std::size_t> shown(frontier.units.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (shown.size() > most_units) {
    std::ranges::stable_sort(shown, std::ranges::greater{},
                             [&](std::size_t unit) { return frontier.units[unit].most; });
    shown.resize(most_units);
  }
  DataTable table("work");
  table.column("of", format::words).column("work in an iteration, ms", format::time);
  table.column("% of iterations in which it is the longest", format::percent);
  table.column("% of its time that is uncertain", format::percent);
  for (const std::size_t at : shown) {
    const WorkOfUnit& unit = frontier.units[at];
    table.row({unit.name, unit.most.count(), share(unit.at_frontier), share(unit.uncertain)});
  }
  const bool is_named = frontier.lead == Lead::clear && frontier.has_all_ranks();
  const bool is_uncertain = std::ranges::any_of(frontier.units, [](auto& unit) { return unit.uncertain > 0; });
  return {{"title", "Work in an iteration, without its bubbles"},
          {"caption", formatted("Medians of %zu iterations", frontier.iterations) +
                          (frontier.has_all_ranks() ? "" : ", " + compared_text(frontier)) +
                          formatted("; full width is an iteration, %.1f ms", milliseconds(frontier.length)) +
                          (is_uncertain ? "; uncertain time counts as work" : "") +
                          left_out_text(frontier.units.size() - shown.size(), "more are not shown") + "."},
          {"whole", frontier.length.count()},
          {"marked", is_named ? ordered_json(frontier.units[frontier.longest].name) : nullptr},
          {"table", std::move(table).json()}};
}

// The matrix of all ranks where it can be looked at, else that of the stages.
ordered_json matrix_plot(const Report& report, bool by_rank) {
  std::vector<std::string> labels;
  for (std::size_t at = 0; at < (by_rank ? report.run->traces.size() : report.waits.stages); ++at)
    labels.push_back(by_rank ? label_of(*report.run, at) : formatted("stage %zu", at));
  DataTable table(by_rank ? "waits" : "waits-of-stages");
  table.labels("waits", labels).labels("for", labels);
  table.column("time, ms", format::time).column("bubbles", format::number);
  for (const WaitingPair& pair : by_rank ? report.waits.of_ranks : report.waits.of_stages)
    table.row({pair.waiting, pair.awaited, pair.time.count(), pair.bubbles});
  return {{"title", by_rank ? "Waiting, rank for rank: the row waits for the column"
                            : "Waiting, stage for stage: the row waits for the column"},
          {"table", std::move(table).json()}};
}

ordered_json pairs_plot(const Report& report) {
  constexpr std::size_t most_pairs = 20;
  const std::vector<WaitingPair>& pairs = report.waits.of_ranks;
  DataTable table("longest-waits");
  table.column("waits", format::words).column("for", format::words);
  table.column("time, ms", format::time).column("bubbles", format::number);
  for (std::size_t place = 0; place < std::min(pairs.size(), most_pairs); ++place)
    table.row({label_of(*report.run, pairs[place].waiting), label_of(*report.run, pairs[place].awaited),
               pairs[place].time.count(), pairs[place].bubbles});
  return {{"title", formatted("The longest waiting, of %zu pairs", pairs.size())}, {"table", std::move(table).json()}};
}

std::string spoken(Duration time) {
  return time < std::chrono::seconds(1) ? formatted("%.1f ms", milliseconds(time))
                                        : formatted("%.1f s", milliseconds(time) / 1e3);
}

// "": the traces hold all of it.
std::string of_all_idle_time(const ReportedRun& run) {
  if (!run.has_first_part_only()) return "";
  if (!run.summary().total.complete) return ": the traces hold only the first part of the run";
  return ", of the " + spoken(run.summary().total.totals.idle) +
         " of the whole run: the traces hold only its first part";
}

std::string waiting_of_all(const Report& report) {
  const Waits& waits = report.waits;
  std::string text = "All ranks together wait " + spoken(waits.peers) + " for a peer, " + spoken(waits.collectives) +
                     " in collectives, " + spoken(waits.others) + " for neither";
  if (waits.unknown > Duration{})
    text += "; of the first " + spoken(waits.unknown) + " for one that cannot be told, or that left no trace";
  return text + of_all_idle_time(*report.run) + ".";
}

// A frame of Python that came with no package and not with Python itself: the training's own, as a rule.
bool is_own(const CallFrame& frame) {
  const auto lies_in = [&](const char* folder) { return frame.file.find(folder) != std::string::npos; };
  return frame.kind == FrameKind::python && !lies_in("/site-packages/") && !lies_in("/dist-packages/") &&
         !lies_in("/lib/python");
}

// The innermost frames, and the innermost ones of the training itself; without folders.
std::string called_by(const CallSite& site) {
  constexpr std::size_t most = 3;
  std::string text;
  std::size_t shown = 0;
  for (std::size_t frame = 0, own = 0; frame < site.size(); ++frame) {
    if (frame >= most && (own >= most || !is_own(site[frame]))) continue;
    if (is_own(site[frame])) ++own;
    if (frame != 0) text += frame == shown + 1 ? " < " : " < ... < ";
    text += text_of(site[frame], false);
    shown = frame;
  }
  return text;
}

}  // namespace

ordered_json waits_section(const Report& report) {
  constexpr std::size_t most_ranks = 64;
  const Waits& waits = report.waits;
  ordered_json section{
      {"id", "waits"},
      {"title", "Who waits for whom, and where the delay starts"},
      {"caption",
       "Delay moves on from rank to rank, so who is waited for longest need not be the one that is late. It "
       "starts where the work is longest: the others wait for that stage, directly or through others. " +
           waiting_of_all(report)},
      {"frontier", frontier_plot(report.frontier)}};
  const bool by_rank = report.run->traces.size() <= most_ranks;
  if (waits.of_ranks.empty())
    section["matrix"] = {{"missing", waits.peers > Duration{}
                                         ? "the ranks that were waited for have no traces here, or their communicators "
                                           "are not known on both sides"
                                         : "no bubble waited for a single peer"}};
  else if (!by_rank && waits.of_stages.empty())
    section["matrix"] = {{"missing", "the stages of the ranks are not known, and they are too many for a matrix"}};
  else
    section["matrix"] = matrix_plot(report, by_rank);
  if (!waits.of_ranks.empty()) section["pairs"] = pairs_plot(report);
  return section;
}

ordered_json slots_section(const Report& report) {
  ordered_json section{{"id", "slots"}, {"title", "Slots: what is waited for in each iteration"}};
  if (report.slots.empty()) {
    section["missing"] = "no bubble was recorded";
    return section;
  }
  DataTable table("slots");
  for (const char* head : {"rank", "waits for", "phase", "cause"}) table.column(head, format::words);
  table.column("bubbles", format::number).column("median ms", format::time).column("idle ms", format::time);
  for (const char* head : {"% of idle", "forecast err. %", "in forecast %", "filled %"})
    table.column(head, format::percent);
  const bool have_sites = std::any_of(report.slots.begin(), report.slots.end(), [](const ReportedSlot& reported) {
    return !reported.slot.slot.call_site.empty();
  });
  if (have_sites) table.column("called by", format::words);
  for (const ReportedSlot& reported : report.slots) {
    const SlotTotals& slot = reported.slot.slot;
    const Calibration& forecasts = reported.forecasts;
    ordered_json row{report.run->rank(reported.slot.rank).name,
                     reported.slot.name.text,
                     phase_names[static_cast<std::size_t>(reported.slot.name.phase)],
                     name_of(slot.cause),
                     slot.bubbles,
                     slot.median.count(),
                     slot.idle.count(),
                     share_of(slot.idle, report.idle_of_slots),
                     share_of(forecasts.error, forecasts.length),
                     share_of(static_cast<double>(forecasts.within), static_cast<double>(forecasts.count())),
                     share_of(reported.filled, slot.idle)};
    if (have_sites) row.push_back(called_by(slot.call_site));
    table.row(std::move(row));
  }
  section["caption"] =
      formatted("The %zu with the most idle time, of all ranks", table.size()) +
      (report.run->has_first_part_only() ? ": " + spoken(report.idle_of_slots) + of_all_idle_time(*report.run)
                                         : " and of the whole run") +
      left_out_text(report.slots_left_out, "more are not shown") + ". The head of a column sorts by it.";
  std::string unfilled;
  for (std::size_t reason = 0; reason < unfilled_reasons; ++reason)
    if (const std::uint64_t bubbles = report.run->summary().total.totals.unfilled[reason]; bubbles > 0)
      unfilled += (unfilled.empty() ? "Bubbles without fill work: " : "; ") +
                  formatted("%llu, because %s", number(bubbles), unfilled_texts[reason]);
  if (!unfilled.empty()) section["after"] = unfilled + ".";
  section["table"] = std::move(table).json();
  return section;
}

}  // namespace weft::report
