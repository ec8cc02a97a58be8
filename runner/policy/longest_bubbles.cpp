// See longest_bubbles.h.
#include "runner/policy/longest_bubbles.h"

#include <algorithm>
#include <cmath>

namespace weft {

std::size_t LongestBubbles::place_of(Duration expected) {
  const double octaves = std::log2(std::max(1.0, static_cast<double>(expected.count()) / 1e3));
  return std::min(places - 1, static_cast<std::size_t>(octaves * per_octave));
}

Duration LongestBubbles::begin_of(std::size_t place) {
  if (place == 0) return {};
  return Duration{std::llround(1e3 * std::exp2(static_cast<double>(place) / per_octave))};
}

void LongestBubbles::bubble_closed(Duration expected, std::optional<bool> had_room) {
  constexpr float weight = 1.0F / 16;
  if (expected <= Duration{}) return;
  const std::size_t place = place_of(expected);
  ++bubbles_[place];
  if (had_room) without_room_[place] += weight * ((*had_room ? 0 : 1) - without_room_[place]);
}

void LongestBubbles::iteration_ended() {
  constexpr float kept = 0.9F, fewest = 1e-3F;
  for (float& bubbles : bubbles_) bubbles = bubbles < fewest ? 0 : bubbles * kept;
}

// Place by place, from the longest, until they are so many. A few that are missing then are no reason to go on to much
// shorter ones: counts are not exact.
std::optional<Longest> LongestBubbles::share(double of_all) const {
  constexpr double exact = 0.02;
  const auto count = [&](std::size_t place) { return double{bubbles_[place]} * (1 - double{without_room_[place]}); };
  double all = 0;
  for (std::size_t place = 0; place < places; ++place) all += count(place);
  if (all == 0) return std::nullopt;
  double missing = of_all * all;
  const double few = exact * missing;
  for (std::size_t place = places; place > 0; --place) {
    const double here = count(place - 1);
    const Duration begin = begin_of(place - 1);
    if (here > missing) return Longest{begin, place == places ? Duration::max() : begin_of(place), missing / here};
    missing -= here;
    if (missing <= few) return Longest{begin, begin, 1};
  }
  return Longest{};
}

}  // namespace weft
