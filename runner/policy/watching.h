// Watching: what it costs the training that Weft watches, and how much of that is allowed. Iterations that are watched
// are compared with dark ones (control_schedule.h). Pure: iterations in, decisions and numbers out.
//
// Used by the Session, with or without a fill job, one thread. Neither kind of iteration is filled; what filling adds
// is the Budget's business, which gets what is left.
#pragma once

#include <cstdint>
#include <optional>

#include "detector/bubble.h"
#include "runner/policy/ratios.h"

namespace weft {

class Watching {
 public:
  // As asked for; more seldom and never without sleep; only at the ends of iterations.
  enum class Looks : std::uint8_t { all, fewer, ends };

  // `budget`: the slowdown that is allowed. Infinite: nothing changes. `poll`: ends of iterations are seen so late.
  Watching(double budget, Duration poll) : budget_(budget), poll_(poll) {}

  // An iteration without fill is over. True: looks() has changed.
  bool ended(const Iteration& iteration);
  Looks looks() const { return looks_; }
  // As far as it is known; `filled` counts those that were watched, `control` the dark ones.
  std::optional<Slowdown> cost() const;
  // It costs at least so much, which is 97.5 % likely, and more than ends that are seen late can make of nothing; 0:
  // nothing is known.
  double least_cost() const { return least_; }

 private:
  double grid() const;
  bool is_too_much();

  double budget_;
  Duration poll_;
  Duration length_{};          // of the latest dark iteration
  bool was_too_much_ = false;  // at the ends of iterations only, if it is so once more
  Looks looks_ = Looks::all;
  Ratios ratios_;
  std::optional<Slowdown> before_;  // what led to the present looks
  double least_ = 0;
};

}  // namespace weft
