// Everything that a device's dispatcher hears of without asking: the events of the hooks, and the markers that streams
// have written. In the order of their times.
//
// Used by the dispatcher thread only. Reads memory, and asks events that are recorded in place of markers.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/core/event_router.h"
#include "runner/core/marker_board.h"

namespace weft {

class EventSource {
 public:
  EventSource(const ShimServices& shim, EventRouter& router, const MarkerWords& words, int device,
              const MarkedEvents& events = {});

  // Nothing before `time` is looked at.
  void begin(TimePoint time) { last_begin_ = time; }
  using Clock = TimePoint (*)();

  // The events since the last call; valid until the next one. `begin`: of this look, `clock` tells its end. `ask`: the
  // device's context is there, events may be asked.
  const std::vector<Event>& gather(TimePoint begin, Clock clock, bool ask = true);
  // The time of all that is found at this look. It was not there at the latest look, at any time since that one began,
  // and may have come until this one ended, before which the thread may have had to wait for a processor. It is dated
  // in the middle.
  TimePoint time_of_look() const { return middle_; }
  // By how much that may be wrong.
  Duration uncertainty_of_look() const { return end_ - middle_; }
  TimePoint end_of_look() const { return end_; }

  bool markers_outstanding() const { return board_.outstanding() != 0; }
  std::size_t groups_pending() const { return board_.groups_pending(); }
  // True once after each loss: the state of the main job is no longer known.
  bool lost_more();
  // Events and markers that were lost since this object was made.
  std::uint64_t lost() const;
  // Annotations of the process since then, of whichever device.
  UnheardAnnotations unheard_annotations() const;

 private:
  const ShimServices& shim_;
  EventRouter& router_;
  const int device_;
  MarkerBoard board_;
  std::vector<Event> events_;
  TimePoint last_begin_{};
  TimePoint middle_{}, end_{};
  std::uint64_t dropped_ = 0;        // by the process's ring, as last seen
  std::uint64_t looked_at_all_ = 0;  // when so many were lost
  UnheardAnnotations unheard_before_;
  std::uint64_t lost_before_ = 0;  // of the process's events, before this object
};

}  // namespace weft
