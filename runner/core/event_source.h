// Everything that a device's dispatcher hears of: the events of the hooks, the markers that streams have written, and
// the answers of streams that are asked while the host waits. In the order of their times.
//
// Used by the dispatcher thread only. Reads memory; asks streams by a query that orders nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/core/event_router.h"
#include "runner/core/idle_checks.h"
#include "runner/core/marker_board.h"

namespace weft {

class EventSource {
 public:
  EventSource(const ShimServices& shim, EventRouter& router, const MarkerWords& words, int device);

  // Nothing before `time` is looked at.
  void begin(TimePoint time) { last_look_ = time; }
  // The events since the last call; valid until the next one. `ask`: streams may be asked.
  const std::vector<Event>& gather(TimePoint now, bool ask);

  bool markers_outstanding() const { return board_.outstanding() != 0; }
  std::size_t groups_pending() const { return board_.groups_pending(); }
  // True once after each loss: the state of the main job is no longer known.
  bool lost_more();
  // Events and markers that were lost since this object was made.
  std::uint64_t lost() const;

 private:
  const ShimServices& shim_;
  EventRouter& router_;
  const int device_;
  MarkerBoard board_;
  IdleChecks idle_checks_;
  std::vector<Event> events_;
  std::vector<Event> answers_;
  TimePoint last_look_{};
  std::uint64_t dropped_ = 0;      // by the process's ring, as last seen
  std::uint64_t lost_before_ = 0;  // of the process's events, before this object
};

}  // namespace weft
