// When the dispatcher looks without sleeping: near the expected end of a bubble that it fills. Slices are short there,
// and each is launched just before the one that runs ends; a word that is seen late costs a slice. A sleep takes as
// long as such a slice.
//
// Used by the Session, one thread. Pure. Bounded: it takes no more than a share of a core, on average since the
// session began, and rests where the thread is interrupted, because then others need the core.
#pragma once

#include <optional>

#include "detector/bubble.h"

namespace weft {

class Spinning {
 public:
  static constexpr Duration shortest_rest{1'000'000'000};
  static constexpr Duration longest_rest{64'000'000'000};
  // After so many windows that nobody interrupted the next rest is half as long.
  static constexpr std::uint32_t enough_undisturbed = 64;
  // Where little is used, so much may be used later at once.
  static constexpr Duration most_saved{100'000'000};

  // `share`: of a core, WEFT_SPIN. 0: never.
  explicit Spinning(double share) : share_(share) {}

  // At each look one of these: the open bubble is to be filled; or there is none, or it is not.
  void is_open(const Bubble& bubble, TimePoint now);
  void none_is_open(TimePoint now);
  // Another thread has taken the core meanwhile.
  void interrupted(TimePoint now);

  // In the open bubble the thread goes on looking from `from` to `until`.
  struct Window {
    TimePoint from, until;
  };
  const std::optional<Window>& window() const { return window_; }
  bool at(TimePoint time) const { return window_ && time >= window_->from && time < window_->until; }
  Duration spent() const { return spent_; }

 private:
  void end_window(TimePoint now);
  void earn(TimePoint now);

  const double share_;
  std::uint64_t bubble_ = 0;  // that is open, its id; 0: none
  std::optional<Window> window_;
  TimePoint earned_{};  // what was saved until then is in `saved_`
  Duration saved_{}, spent_{};
  TimePoint rests_until_{};
  Duration rest_ = shortest_rest;  // the next one
  std::uint32_t undisturbed_ = 0;  // windows
};

}  // namespace weft
