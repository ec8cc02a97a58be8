// When fill jobs give memory back that cannot go at once, and when they may have memory again after it went back to the
// training, because the training left less than WEFT_HEADROOM free: not at once, and later each time, for each time
// holds the training up. Pure.
//
// Threads of the main job inside the core's services, one at a time per device.
#pragma once

#include <algorithm>
#include <cstdint>

#include "detector/time.h"

namespace weft {

class Rests {
 public:
  static constexpr Duration shortest = std::chrono::seconds(2), longest = std::chrono::minutes(2);

  // Memory goes back, or does not suffice after all.
  void begin(TimePoint now) {
    pause_ = have_been() ? std::min(2 * pause_, longest) : shortest;
    until_ = now + pause_;
  }
  // An allocation of the training has failed meanwhile.
  void go_on(TimePoint now) { until_ = now + pause_; }
  bool have_been() const { return pause_ > Duration{}; }
  bool is_over(TimePoint now) const { return now >= until_; }
  Duration pause() const { return pause_; }  // of the latest
  // Bytes that have to stay free beside what is made ready. With no more than `wanted` the next allocation of the
  // training would take all back, so it is to have a quarter more before that: 64 MiB beside the usual 256.
  std::uint64_t head_room(std::uint64_t wanted) const { return have_been() ? wanted + wanted / 4 : wanted; }

 private:
  Duration pause_{};
  TimePoint until_{};
};

// Each try may hold a host wait up, so they get rarer.
class GivingBack {
 public:
  static constexpr Duration shortest = std::chrono::milliseconds(100), longest = std::chrono::seconds(1);
  static constexpr Duration long_time = std::chrono::seconds(5);

  void begin(TimePoint now) {
    *this = {};
    began_ = now;
  }
  bool is_due(TimePoint now) const { return now >= next_; }
  void note_try(TimePoint now) {
    next_ = now + pause_;
    pause_ = std::min(2 * pause_, longest);
  }
  // True once.
  bool is_to_be_said(TimePoint now) { return !said_ && now - began_ >= long_time && (said_ = true); }

 private:
  TimePoint began_{}, next_{};
  Duration pause_ = shortest;
  bool said_ = false;
};

}  // namespace weft
