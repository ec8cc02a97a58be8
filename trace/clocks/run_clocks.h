// One clock for all hosts of a run: how far each host's clock is ahead of that of the first rank, from the messages
// between them, from host to host along the narrowest intervals. A host without messages stays where its wall clock
// puts it.
//
// Used by `weft summary`, `weft export` and `weft report`, in the weft command only. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "trace/clocks/clock_bounds.h"
#include "trace/clocks/clock_offset.h"
#include "trace/clocks/host_clocks.h"
#include "trace/clocks/pair_fit.h"

namespace weft {

enum class PlacedBy : std::uint8_t { reference, messages, wall_clock };
inline constexpr std::array placed_by_names{"reference", "messages", "wall_clock"};

// Why a clock is placed by its wall clock.
enum class WithoutMessages : std::uint8_t { no_groups, apart, one_way, none_joined };
inline constexpr std::array without_messages_texts{
    "its traces have no groups (WEFT_TRACE_GROUPS=off, or an older Weft)",
    "its messages are with hosts that have none with the first one",
    "messages with times went one way only",
    "no message to or from the others could be joined",
};

struct PlacedClock {
  PlacedBy by = PlacedBy::reference;
  WithoutMessages why{};        // by wall_clock
  std::uint32_t beside = 0;     // by messages: of the clock that the intervals are of; that one is by another way
  std::uint32_t by_way_of = 0;  // likewise: the clock whose messages with this one counted
  ClockOffset ahead;            // of the clock that it is beside, on that one's time
  std::shared_ptr<const ClockOffset> to_first;  // how far the first rank's clock is ahead of this one, on its own time
  // By messages: of the wall clock that it is beside, at the first message; nothing: one of the two is not set.
  std::optional<Duration> wall_ahead;
  Duration within{}, most_within{};      // by messages: over all of its traces, the median and the most
  double least_rate = 0, most_rate = 0;  // by messages: by which it gained on that clock
  // By messages, with by_way_of: the largest, at so long after the first message; nothing: it kept one rate.
  std::optional<RateBreak> largest_break;
  Duration break_after{};
  std::uint64_t contradictions = 0, messages = 0, collectives = 0;
};

class RunClocks {
 public:
  // `first`: the clock that the others are put beside.
  RunClocks(HostClocks hosts, ClockBounds bounds, std::uint32_t first);
  RunClocks() = default;

  const HostClocks& hosts() const { return hosts_; }
  const std::vector<PlacedClock>& clocks() const { return clocks_; }
  std::uint32_t first() const { return first_; }
  std::uint64_t left_out() const { return left_out_; }  // operations between too many pairs of clocks
  // By clocks: ranks of it are not of one clock.
  const std::map<std::uint32_t, ClockBounds::TooEarly>& too_early() const { return too_early_; }
  // Between times of two clocks, on the clock of the first rank; nothing: nobody knows.
  std::optional<Duration> within(std::uint32_t one, TimePoint on_one, std::uint32_t other, TimePoint on_other) const;

 private:
  struct Edge;
  void spread(std::uint32_t root, const std::vector<std::vector<Edge>>& edges);
  void place(const Edge& edge, std::uint32_t root);

  HostClocks hosts_;
  std::uint32_t first_ = 0;
  std::vector<PlacedClock> clocks_;
  std::vector<bool> is_placed_;
  std::uint64_t left_out_ = 0;
  std::map<std::uint32_t, ClockBounds::TooEarly> too_early_;
};

}  // namespace weft
