// Phases: which slot a group is in iterations that differ in how many microbatches they have.
//
// Used by Iterations, one thread, for iterations that bounds delimit; told of each group in the order of issue. It
// knows no end in advance, so a slot may depend on what came before only.
//
// Groups of one phase (warm-up, steady state, cool-down) have the same shapes before them, those of another phase have
// not. A slot is the group's shape, what came before, and how many of its kind the iteration has had: the warm-up
// counts from the beginning of the iteration, the cool-down from its own, which is the same distance from the end in
// all iterations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace weft {

struct PhaseSlot {
  std::int32_t ordinal = -1;  // counts the slots in the order in which they were first seen; -1: too many
  std::int32_t earlier = -1;  // the slot before it in its phase: the nearest that is known where this one is new
};

class Phases {
 public:
  // `most`: slots.
  explicit Phases(std::size_t most) : most_(most) {}

  void begin_iteration();
  // `shape`: see shape_of() in bounds.h.
  PhaseSlot next(std::uint64_t shape);

 private:
  struct Phase {
    std::uint64_t iteration = 0;  // that `count` is of
    std::size_t count = 0;
    std::vector<std::int32_t> ordinals;
  };

  std::uint64_t what_came_before(std::uint64_t shape);

  std::size_t most_;
  std::int32_t ordinals_ = 0;
  std::uint64_t iteration_ = 0;
  // Of transfers: the latest shape, and the two others that came before it last. 0: none in this iteration.
  std::uint64_t latest_ = 0, before_ = 0, before_that_ = 0;
  bool again_ = false;  // the latest shape is the same as that before it
  std::unordered_map<std::uint64_t, Phase> phases_;
};

}  // namespace weft
