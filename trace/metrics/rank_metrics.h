// The numbers of one rank as Prometheus has them: counters that never go down, histograms with fixed buckets, gauges.
//
// Used by `weft export --prometheus` and tests, never inside the training process. Pure; memory does not grow with the
// trace. Counters come from the records, as these are there while the rank runs. A summary raises them to what the
// process has counted itself, as records can be lost or left out; what it knows beyond them is of no cause.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "trace/record.h"

namespace weft {

// Cumulative only in the text. The last bucket is that of all longer ones.
template <std::size_t buckets>
struct LengthHistogram {
  std::array<std::uint64_t, buckets + 1> counts{};
  Duration sum{};
};

// Upper ends of the buckets.
inline constexpr auto bubble_buckets = std::to_array<Duration>(
    {std::chrono::microseconds(100), std::chrono::microseconds(200), std::chrono::microseconds(500),
     std::chrono::milliseconds(1), std::chrono::milliseconds(2), std::chrono::milliseconds(5),
     std::chrono::milliseconds(10), std::chrono::milliseconds(20), std::chrono::milliseconds(50),
     std::chrono::milliseconds(100), std::chrono::milliseconds(200), std::chrono::milliseconds(500),
     std::chrono::seconds(1), std::chrono::seconds(10)});
inline constexpr auto iteration_buckets = std::to_array<Duration>(
    {std::chrono::milliseconds(5), std::chrono::milliseconds(10), std::chrono::milliseconds(20),
     std::chrono::milliseconds(50), std::chrono::milliseconds(100), std::chrono::milliseconds(200),
     std::chrono::milliseconds(500), std::chrono::seconds(1), std::chrono::seconds(2), std::chrono::seconds(5),
     std::chrono::seconds(10), std::chrono::seconds(20), std::chrono::seconds(50), std::chrono::seconds(100)});

inline constexpr std::size_t causes = cause_names.size();

// Lines of the trace that say nothing that is counted.
struct SkippedLines {
  std::uint64_t unreadable = 0, too_long = 0, impossible = 0;
};

// Sums over the segments of a process so far.
struct RankSums {
  Duration window{}, uncertain{}, dark{}, filled{};
  std::array<Duration, causes> idle{};          // by Cause
  std::array<std::uint64_t, causes> bubbles{};  // likewise
  Duration idle_not_recorded{};                 // that only summaries know
  std::uint64_t bubbles_not_recorded = 0;       // likewise
  std::uint64_t iterations = 0, slices = 0;
  std::uint64_t units_right = 0, units_wrong = 0, units_unchecked = 0, units_not_recorded = 0;
  std::uint64_t missing_bubbles = 0;
};

class RankMetrics {
 public:
  // Another segment of the same process: it counts on.
  void header(const TraceHeader& header);
  void take(const Record& record);
  void summary(const TraceSummary& summary);

  // As of its last segment.
  const TraceHeader& header() const { return header_; }
  RankSums sums() const;
  const LengthHistogram<bubble_buckets.size()>& bubble_lengths() const { return bubble_lengths_; }
  const LengthHistogram<iteration_buckets.size()>& iteration_lengths() const { return iteration_lengths_; }
  // Nothing in these: it is not known (yet).
  bool idle_known() const { return idle_unknown_.empty(); }
  const RecordText& idle_unknown() const { return idle_unknown_; }
  bool fills() const { return std::string_view(header_.mode) == "fill"; }
  std::optional<Duration> last_record() const;  // since 1970
  const std::optional<SlowdownRecord>& slowdown() const { return slowdown_; }
  const std::optional<WatchingRecord>& watching() const { return watching_; }
  const std::optional<MemoryRecord>& memory() const { return memory_; }
  const std::array<std::uint64_t, memory_event_names.size()>& memory_events() const { return memory_events_; }
  const std::optional<std::array<std::uint64_t, unfilled_reasons>>& unfilled() const { return unfilled_; }
  std::optional<std::uint64_t> dropped() const { return dropped_; }
  std::optional<std::uint64_t> left_out() const { return left_out_; }
  std::uint64_t anomalies() const { return anomalies_; }
  bool has_summary() const { return has_summary_; }
  bool limited() const { return limited_; }
  bool filling_stopped() const { return filling_stopped_; }
  const RecordText& reason() const { return reason_; }  // why filling was stopped
  // That the training says, where it always says the same one.
  std::optional<std::int32_t> said_stage() const;

 private:
  void add(const Bubble& bubble);
  void add(const UncertainRecord& uncertain);
  void add(const DarkTime& dark);
  void add(const SliceRecord& slice);
  void add(const Iteration& iteration);
  void add(const MemoryRecord& memory);
  void add(const AnomalyRecord& anomaly);
  void add(const SlowdownRecord& slowdown) { slowdown_ = slowdown; }
  void add(const WatchingRecord& watching) { watching_ = watching; }
  void add(const LimitRecord&) { limited_ = true; }
  void add(const JobRecord&) {}
  void add(const MoveRecord&) {}
  void add(const CommunicatorRecord&) {}
  void add(const GroupRecord&) {}
  void add(const ClockRecord&) {}
  void add(const CallFrameRecord&) {}
  void widen(TimePoint from, TimePoint to);
  void raise(const TraceSummary& summary);
  void stop(const RecordText& reason);

  TraceHeader header_{};
  RankSums finished_, current_;  // of earlier segments; of this one, without its window
  bool has_window_ = false;      // of this segment
  TimePoint window_begin_{}, window_end_{}, last_{};
  std::uint64_t latest_bubble_ = 0;  // its number
  LengthHistogram<bubble_buckets.size()> bubble_lengths_;
  LengthHistogram<iteration_buckets.size()> iteration_lengths_;
  RecordText idle_unknown_;
  Duration last_record_{};
  std::optional<SlowdownRecord> slowdown_;
  std::optional<WatchingRecord> watching_;
  std::optional<MemoryRecord> memory_;
  std::array<std::uint64_t, memory_event_names.size()> memory_events_{};
  std::optional<std::array<std::uint64_t, unfilled_reasons>> unfilled_;
  std::optional<std::uint64_t> dropped_, left_out_;
  std::uint64_t anomalies_ = 0;
  bool has_summary_ = false, limited_ = false, filling_stopped_ = false;
  RecordText reason_;
  std::optional<std::int32_t> stage_;
  bool stages_differ_ = false;
};

}  // namespace weft
