// How long before the expected end of a bubble nothing begins any more, where only a share of the bubble time may be
// filled: its guard. Pure.
//
// Used by the Budget, for each rhythm, on the thread that steps the Session. No allocation.
//
// The main job pays for more than overruns: behind fill work it may find its caches cold, or the clock of the GPU low,
// once for each bubble that is filled to its end. A guard lets that go by, and leaves short bubbles empty, which bring
// least. All bubbles have the same one, so long bubbles are filled for most of their length.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "detector/time.h"

namespace weft {

class Guard {
 public:
  // A bubble is over that was expected to last so long.
  void bubble_closed(Duration expected);
  // An iteration is over. Bubbles before it count less.
  void iteration_ended();
  // The guard with which all that lies before it is `share` of the bubble time. Nothing while no bubble is known.
  std::optional<Duration> with_share(double share) const;

 private:
  // Lengths are told apart by a quarter of an octave, from 1 us to two hours.
  static constexpr std::size_t per_octave = 4, places = 33 * per_octave;
  struct Place {
    float time = 0, bubbles = 0;  // nanoseconds
    double length() const { return static_cast<double>(time) / static_cast<double>(bubbles); }
  };
  std::array<Place, places> places_{};
};

}  // namespace weft
