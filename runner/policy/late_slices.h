// Slices that do not end in time: filling pauses, tries again with care, and ends after too many. Pure.
//
// Used by the Session, on the thread that steps it. A late slice holds up the main job, so nothing is launched behind
// it; but on a busy machine one late slice says little about the next, so it does not end filling for the whole run.
#pragma once

#include <cstdint>

#include "runner/policy/planner.h"

namespace weft {

// Of the hardware queues: the training has several; or it has one, and fill work waits in that, or in one of its own.
enum class SliceQueue : std::uint8_t { several, only, own };

class LateSlices {
 public:
  static constexpr std::uint32_t most_pauses = 3;                      // one more late slice ends filling
  static constexpr Duration longest_watch = std::chrono::seconds(30);  // of a slice that does not end at all

  // With one hardware queue: so many slices in a row that got on only after their bubble, and it was wrong to fill.
  static constexpr std::uint32_t most_held_up = 3;

  enum class Change : std::uint8_t { none, paused, resumed, stop, held_up };

  // `in_bubble`: the device is idle but for fill work, so a slice that does not get on is late; otherwise it may have
  // to wait for the main job. One look per step, with the slices in flight after what has finished was taken out.
  // Unless there are several queues the machine has answered that a slice runs at once in a bubble, and where it does
  // not it holds up the main job.
  Change look(TimePoint now, bool in_bubble, const InFlight& in_flight, SliceQueue queue = SliceQueue::several);
  // One of this length was launched, in a call that took so long: a driver that lets nobody launch while the host waits
  // for it lets the call stand.
  void launched(Duration alone, Duration took) { call_stood_ = took > in_time(alone); }
  // The oldest slice in flight has ended.
  void finished(TimePoint now);

  bool paused() const { return state_ == State::late || state_ == State::resting; }
  // After a pause one slice at a time, until some have ended in time.
  bool careful() const { return careful_slices_ != 0; }
  Duration watched() const { return watched_; }  // how long the oldest slice was seen not to end
  std::uint32_t pauses() const { return pauses_; }
  Duration rest() const;  // from the end of the late slice to the next launch

 private:
  static Duration in_time(Duration alone);

  enum class State : std::uint8_t { filling, late, resting };

  State state_ = State::filling;
  std::uint32_t pauses_ = 0;
  std::uint32_t careful_slices_ = 0;  // that still have to end in time
  std::uint32_t held_up_ = 0;         // in a row
  bool call_stood_ = false;           // of the latest launch
  Duration in_time_{};                // for the slice in flight: in bubbles
  TimePoint last_look_{};
  Duration watched_{};
  Duration watched_in_bubbles_{};
  TimePoint rest_over_{};
  TimePoint last_late_{};
};

}  // namespace weft
