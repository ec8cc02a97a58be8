// Found in two passes: one that adds up all traces, one for what stands in between; see the header.
#include "trace/export/exported_run.h"

#include <algorithm>
#include <stdexcept>

#include "trace/clocks/clock_bounds.h"
#include "trace/clocks/clock_text.h"
#include "trace/export/run_notes.h"
#include "trace/names/names.h"
#include "trace/names/slot_places.h"
#include "trace/read/join.h"
#include "trace/read/runs.h"
#include "trace/read/summary.h"

namespace weft {
namespace {

constexpr TimeWindow whole_run{TimePoint{}, TimePoint::max()};

// The numbers of all iterations; 0: there are none.
struct IterationsThere {
  std::uint64_t first = 0, last = 0;

  void add(std::uint64_t number) {
    if (number == 0) return;
    first = first == 0 ? number : std::min(first, number);
    last = std::max(last, number);
  }
  std::string text() const {
    return last == 0 ? "" : ": there are " + std::to_string(first) + " to " + std::to_string(last);
  }
};

// Found in the second pass: communicators, call sites, how far there are groups, what bubbles waited for, the times of
// the wanted iterations.
class PlaceFinder : public RecordTaker {
 public:
  PlaceFinder(ExportedRank& rank, const std::optional<NumberRange>& iterations, GroupJoiner& joiner, SlotPlaces& places)
      : rank_(rank), iterations_(iterations), joiner_(joiner), places_(places), windows_(rank.segments.size()) {}

  bool wants(std::string_view line) const override { return places_.wants(line) || is_line_of(line, "call_frame"); }
  void header(const TraceHeader& header, std::size_t segment) override {
    segment_ = segment;
    places_.header(header, {});
  }
  void take(const Record& record) override {
    if (record.kind == RecordKind::communicator && !take(record.communicator)) return;
    places_.record(record, {});
    if (record.kind == RecordKind::call_frame) rank_.call_sites.add(record.call_frame);
    if (record.kind == RecordKind::group) take(record.time, record.group);
    if (record.kind == RecordKind::iteration && iterations_) take(record.iteration);
  }
  // False: it has none of the wanted iterations.
  bool finish() {
    joiner_.end_process();
    places_.finish();
    if (!iterations_) return true;
    rank_.iterations = iterations_;
    bool found = false;
    for (std::size_t index = 0; index < windows_.size(); ++index) {
      ExportedSegment& segment = rank_.segments[index];
      segment.window = windows_[index];
      segment.measured.begin = std::max(segment.measured.begin, segment.window.begin);
      segment.measured.end = std::min(segment.measured.end, segment.window.end);
      found = found || !segment.window.is_empty();
    }
    return found;
  }

  const IterationsThere& iterations_there() const { return there_; }
  std::uint64_t communicators_left_out() const { return communicators_left_out_; }

 private:
  // False: there are too many.
  bool take(const CommunicatorRecord& communicator) {
    const bool is_known = rank_.communicators.contains(communicator.communicator);
    if (!is_known && rank_.communicators.size() == most_communicators_of_rank) {
      ++communicators_left_out_;
      return false;
    }
    rank_.communicators[communicator.communicator] = communicator;
    joiner_.add(communicator);
    return true;
  }
  void take(TimePoint time, const GroupRecord& group) {
    ExportedSegment& segment = rank_.segments[segment_];
    ++segment.groups;
    segment.groups_end = std::max(segment.groups_end, group.ended_known ? group.ended : time);
    joiner_.add(group);
  }
  void take(const Iteration& iteration) {
    there_.add(iteration.number);
    if (!iterations_->contains_count(iteration.number)) return;
    TimeWindow& window = windows_[segment_];
    if (window.is_empty()) window = {iteration.started, iteration.ended};
    window.begin = std::min(window.begin, iteration.started);
    window.end = std::max(window.end, iteration.ended);
  }

  ExportedRank& rank_;
  const std::optional<NumberRange>& iterations_;
  GroupJoiner& joiner_;
  SlotPlaces& places_;
  std::vector<TimeWindow> windows_;  // of the wanted iterations of each segment
  IterationsThere there_;
  std::size_t segment_ = 0;
  std::uint64_t communicators_left_out_ = 0;
};

ExportedRank exported(const FileTotals& file, std::size_t trace) {
  ExportedRank rank;
  rank.path = file.path;
  rank.name = file.rank.name + (file.rank.unsure ? " ?" : "");
  rank.trace = trace;
  rank.process = file.process;
  rank.header = file.rank.header;
  rank.header.started = file.started;
  rank.header.wall_clock = file.begin;
  for (const FileSegment& segment : file.segments)
    rank.segments.push_back({whole_run, {segment.begin, segment.end}, 0, {}});
  const TraceDamage& damage = file.damage;
  rank.limited = file.limited;
  rank.lost_lines = file.rank.totals.dropped_records > 0 || file.doubts.count() > 0 || file.missing_bubbles.lines > 0 ||
                    damage.unreadable.lines > 0 || damage.too_long.lines > 0 || damage.error != 0;
  rank.bytes = size_of_trace(file.path);
  return rank;
}

std::string text_of(const NumberRange& range) {
  return std::to_string(range.first) + "-" + std::to_string(range.last);
}

// The second pass, over all traces: those that are not exported are peers of others.
void find_places(ExportedRun& run, std::vector<ExportedRank> ranks, const ExportWanted& wanted, ClockBounds& bounds,
                 RunNotes& notes, ReadProgress* progress) {
  std::uint64_t bytes = 0;
  for (const ExportedRank& rank : ranks) bytes += rank.bytes;
  if (progress != nullptr) progress->begin("looking for iterations, groups", bytes);
  std::vector<std::string> without_iterations;
  IterationsThere there;
  GroupJoiner joiner(GroupJoiner::usual_most, &bounds);
  for (ExportedRank& rank : ranks) {
    joiner.begin_process(rank.clock);
    PlaceFinder finder(rank, wanted.iterations, joiner, *run.places.emplace_back(std::make_shared<SlotPlaces>()));
    read_rank(rank, finder, progress);
    const bool has_iterations = finder.finish();
    for (const auto& [number, communicator] : rank.communicators) run.members.add(rank.trace, communicator);
    if (!wanted.selects(rank.header.rank)) continue;
    notes.add_counted(
        rank.name, finder.communicators_left_out(),
        "communicators are not known, as there are more than " + std::to_string(most_communicators_of_rank));
    there.add(finder.iterations_there().first);
    there.add(finder.iterations_there().last);
    if (!has_iterations) {
      without_iterations.push_back(rank.name);
      continue;
    }
    if (rank.groups() == 0)
      notes.add_shared(rank.name,
                       "the trace has no groups (WEFT_TRACE_GROUPS=off, or an older Weft): NCCL's own time, its "
                       "overlap with computation and arrows are missing");
    if (rank.segments.size() > 1)
      notes.add_shared(rank.name,
                       "the process closed its communicators and opened others: what it numbers, as iterations and "
                       "bubbles, counts from 1 again");
    run.ranks.push_back(std::move(rank));
  }
  if (run.ranks.empty())
    throw std::runtime_error("no rank has any of the iterations " + text_of(*wanted.iterations) + there.text());
  if (!without_iterations.empty())
    notes.add(listed_ranks(without_iterations) + ": none of the iterations " + text_of(*wanted.iterations) +
              "; left out");
  std::vector<std::string> disagreement;
  add_group_notes(joiner.result(), disagreement);
  notes.add(disagreement);
}

// Of all traces, with the clock of each.
HostClocks find_clocks(std::vector<ExportedRank>& ranks, const std::vector<TimePoint>& ends) {
  std::vector<TraceHeader> headers;
  for (const ExportedRank& rank : ranks) headers.push_back(rank.header);
  HostClocks hosts = host_clocks(headers, ends);
  for (ExportedRank& rank : ranks) rank.clock = hosts.traces[rank.trace];
  return hosts;
}

void put_on_one_clock(ExportedRun& run, HostClocks hosts, ClockBounds bounds, RunNotes& notes) {
  run.clocks = RunClocks(std::move(hosts), std::move(bounds), run.ranks.front().clock.clock);
  for (const std::string& line : clock_lines(run.clocks)) notes.add("clocks: " + line);
  notes.add(clock_notes(run.clocks));
  run.begin = TimePoint::max();
  for (ExportedRank& rank : run.ranks) {
    rank.to_first = run.clocks.clocks()[rank.clock.clock].to_first;
    run.begin = std::min(run.begin, rank.aligned(rank.header.started));
  }
}

// As people call it all.
void give_names(ExportedRun& run, RunNotes& notes) {
  std::vector<names::NamedRank> traces;
  for (const RunTrace& trace : run.traces)
    traces.push_back({trace.rank, trace.ranks, &run.places[traces.size()]->iterations()});
  run.names = std::make_shared<RunNames>(std::move(traces));
  notes.add(run.names->notes());
}

// By the headers of all ranks.
void note_missing_ranks(const ExportedRun& run, const ExportWanted& wanted, RunNotes& notes) {
  std::vector<std::int64_t> there;
  for (const RunTrace& trace : run.traces) there.push_back(trace.rank);
  std::ranges::sort(there);
  const std::string missing = missing_of(wanted.ranks, there);
  if (!missing.empty()) notes.add("of the wanted ranks these left no trace here: " + missing);
}

}  // namespace

bool ExportWanted::selects(std::int64_t rank) const {
  return ranks.empty() || std::ranges::any_of(ranks, [&](const NumberRange& range) { return range.contains(rank); });
}

std::uint64_t ExportedRank::groups() const {
  std::uint64_t groups = 0;
  for (const ExportedSegment& segment : segments) groups += segment.groups;
  return groups;
}

KnownOffset ExportedRank::shift(TimePoint time) const {
  if (to_first == nullptr) return {-clock.offset, Duration{}};
  const KnownOffset reading = to_first->at(time - clock.offset);
  return {reading.ahead - clock.offset, reading.within};
}

std::uint64_t ExportedRun::bytes() const {
  std::uint64_t bytes = 0;
  for (const ExportedRank& rank : ranks) bytes += rank.bytes;
  return bytes;
}

void CommunicatorMembers::add(std::size_t trace, const CommunicatorRecord& communicator) {
  if (communicator.id != 0) members_.emplace(std::pair(communicator.id, communicator.rank), trace);
}

std::optional<std::size_t> CommunicatorMembers::member(const CommunicatorRecord& communicator,
                                                       std::int32_t place) const {
  const auto found = members_.find({communicator.id, place});
  if (communicator.id == 0 || found == members_.end()) return std::nullopt;
  return found->second;
}

ExportedRun find_exported_run(const ExportWanted& wanted, ReadProgress* progress) {
  ExportedRun run;
  RunNotes notes;
  std::vector<std::string> of_run;
  std::vector<FileTotals> files = newest_run(wanted.directories, of_run, progress);
  notes.add(of_run);
  RunSummary sums;
  std::vector<ExportedRank> ranks;
  std::vector<TimePoint> ends;
  bool any_wanted = false;
  for (FileTotals& file : files) {
    ends.push_back(file.last);
    ranks.push_back(exported(file, run.traces.size()));
    run.traces.push_back({ranks.back().name, file.rank.header.rank, file.rank.header.ranks});
    if (wanted.selects(file.rank.header.rank)) {
      any_wanted = true;
      notes.add_file(file);
    }
    sums.ranks.push_back(std::move(file.rank));
  }
  if (!any_wanted)
    throw std::runtime_error("none of the wanted ranks has a trace here; the last one is rank " +
                             std::to_string(run.traces.back().rank));
  add_notes_on_ranks(sums);
  notes.add(sums.notes);
  note_missing_ranks(run, wanted, notes);
  HostClocks hosts = find_clocks(ranks, ends);
  ClockBounds bounds;
  find_places(run, std::move(ranks), wanted, bounds, notes, progress);
  give_names(run, notes);
  put_on_one_clock(run, std::move(hosts), std::move(bounds), notes);
  run.notes = notes.all();
  return run;
}

}  // namespace weft
