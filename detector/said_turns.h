// SaidTurns: the turn of an iteration that the framework says, from its number. Numbers only.
//
// Used by the detector, one thread. A turn rises by one from iteration to iteration, and is the same on all ranks that
// say the same numbers, whenever they begin to hear them: it is the number in units of the smallest step between two of
// them (1, or the samples of an iteration, or every eighth), plus 1. A number that is left out leaves a turn out. Where
// numbers go by no such step nothing but counting is left: ranks then agree if they hear the same iterations.
#pragma once

#include <cstdint>

namespace weft {

class SaidTurns {
 public:
  // Each number that an iteration begins with, believed or not; one that does not rise has the turn of the one before.
  void heard(std::int64_t number);
  std::uint64_t turn() const { return turn_; }
  // Iterations are counted: ranks need not agree.
  bool counts() const { return counts_; }

 private:
  // So many numbers may come after another step than the smallest, and one in so many of all: some are left out, and a
  // run goes on from a checkpoint.
  static constexpr std::uint64_t most_others = 4, others_in = 8;

  std::int64_t latest_ = -1;
  std::uint64_t step_ = 0;  // the smallest so far; 0: none is known
  std::uint64_t steps_ = 0, others_ = 0;
  std::uint64_t turn_ = 0;
  bool counts_ = false;
};

}  // namespace weft
