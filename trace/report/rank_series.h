// The part of one trace that a report keeps beside its totals, while the lines go by: some iterations, who was waited
// for, how far forecasts were right, how much of each slot was filled. Memory is bounded, whatever the trace.
//
// Filled by reported_run.cpp in the pass that adds up the trace, in the weft command only, one thread for each trace.
// Pure. Of many iterations those are kept whose number is a multiple of 2, 4, 8 ...: the same ones on all ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/read/file_totals.h"
#include "trace/read/reader.h"

namespace weft::report {

// How bubbles ended against their forecasts.
struct Calibration {
  // Of the real length over the median of the forecast: four bins for each doubling, from an eighth to eight times.
  static constexpr std::size_t bins = 26, bins_of_doubling = 4;
  std::uint64_t below = 0, within = 0, above = 0;  // shorter than `low`, between, longer than `high`
  Duration error{}, length{};                      // sums of abs(median - real), and of the real lengths
  std::array<std::uint64_t, bins> ratios{};

  void add(const Forecast& forecast, Duration real);
  void add(const Calibration& other);
  std::uint64_t count() const { return below + within + above; }
};

// Ranks count iterations alike, anew each time that they open their communicators anew.
struct IterationKey {
  std::uint32_t segment = 0;
  std::uint64_t number = 0;
  friend auto operator<=>(const IterationKey&, const IterationKey&) = default;
};

struct KeptIteration {
  IterationKey key;
  TimePoint started{}, ended{};  // equal: its record has not come
  Duration idle{}, uncertain{}, filled{};
  bool is_measured = false;  // `idle` is known
  bool left_out = false;     // it went without fill, to compare others with; as far as its bubbles tell
  std::uint64_t forecasts = 0, forecasts_within = 0;
  Duration forecast_error{}, forecast_length{};
};

// Waiting for one peer of a communicator, or with peer -1 for its collectives.
struct WaitFor {
  CommunicatorId communicator = 0;
  std::int32_t peer = -1;
  Cause cause = Cause::unknown;
  friend auto operator<=>(const WaitFor&, const WaitFor&) = default;
};
struct Waited {
  std::uint64_t bubbles = 0;
  Duration time{};
};

struct SlotFill {
  Calibration forecasts;
  Duration filled{};
};

struct SlowdownPoint {
  TimePoint time{};
  SlowdownRecord slowdown;
};

class RankSeries : public TraceSink {
 public:
  static constexpr std::size_t most_iterations = 128, most_waits = 4096, most_slots = 4096, most_points = 128;
  using SlotKey = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::uint64_t, Cause>;
  static SlotKey key_of(const Slot& slot, Cause cause) {
    return {slot.ordinal, slot.send_peer, slot.receive_peer, slot.bytes, cause};
  }

  // `always`: the number of an iteration that is kept whatever there is.
  explicit RankSeries(std::optional<std::uint64_t> always = {}) : always_(always) {}

  bool wants(std::string_view line) const override { return !is_line_of(line, "group"); }
  void header(const TraceHeader& header, const TraceLine& line) override;
  void record(const Record& record, const TraceLine& line) override;
  void summary(const TraceSummary&, const TraceLine&) override {}
  void finish();  // after the last line

  const std::map<IterationKey, KeptIteration>& iterations() const { return kept_; }
  // Numbers of those that were measured, also of the ones that are not kept; both 0: none was.
  std::uint64_t first_iteration() const { return first_; }
  std::uint64_t last_iteration() const { return last_; }
  const std::map<WaitFor, Waited>& waits() const { return waits_; }
  const Calibration& forecasts() const { return forecasts_; }
  const std::vector<SlowdownPoint>& slowdowns() const { return slowdowns_; }
  const SlotFill* slot(const Slot& slot, Cause cause) const;  // nullptr: no such bubble, or there are too many slots

 private:
  struct RecentBubble {
    std::uint64_t id = 0;
    IterationKey iteration;
    SlotFill* slot = nullptr;
  };

  void take(const Bubble& bubble);
  void take(const SliceRecord& slice);
  void take(const Iteration& iteration);
  void take(TimePoint time, const SlowdownRecord& slowdown);
  bool is_kept(const IterationKey& key) const {
    return (key.number & ((std::uint64_t{1} << exponent_) - 1)) == 0 || key.number == always_;
  }
  KeptIteration* iteration(const IterationKey& key);  // nullptr: it is not kept
  SlotFill* slot_of(const Bubble& bubble);
  void add_filled(const RecentBubble& bubble, Duration filled);

  std::optional<std::uint64_t> always_;
  std::optional<TraceProcess> process_;
  std::uint32_t segment_ = 0;
  unsigned exponent_ = 0;
  std::uint64_t first_ = 0, last_ = 0;
  std::map<IterationKey, KeptIteration> kept_;
  std::map<WaitFor, Waited> waits_;
  std::map<SlotKey, SlotFill> slots_;
  Calibration forecasts_;
  std::vector<SlowdownPoint> slowdowns_;
  std::size_t every_slowdown_ = 1, slowdowns_seen_ = 0;
  // A slice is over before its bubble is written, or just after it.
  std::map<std::uint64_t, Duration> filled_of_open_;  // by the bubble's id
  std::vector<RecentBubble> recent_;                  // a ring
  std::size_t next_recent_ = 0;
};

}  // namespace weft::report
