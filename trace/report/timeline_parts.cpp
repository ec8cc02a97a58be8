// Read into windows, then joined; see the header.
#include "trace/report/timeline_parts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "trace/names/slot_names.h"
#include "trace/names/slot_places.h"
#include "trace/report/reported_run.h"
#include "trace/report/timeline_rows.h"
#include "trace/report/timeline_window.h"

namespace weft::report {
namespace {

// When the group of a send began, and on which row.
struct Sent {
  std::size_t row = 0;
  TimePoint begun{};  // aligned
};
using SentMessages = std::map<std::uint64_t, Sent>;

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
      ranks[row] = window_of(run_, trace, iteration_of(timeline_.rows[row]));
      WindowReader& reader = readers.emplace_back(ranks[row], timeline_.iteration);
      read_rank(ranks[row], reader, nullptr);
      for (const auto& [message, begun] : reader.sent) sent[message] = {row, run_.aligned(trace, begun)};
    }
    for (std::size_t row = 0; row < timeline_.rows.size(); ++row) add_parts(row, readers[row], sent);
  }

 private:
  const KeptIteration& iteration_of(const TimelineRow& row) const {
    return *measured_iteration(run_, row.trace, timeline_.iteration);
  }

  void find_window() {
    TimePoint end{};
    begin_ = TimePoint::max();
    for (const TimelineRow& row : timeline_.rows) {
      begin_ = std::min(begin_, run_.aligned(row.trace, iteration_of(row).started));
      end = std::max(end, run_.aligned(row.trace, iteration_of(row).ended));
    }
    timeline_.length = end - begin_;
    for (TimelineRow& row : timeline_.rows) {
      row.begin = run_.aligned(row.trace, iteration_of(row).started) - begin_;
      row.end = run_.aligned(row.trace, iteration_of(row).ended) - begin_;
    }
  }

  void add_parts(std::size_t number, const WindowReader& reader, const SentMessages& sent) {
    TimelineRow& row = timeline_.rows[number];
    for (const Bubble& bubble : reader.bubbles) {
      TimelinePart part = cut(row, static_cast<std::uint8_t>(bubble.cause), bubble.opened, bubble.closed);
      if (part.begin >= part.end) continue;
      part.name = names_.of(row.trace, bubble);
      part.from = awaited_row(run_, timeline_, row.trace, bubble);
      const auto arrival = reader.arrivals.find(bubble.group);
      if (bubble.cause == Cause::receive && arrival != reader.arrivals.end()) join(part, bubble, arrival->second, sent);
      row.parts.push_back(part);
    }
    for (const WindowReader::Part& other : reader.others) {
      const TimelinePart part = cut(row, other.kind, other.begin, other.end);
      if (part.begin < part.end) row.parts.push_back(part);
    }
    std::ranges::stable_sort(row.parts, {}, &TimelinePart::begin);
  }

  // A receive that is still under way when its bubble closes has not ended it: other work has, and the rank may wait
  // for the same receive in further bubbles. Of several messages the last one to be sent ended the bubble.
  void join(TimelinePart& part, const Bubble& bubble, const Arrival& arrival, const SentMessages& sent) const {
    if (!arrival.ended_known) return;
    if (arrival.ended > bubble.closed + bubble.closed_within + arrival.ended_within) {
      part.ended = EndOfBubble::other_work;
      return;
    }
    part.ended = EndOfBubble::message;
    const Sent* const last = last_sent(arrival, sent);
    if (last == nullptr) return;
    part.from = last->row;
    part.sent = last->begun - begin_;
    if (*part.sent <= part.end) return;
    part.sent.reset();
    part.ended = EndOfBubble::message_of_unknown_time;
  }

  // nullptr: that of one of the messages is not known, so it may have been another one.
  static const Sent* last_sent(const Arrival& arrival, const SentMessages& sent) {
    const Sent* last = nullptr;
    for (const std::uint64_t message : arrival.messages) {
      const auto found = sent.find(message);
      if (found == sent.end()) return nullptr;
      if (last == nullptr || found->second.begun > last->begun) last = &found->second;
    }
    return arrival.all_known ? last : nullptr;
  }

  TimelinePart cut(const TimelineRow& row, std::uint8_t kind, TimePoint begin, TimePoint end) const {
    const Duration from = run_.aligned(row.trace, begin) - begin_, to = run_.aligned(row.trace, end) - begin_;
    return {std::max(from, row.begin), std::min(to, row.end), kind, 0, {}, {}, {}};
  }

  const ReportedRun& run_;
  Timeline& timeline_;
  Names names_;
  TimePoint begin_{};
};

}  // namespace

void fill_rows(const ReportedRun& run, Timeline& timeline) {
  Filler(run, timeline).fill();
}

}  // namespace weft::report
