// The start-up of a run, kept apart from its steady state: the time before the first iteration that is reported. In it
// lie compilation, connections, the allocator's warm-up, and the iterations from which the rhythm is learned.
//
// Used by the totals (totals.h), in the training process and in the command. An iteration is known when it is over:
// until the first one is, the latest pieces of time are kept, of which some lie behind the border. Pure; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "detector/ring_queue.h"
#include "trace/record.h"

namespace weft {

class StartupTotals {
 public:
  // Time that lies across the border is split there; what was filled in proportion. Any order.
  void add(const Bubble& bubble) { add(idle, bubble.opened, bubble.closed, bubble.closed - bubble.opened); }
  void add(const UncertainRecord& time) { add(uncertain, time.began, time.ended, time.ended - time.began); }
  void add(const SliceRecord& slice) { add(filled, slice.launched, slice.finished, slice.alone); }
  // Only the first one is the border: iterations that begin again after the rhythm was lost are steady state.
  void add(const Iteration& iteration);

  // Of a run with these totals. Without an iteration all of it is start-up. Nothing: the first iteration has more
  // pieces than are kept, so it cannot be told what was before it.
  std::optional<StartupRecord> record(const TraceSummary& totals) const;

 private:
  enum Kind : std::uint8_t { idle, uncertain, filled };
  struct Piece {
    Kind kind{};
    TimePoint from{}, to{};
    Duration amount{};
  };
  static constexpr std::size_t most_pieces = 65536;

  void add(Kind kind, TimePoint from, TimePoint to, Duration amount);
  void count(const Piece& piece, TimePoint border);

  std::optional<TimePoint> border_;
  RingQueue<Piece> pieces_{most_pieces};  // while the border is not known; earlier ones are counted
  TimePoint counted_until_{};
  bool known_ = true;
  std::array<Duration, 3> sums_{};  // by Kind, before the border
};

}  // namespace weft
