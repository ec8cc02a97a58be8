// Found in two passes: one that adds up all traces, one for what stands in between; see the header.
#include "trace/export/exported_run.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include "trace/export/clocks.h"
#include "trace/read/printable.h"
#include "trace/read/runs.h"

namespace weft {
namespace {

constexpr TimeWindow whole_run{TimePoint{}, TimePoint{Duration{latest_time}}};

bool is_of(std::string_view line, std::string_view start) {
  return line.starts_with(start);
}
bool is_group(std::string_view line) {
  return is_of(line, R"({"type": "group")");
}

// Hands on what counts of a trace.
class Filter : public TraceSink {
 public:
  Filter(const TraceProcess& process, RecordTaker& taker) : process_(process), taker_(taker) {}

  bool wants(std::string_view line) const override {
    return is_of(line, R"({"type": "header")") || (counts_ && taker_.wants(line));
  }
  void header(const TraceHeader& header, const TraceLine&) override {
    counts_ = TraceProcess{std::string(header.host), header.process, header.start_id} == process_;
    if (counts_) taker_.header(header);
  }
  void record(const Record& record, const TraceLine& line) override {
    if (counts_ && line.sound()) taker_.take(record);
  }
  void summary(const TraceSummary& summary, const TraceLine& line) override {
    if (counts_ && line.sound()) taker_.summary(summary);
  }

 private:
  const TraceProcess& process_;
  RecordTaker& taker_;
  bool counts_ = false;
};

// Communicators, the times of the wanted iterations, and whether there are groups. Most lines are passed over unread.
class PlaceFinder : public RecordTaker {
 public:
  PlaceFinder(ExportedRank& rank, const std::optional<NumberRange>& iterations)
      : rank_(rank), iterations_(iterations) {}

  bool wants(std::string_view line) const override {
    if (is_group(line)) ++rank_.groups;
    return is_of(line, R"({"type": "communicator")") || (iterations_ && is_of(line, R"({"type": "iteration")"));
  }
  void take(const Record& record) override {
    if (record.kind == RecordKind::communicator)
      rank_.communicators[record.communicator.communicator] = record.communicator;
    if (record.kind == RecordKind::iteration && iterations_) take(record.iteration);
  }
  const std::optional<TimeWindow>& window() const { return window_; }

 private:
  void take(const Iteration& iteration) {
    if (iteration.number > static_cast<std::uint64_t>(highest_count)) return;
    if (!iterations_->contains(static_cast<std::int64_t>(iteration.number))) return;
    if (!window_) window_ = {iteration.started, iteration.ended};
    window_->begin = std::min(window_->begin, iteration.started);
    window_->end = std::max(window_->end, iteration.ended);
  }

  ExportedRank& rank_;
  const std::optional<NumberRange>& iterations_;
  std::optional<TimeWindow> window_;
};

// A run may have thousands of ranks: of those with the same note there is one.
class SharedNotes {
 public:
  void add(const std::string& rank, const std::string& text) {
    const auto known = std::ranges::find(notes_, text, &Note::first);
    (known == notes_.end() ? notes_.emplace_back(text, std::vector<std::string>{}) : *known).second.push_back(rank);
  }
  void append_to(std::vector<std::string>& notes) const {
    for (const auto& [text, ranks] : notes_) notes.push_back(listed_ranks(ranks) + ": " + text);
  }

 private:
  using Note = std::pair<std::string, std::vector<std::string>>;
  std::vector<Note> notes_;
};

// As `weft summary` says it, in words of an export. Those with numbers or a line are of one rank each.
void add_notes(const FileTotals& file, SharedNotes& shared, std::vector<std::string>& notes) {
  const std::string& name = file.rank.name;
  const std::string label = "rank " + name + ": ";
  if (!file.rank.complete)
    shared.add(name,
               "no summary was written (still running, killed, out of disk space, or ended without destroying its "
               "communicators)");
  if (file.limited) shared.add(name, "the trace has reached WEFT_TRACE_LIMIT: most of what came later is not there");
  if (!is_measured(file.rank.header))
    shared.add(name, "bubbles were not measured: " + printable(file.rank.header.idle_unknown));
  if (file.segments_of_others > 0)
    notes.push_back(
        label + "of earlier processes in the same file that are left out: " + std::to_string(file.segments_of_others));
  if (file.doubts.count() > 0)
    notes.push_back(label + "its trace holds something that cannot be true; such lines are left out: " +
                    file.doubts.text(file.path));
  add_damage_notes(file, notes);
  const TraceSummary& totals = file.rank.totals;
  if (totals.dropped_records > 0)
    notes.push_back(label + std::to_string(totals.dropped_records) + " records were dropped");
  if (totals.groups_thinned_out > 0)
    notes.push_back(label + std::to_string(totals.groups_thinned_out) +
                    " groups have no record, because their communicators had too many: they and their arrows are "
                    "missing");
}

ExportedRank exported(const FileTotals& file) {
  ExportedRank rank;
  rank.path = file.path;
  rank.name = file.rank.name + (file.rank.unsure ? " ?" : "");
  rank.process = file.process;
  rank.header = file.rank.header;
  rank.window = whole_run;
  for (const auto& [begin, end] : file.windows) rank.measured.push_back({begin, end});
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file.path, error);
  rank.bytes = error ? 0 : size;
  return rank;
}

std::string text_of(const NumberRange& range) {
  return std::to_string(range.first) + "-" + std::to_string(range.last);
}

// Its second pass. False: it has none of the wanted iterations.
bool find_places(ExportedRank& rank, const std::optional<NumberRange>& iterations, ReadProgress* progress) {
  PlaceFinder finder(rank, iterations);
  read_rank(rank, finder, progress);
  if (!iterations) return true;
  if (!finder.window()) return false;
  rank.window = *finder.window();
  std::vector<TimeWindow> measured;
  for (const TimeWindow& part : rank.measured)
    if (part.touches(rank.window.begin, rank.window.end))
      measured.push_back({std::max(part.begin, rank.window.begin), std::min(part.end, rank.window.end)});
  rank.measured = std::move(measured);
  return true;
}

void find_all_places(ExportedRun& run, const std::optional<NumberRange>& iterations, ReadProgress* progress) {
  if (progress != nullptr) progress->begin("looking for iterations and communicators", run.bytes());
  std::vector<std::string> without_iterations, without_groups;
  std::vector<ExportedRank> kept;
  for (ExportedRank& rank : run.ranks) {
    if (!find_places(rank, iterations, progress)) {
      without_iterations.push_back(rank.name);
      continue;
    }
    if (rank.groups == 0) without_groups.push_back(rank.name);
    kept.push_back(std::move(rank));
  }
  run.ranks = std::move(kept);
  if (run.ranks.empty()) throw std::runtime_error("no rank has any of the iterations " + text_of(*iterations));
  if (!without_iterations.empty())
    run.notes.push_back(listed_ranks(without_iterations) + ": none of the iterations " + text_of(*iterations) +
                        "; left out");
  if (!without_groups.empty())
    run.notes.push_back(listed_ranks(without_groups) +
                        ": the trace has no groups (WEFT_TRACE_GROUPS=off, or an older Weft): NCCL's own time, its "
                        "overlap with computation and arrows are missing");
}

void put_on_one_clock(ExportedRun& run) {
  std::vector<TraceHeader> headers;
  for (const ExportedRank& rank : run.ranks) headers.push_back(rank.header);
  const CommonClock clock = common_clock(headers);
  if (!clock.note.empty()) run.notes.push_back(clock.note);
  run.begin = TimePoint::max();
  for (std::size_t index = 0; index < run.ranks.size(); ++index) {
    ExportedRank& rank = run.ranks[index];
    rank.shift = clock.shifts[index];
    run.begin = std::min(run.begin, rank.aligned(rank.header.started));
    for (const auto& [number, communicator] : rank.communicators) run.members.add(index, communicator);
  }
}

}  // namespace

bool ExportWanted::selects(std::int64_t rank) const {
  return ranks.empty() || std::ranges::any_of(ranks, [&](const NumberRange& range) { return range.contains(rank); });
}

std::uint64_t ExportedRun::bytes() const {
  std::uint64_t bytes = 0;
  for (const ExportedRank& rank : ranks) bytes += rank.bytes;
  return bytes;
}

void CommunicatorMembers::add(std::size_t rank, const CommunicatorRecord& communicator) {
  if (communicator.id != 0) members_.emplace(std::pair(communicator.id, communicator.rank), rank);
}

std::optional<std::size_t> CommunicatorMembers::member(const CommunicatorRecord& communicator,
                                                       std::int32_t place) const {
  const auto found = members_.find({communicator.id, place});
  if (communicator.id == 0 || found == members_.end()) return std::nullopt;
  return found->second;
}

ExportedRun find_exported_run(const ExportWanted& wanted, ReadProgress* progress) {
  ExportedRun run;
  std::vector<std::string> notes;
  const std::vector<FileTotals> files = newest_run(wanted.directories, notes, progress);
  run.notes = notes;
  SharedNotes shared;
  std::int64_t last_rank = 0;
  for (const FileTotals& file : files) {
    last_rank = std::max<std::int64_t>(last_rank, file.rank.header.rank);
    if (!wanted.selects(file.rank.header.rank)) continue;
    run.ranks.push_back(exported(file));
    add_notes(file, shared, run.notes);
  }
  shared.append_to(run.notes);
  if (run.ranks.empty())
    throw std::runtime_error("none of the wanted ranks has a trace here; the last one is rank " +
                             std::to_string(last_rank));
  find_all_places(run, wanted.iterations, progress);
  put_on_one_clock(run);
  return run;
}

void read_rank(const ExportedRank& rank, RecordTaker& taker, ReadProgress* progress) {
  Filter filter(rank.process, taker);
  if (progress == nullptr) {
    read_trace(rank.path, filter);
    return;
  }
  CountedLines counted(filter, *progress);
  read_trace(rank.path, counted);
}

}  // namespace weft
