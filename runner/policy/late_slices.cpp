// See late_slices.h.
#include "runner/policy/late_slices.h"

#include <algorithm>

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

// Between two looks the machine may have been asleep: no more than this counts as time that a slice was watched.
constexpr Duration longest_gap = milliseconds(1);
constexpr int slack_factor = 10;
constexpr Duration slack_in_bubble = milliseconds(20);
// A slice that has a queue to itself ends within so many times its length, and this.
constexpr int in_time_factor = 3;
constexpr Duration in_time_slack = milliseconds(1);
// Outside bubbles a slice waits for multiprocessors behind kernels of the main job, which may be long.
constexpr Duration slack_outside = milliseconds(2000);

constexpr Duration first_rest = milliseconds(1000);
constexpr int rest_factor = 8;  // 1 s, 8 s, 64 s
constexpr std::uint32_t slices_with_care = 100;
// A job that runs for days may be late now and then: a pause that lies so far back no longer counts.
constexpr Duration forgiven_after = minutes(10);

}  // namespace

Duration LateSlices::in_time(Duration alone) {
  return in_time_factor * alone + in_time_slack;
}

Duration LateSlices::rest() const {
  Duration rest = first_rest;
  for (std::uint32_t pause = 1; pause < pauses_; ++pause) rest *= rest_factor;
  return rest;
}

LateSlices::Change LateSlices::look(TimePoint now, bool in_bubble, const InFlight& in_flight, SliceQueue queue) {
  const TimePoint since = std::max(last_look_, in_flight.oldest_launched);
  last_look_ = now;
  if (state_ == State::resting && now >= rest_over_) {
    state_ = State::filling;
    careful_slices_ = slices_with_care;
    return Change::resumed;
  }
  if (queue != SliceQueue::several && held_up_ >= most_held_up) return Change::held_up;
  if (in_flight.slices == 0) {
    watched_ = watched_in_bubbles_ = {};
    return Change::none;
  }
  const Duration passed = std::clamp(now - since, Duration{}, longest_gap);
  watched_ += passed;
  in_time_ = in_time(in_flight.oldest_alone);
  // In the only queue it waits for nothing of the main job that was launched later.
  if (in_bubble || queue == SliceQueue::only) watched_in_bubbles_ += passed;
  if (state_ == State::late) return watched_ > longest_watch ? Change::stop : Change::none;
  // Time that the slice rightly waited behind the main job says nothing about how it gets on in a bubble.
  const Duration usual = slack_factor * in_flight.oldest_alone;
  if (watched_in_bubbles_ <= usual + slack_in_bubble && watched_ <= usual + slack_outside) return Change::none;
  if (pauses_ != 0 && now - last_late_ > forgiven_after) pauses_ = 0;
  last_late_ = now;
  if (pauses_ == most_pauses) return Change::stop;
  ++pauses_;
  state_ = State::late;
  return Change::paused;
}

void LateSlices::finished(TimePoint now) {
  const bool held_up = call_stood_ || watched_in_bubbles_ > in_time_;
  held_up_ = held_up ? held_up_ + 1 : 0;
  watched_ = watched_in_bubbles_ = {};
  if (state_ == State::late) {
    state_ = State::resting;
    rest_over_ = now + rest();
  } else if (careful_slices_ != 0) {
    --careful_slices_;
  }
}

}  // namespace weft
