// Which bubbles are the longest ones, where only a share of them may be filled. Pure.
//
// Used by the Budget, for each rhythm, on the thread that steps the Session. No allocation.
//
// The main job pays for fill work at the end of a bubble: a slice lasts longer than it, caches are cold behind it, or
// the clock of the GPU is low. That costs as much behind a long bubble as behind a short one, which brings less.
// Bubbles that no slice has room in cost nothing, and are not counted.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "detector/time.h"

namespace weft {

// By their expected lengths, which are told apart by a quarter of an octave.
struct Longest {
  Duration least{};    // shorter ones are not among them
  Duration surely{};   // those from here on are, and of those between a part
  double between = 1;  // this one

  // The chance that a bubble of this length is among them.
  double share_at(Duration expected) const { return expected >= surely ? 1 : expected >= least ? between : 0; }
};

class LongestBubbles {
 public:
  // A bubble with room for a slice is over, that was expected to last so long.
  void bubble_closed(Duration expected);
  // An iteration is over. Bubbles before it count less.
  void iteration_ended();
  // So many of them, as a share, or up to a tenth less. Nothing while none is known.
  std::optional<Longest> share(double of_all) const;

 private:
  static constexpr std::size_t per_octave = 4, places = 33 * per_octave;  // from 1 us to two hours
  static std::size_t place_of(Duration expected);
  static Duration begin_of(std::size_t place);

  std::array<float, places> bubbles_{};
};

}  // namespace weft
