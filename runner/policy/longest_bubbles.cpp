// See longest_bubbles.h.
#include "runner/policy/longest_bubbles.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {

std::size_t LongestBubbles::place_of(Duration expected) {
  const double octaves = std::log2(std::max(1.0, static_cast<double>(expected.count()) / 1e3));
  return std::min(places - 1, static_cast<std::size_t>(octaves * per_octave));
}

Duration LongestBubbles::begin_of(std::size_t place) {
  if (place == 0) return {};
  return Duration{std::llround(1e3 * std::exp2(static_cast<double>(place) / per_octave))};
}

void LongestBubbles::bubble_closed(Duration expected) {
  if (expected > Duration{}) ++bubbles_[place_of(expected)];
}

void LongestBubbles::iteration_ended() {
  constexpr float kept = 0.9F, fewest = 1e-3F;
  for (float& bubbles : bubbles_) bubbles = bubbles < fewest ? 0 : bubbles * kept;
}

// Place by place, from the longest, until they are so many. A few that are missing then are no reason to go on to much
// shorter ones: counts are not exact.
std::optional<Longest> LongestBubbles::share(double of_all) const {
  constexpr double exact = 0.1;
  const double all = std::accumulate(bubbles_.begin(), bubbles_.end(), 0.0);
  if (all == 0) return std::nullopt;
  double missing = of_all * all;
  const double few = exact * missing;
  for (std::size_t place = places; place > 0; --place) {
    const double here = bubbles_[place - 1];
    const Duration begin = begin_of(place - 1);
    if (here > missing) return Longest{begin, place == places ? Duration::max() : begin_of(place), missing / here};
    missing -= here;
    if (missing <= few) return Longest{begin, begin, 1};
  }
  return Longest{};
}

}  // namespace weft
