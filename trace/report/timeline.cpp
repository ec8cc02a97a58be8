// Rows are chosen from the sums of the ranks, then their traces are read; see the header.
#include "trace/report/timeline.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "trace/clocks/clock_text.h"
#include "trace/export/messages.h"
#include "trace/names/slot_names.h"
#include "trace/names/slot_places.h"
#include "trace/report/reported_run.h"

namespace weft::report {
namespace {

// When the group of a send began, and on which row.
struct Sent {
  std::size_t row = 0;
  TimePoint begun{};  // aligned
};
using SentMessages = std::map<std::uint64_t, Sent>;

// The part of one trace that lies in the iteration, on its own clock.
class WindowReader : public RecordTaker {
 public:
  WindowReader(const ExportedRank& rank, const IterationKey& key) : rank_(rank), key_(key) {}

  bool wants(std::string_view line) const override {
    return !is_line_of(line, "memory") && !is_line_of(line, "anomaly");
  }
  void header(const TraceHeader&, std::size_t segment) override { segment_ = segment; }
  void take(const Record& record) override {
    if (segment_ != key_.segment) return;
    if (record.kind == RecordKind::bubble) bubbles.push_back(record.bubble);
    if (record.kind == RecordKind::uncertain)
      add(static_cast<std::uint8_t>(TimelineKind::uncertain), record.uncertain.began, record.uncertain.ended);
    if (record.kind == RecordKind::dark)
      add(static_cast<std::uint8_t>(TimelineKind::dark), record.dark.began, record.dark.ended);
    if (record.kind == RecordKind::slice)
      add(static_cast<std::uint8_t>(TimelineKind::fill), record.slice.launched, record.slice.finished);
    if (record.kind == RecordKind::group) take(record.group);
  }

  struct Part {
    std::uint8_t kind = 0;
    TimePoint begin{}, end{};
  };
  std::vector<Bubble> bubbles;
  std::vector<Part> others;
  std::map<GroupId, std::vector<std::uint64_t>> received;
  std::vector<std::pair<std::uint64_t, TimePoint>> sent;

 private:
  void add(std::uint8_t kind, TimePoint begin, TimePoint end) {
    if (others.size() < most_) others.push_back({kind, begin, end});
  }
  void take(const GroupRecord& group) {
    GroupMessages messages = messages_of(rank_, group);
    if (received.size() < most_ && !messages.received.empty()) received[group.id] = std::move(messages.received);
    if (group.begun_known)
      for (const std::uint64_t message : messages.sent)
        if (sent.size() < most_) sent.emplace_back(message, group.begun);
  }

  static constexpr std::size_t most_ = 200'000;  // an iteration without end is no picture
  const ExportedRank& rank_;
  IterationKey key_;
  std::size_t segment_ = 0;
};

// So much of the trace as lies in its iteration.
ExportedRank window_of(const ReportedRun& run, std::size_t trace, const KeptIteration& iteration) {
  const ReportedTrace& reported = run.traces[trace];
  ExportedRank rank;
  rank.path = reported.path;
  rank.process = reported.process;
  rank.header = reported.header;
  rank.communicators = run.named.places[trace]->iterations().communicators();
  rank.segments.resize(reported.segments);
  const std::size_t segment = std::min<std::size_t>(iteration.key.segment, reported.segments - 1);
  rank.segments[segment].window = {iteration.started, iteration.ended};
  return rank;
}

const KeptIteration* iteration_of(const ReportedRun& run, std::size_t trace, const IterationKey& key) {
  const auto& iterations = run.traces[trace].series.iterations();
  const auto found = iterations.find(key);
  return found == iterations.end() || !found->second.is_measured ? nullptr : &found->second;
}

double idle_share(const ReportedRun& run, std::size_t trace) {
  return run.rank(trace).steady().value_or(run.rank(trace).whole()).idle_share();
}

// Of the ranks of one stage: the one in the middle, and the one that waits most if that is another one.
void add_stage(const ReportedRun& run, std::vector<std::size_t> traces, std::size_t most,
               std::vector<TimelineRow>& rows) {
  std::ranges::stable_sort(traces, {}, [&](std::size_t trace) { return idle_share(run, trace); });
  const std::size_t middle = traces[(traces.size() - 1) / 2], last = traces.back();
  rows.push_back({middle, traces.size() > 1 ? "median" : "", {}, {}, {}});
  if (most > 1 && idle_share(run, last) > idle_share(run, middle)) rows.push_back({last, "most idle", {}, {}, {}});
}

// Evenly spread, where there are more.
template <class Value>
std::vector<Value> some_of(const std::vector<Value>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<Value> some;
  for (std::size_t place = 0; place < most; ++place) some.push_back(all[place * all.size() / most]);
  return some;
}

// Ranks that have the iteration, in the order in which they are shown.
std::vector<TimelineRow> choose_rows(const ReportedRun& run, const std::vector<std::size_t>& traces,
                                     const TimelineLimits& limits) {
  std::map<std::int32_t, std::vector<std::size_t>> stages;
  for (const std::size_t trace : traces)
    stages[run.rank(trace).stage ? run.rank(trace).stage->stage : -1].push_back(trace);
  const bool has_stages = !stages.contains(-1);
  std::vector<TimelineRow> rows;
  if (traces.size() <= limits.all_ranks || !has_stages) {
    std::vector<std::size_t> ordered(
        traces.begin(), traces.begin() + static_cast<std::ptrdiff_t>(std::min(traces.size(), limits.all_ranks)));
    if (has_stages)
      std::ranges::stable_sort(ordered, {}, [&](std::size_t trace) { return run.rank(trace).stage->stage; });
    for (const std::size_t trace : ordered) rows.push_back({trace, "", {}, {}, {}});
    return rows;
  }
  std::vector<std::vector<std::size_t>> of_stage;
  for (auto& [stage, members] : stages) of_stage.push_back(std::move(members));
  const std::size_t of_each = 2 * of_stage.size() <= limits.rows ? 2 : 1;
  for (std::vector<std::size_t>& members : some_of(of_stage, limits.rows)) add_stage(run, members, of_each, rows);
  return rows;
}

// The rank that a bubble waited for; nothing: it is none, or not shown.
std::optional<std::size_t> awaited_row(const ReportedRun& run, const Timeline& timeline, std::size_t trace,
                                       const Bubble& bubble) {
  const bool by_peer = bubble.cause == Cause::receive || bubble.cause == Cause::send;
  const CommunicatorRecord* const communicator =
      by_peer ? run.named.places[trace]->iterations().communicator(bubble.slot.communicator) : nullptr;
  if (communicator == nullptr) return std::nullopt;
  const auto peer =
      run.members.member(*communicator, bubble.cause == Cause::send ? bubble.slot.send_peer : bubble.slot.receive_peer);
  const auto row = std::ranges::find_if(timeline.rows, [&](const TimelineRow& each) { return each.trace == peer; });
  if (!peer || row == timeline.rows.end()) return std::nullopt;
  return static_cast<std::size_t>(row - timeline.rows.begin());
}

class Names {
 public:
  explicit Names(const ReportedRun& run, std::vector<std::string>& names) : run_(run), names_(names) {}
  std::size_t of(std::size_t trace, const Bubble& bubble) {
    SlotTotals totals;
    totals.slot = bubble.slot;
    totals.cause = bubble.cause;
    totals.said = bubble.said;
    const auto [known, is_new] = slots_.try_emplace({trace, RankSeries::key_of(bubble.slot, bubble.cause)});
    if (is_new)
      known->second = index_of(name_of_slot(*run_.named.names, trace, *run_.named.places[trace], totals, true).text);
    return known->second;
  }

 private:
  std::size_t index_of(const std::string& name) {
    const auto [known, is_new] = indices_.try_emplace(name, names_.size());
    if (is_new) names_.push_back(name);
    return known->second;
  }

  const ReportedRun& run_;
  std::vector<std::string>& names_;
  std::map<std::string, std::size_t> indices_;
  std::map<std::pair<std::size_t, RankSeries::SlotKey>, std::size_t> slots_;
};

// Parts of the same kind with less than `gap` between them become one, if the later one is short as well.
void merge_close(std::vector<TimelinePart>& parts, Duration gap, bool fill_only) {
  constexpr auto fill = static_cast<std::uint8_t>(TimelineKind::fill);
  std::vector<TimelinePart> merged;
  std::map<std::uint8_t, std::size_t> latest;
  for (const TimelinePart& part : parts) {
    const auto before = latest.find(part.kind);
    const bool may_merge = part.kind == fill || (!fill_only && part.end - part.begin <= gap);
    if (may_merge && before != latest.end() && part.begin - merged[before->second].end <= gap) {
      merged[before->second].end = std::max(merged[before->second].end, part.end);
      continue;
    }
    latest[part.kind] = merged.size();
    merged.push_back(part);
  }
  parts = std::move(merged);
}

void fit(Timeline& timeline, const TimelineLimits& limits) {
  const auto count = [&] {
    std::size_t parts = 0;
    for (const TimelineRow& row : timeline.rows) parts += row.parts.size();
    return parts;
  };
  Duration gap = timeline.length / 4000;
  for (TimelineRow& row : timeline.rows) merge_close(row.parts, gap, true);
  bool merged = false;
  for (; count() > limits.parts && gap < timeline.length; gap *= 2) {
    merged = true;
    for (TimelineRow& row : timeline.rows) merge_close(row.parts, gap, false);
  }
  if (merged) timeline.notes.push_back("short bubbles that stand close are shown as one");
}

// Reads the traces of all rows, puts their parts on one clock and joins the messages.
class Filler {
 public:
  Filler(const ReportedRun& run, Timeline& timeline) : run_(run), timeline_(timeline), names_(run, timeline.names) {}

  void fill() {
    find_window();
    std::vector<WindowReader> readers;
    readers.reserve(timeline_.rows.size());
    std::vector<ExportedRank> ranks(timeline_.rows.size());
    SentMessages sent;
    for (std::size_t row = 0; row < timeline_.rows.size(); ++row) {
      const std::size_t trace = timeline_.rows[row].trace;
      ranks[row] = window_of(run_, trace, *iteration_of(run_, trace, timeline_.iteration));
      WindowReader& reader = readers.emplace_back(ranks[row], timeline_.iteration);
      read_rank(ranks[row], reader, nullptr);
      for (const auto& [message, begun] : reader.sent) sent[message] = {row, run_.aligned(trace, begun)};
    }
    for (std::size_t row = 0; row < timeline_.rows.size(); ++row) add_parts(row, readers[row], sent);
  }

 private:
  void find_window() {
    TimePoint end{};
    begin_ = TimePoint::max();
    for (const TimelineRow& row : timeline_.rows) {
      const KeptIteration& iteration = *iteration_of(run_, row.trace, timeline_.iteration);
      begin_ = std::min(begin_, run_.aligned(row.trace, iteration.started));
      end = std::max(end, run_.aligned(row.trace, iteration.ended));
    }
    timeline_.length = end - begin_;
    for (TimelineRow& row : timeline_.rows) {
      const KeptIteration& iteration = *iteration_of(run_, row.trace, timeline_.iteration);
      row.begin = run_.aligned(row.trace, iteration.started) - begin_;
      row.end = run_.aligned(row.trace, iteration.ended) - begin_;
    }
  }

  void add_parts(std::size_t number, const WindowReader& reader, const SentMessages& sent) {
    TimelineRow& row = timeline_.rows[number];
    for (const Bubble& bubble : reader.bubbles) {
      TimelinePart part = cut(row, static_cast<std::uint8_t>(bubble.cause), bubble.opened, bubble.closed);
      if (part.begin >= part.end) continue;
      part.name = names_.of(row.trace, bubble);
      part.from = awaited_row(run_, timeline_, row.trace, bubble);
      if (const auto received = reader.received.find(bubble.group); received != reader.received.end())
        join(part, received->second, sent);
      row.parts.push_back(part);
    }
    for (const WindowReader::Part& other : reader.others) {
      const TimelinePart part = cut(row, other.kind, other.begin, other.end);
      if (part.begin < part.end) row.parts.push_back(part);
    }
    std::ranges::stable_sort(row.parts, {}, &TimelinePart::begin);
  }

  // The last one to be sent ended the bubble.
  void join(TimelinePart& part, const std::vector<std::uint64_t>& received, const SentMessages& sent) const {
    for (const std::uint64_t message : received) {
      const auto found = sent.find(message);
      if (found == sent.end()) continue;
      const Duration begun = found->second.begun - begin_;
      if (part.sent && *part.sent >= begun) continue;
      part.from = found->second.row;
      part.sent = begun;
    }
  }

  TimelinePart cut(const TimelineRow& row, std::uint8_t kind, TimePoint begin, TimePoint end) const {
    const Duration from = run_.aligned(row.trace, begin) - begin_, to = run_.aligned(row.trace, end) - begin_;
    return {std::max(from, row.begin), std::min(to, row.end), kind, 0, {}, {}};
  }

  const ReportedRun& run_;
  Timeline& timeline_;
  Names names_;
  TimePoint begin_{};
};

// Where a process has opened its communicators anew, its numbers count from 1 again: the first one of that number.
std::optional<IterationKey> numbered_iteration(const ReportedRun& run, std::uint64_t number) {
  std::optional<IterationKey> first;
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    if (!run.counts(trace)) continue;
    for (const auto& [key, iteration] : run.traces[trace].series.iterations())
      if (key.number == number && iteration.is_measured && (!first || key < *first)) first = key;
  }
  return first;
}

}  // namespace

std::optional<IterationKey> median_iteration(const ReportedRun& run) {
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    if (!run.counts(trace)) continue;
    std::vector<std::pair<Duration, IterationKey>> lengths;
    bool any_filled = false;
    for (const auto& [key, iteration] : run.traces[trace].series.iterations())
      any_filled = any_filled || (iteration.is_measured && iteration.filled > Duration{});
    for (const auto& [key, iteration] : run.traces[trace].series.iterations())
      if (iteration.is_measured && (!any_filled || iteration.filled > Duration{}))
        lengths.emplace_back(iteration.ended - iteration.started, key);
    if (lengths.empty()) continue;
    std::ranges::sort(lengths);
    return lengths[(lengths.size() - 1) / 2].second;
  }
  return std::nullopt;
}

Timeline find_timeline(const ReportedRun& run, std::optional<std::uint64_t> number, const TimelineLimits& limits) {
  Timeline timeline;
  const std::optional<IterationKey> chosen = number ? numbered_iteration(run, *number) : median_iteration(run);
  std::vector<std::size_t> traces;
  for (std::size_t trace = 0; chosen && trace < run.traces.size(); ++trace)
    if (run.counts(trace) && iteration_of(run, trace, *chosen) != nullptr) traces.push_back(trace);
  if (traces.empty()) {
    timeline.missing = number ? "no rank has measured iteration " + std::to_string(*number)
                              : "no iteration was found whose bubbles were measured";
    return timeline;
  }
  timeline.iteration = *chosen;
  timeline.is_median = !number;
  timeline.rows = choose_rows(run, traces, limits);
  timeline.ranks_left_out = run.traces.size() - timeline.rows.size();
  Filler(run, timeline).fill();
  fit(timeline, limits);
  for (std::string& note : clock_notes(run.summary().clocks)) timeline.notes.push_back(std::move(note));
  return timeline;
}

}  // namespace weft::report
