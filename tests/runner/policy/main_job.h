// A main job in virtual time for the tests of the slowdown budget: iterations of eight bubbles, of which the budget
// says which may be filled, and a length for each iteration.
//
// Used by one test at a time, on its thread. No clock and no randomness of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "runner/policy/budget.h"

namespace weft::testing {

inline Bubble bubble_of(std::uint64_t id, std::uint64_t iteration, std::uint64_t turn, std::uint64_t rhythm = 1,
                        std::int32_t ordinal = 0) {
  Bubble bubble;
  bubble.id = id;
  bubble.iteration = iteration;
  bubble.turn = turn;
  bubble.rhythm = rhythm;
  bubble.slot.ordinal = ordinal;
  return bubble;
}

// A main job of eight bubbles in each iteration; `length` says how long one lasts of which this share was filled.
struct MainJob {
  Budget budget{0.01};
  std::uint64_t number = 0, bubbles = 0, filled = 0, in_control = 0;
  std::uint64_t rhythm = 1, turn = 0, since = 0;
  std::function<std::uint32_t(std::uint64_t)> groups = [](std::uint64_t) { return 30; };  // of an iteration
  std::map<Budget::Change, int> changes;

  // Another rhythm, or the same one found again.
  void rhythm_found(std::uint64_t key) {
    rhythm = key;
    turn = since = 0;
  }

  void run(std::uint64_t iterations, const std::function<double(double)>& length) {
    for (std::uint64_t end = number + iterations; number < end && changes[Budget::Change::stop] == 0;) {
      ++number;
      ++turn;
      ++since;
      int used = 0;
      for (int bubble = 0; bubble < 8; ++bubble) {
        if (!budget.may_fill(bubble_of(++bubbles, number, turn, rhythm, bubble))) continue;
        budget.launched(number);
        ++used;
      }
      filled += static_cast<std::uint64_t>(used);
      if (is_control(turn)) in_control += static_cast<std::uint64_t>(used);
      Iteration iteration;
      iteration.number = number;
      iteration.turn = turn;
      iteration.since_found = since;
      iteration.rhythm = rhythm;
      iteration.groups = groups(number);
      iteration.ended += Duration(static_cast<std::int64_t>(1e6 * length(used / 8.0)));
      ++changes[budget.ended(iteration)];
    }
  }
};

}  // namespace weft::testing
