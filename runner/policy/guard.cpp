// See guard.h.
#include "runner/policy/guard.h"

#include <algorithm>
#include <cmath>

namespace weft {

void Guard::bubble_closed(Duration expected) {
  if (expected <= Duration{}) return;
  const double octaves = std::log2(std::max(1.0, static_cast<double>(expected.count()) / 1e3));
  Place& place = places_[std::min(places - 1, static_cast<std::size_t>(octaves * per_octave))];
  place.time += static_cast<float>(expected.count());
  ++place.bubbles;
}

void Guard::iteration_ended() {
  constexpr float kept = 0.9F, fewest = 1e-3F;
  for (Place& place : places_)
    place = place.bubbles < fewest ? Place{} : Place{place.time * kept, place.bubbles * kept};
}

// As the guard becomes shorter, the time before it grows by the number of bubbles that are longer: place by place, from
// the longest, until it is enough.
std::optional<Duration> Guard::with_share(double share) const {
  double all = 0;
  for (const Place& place : places_) all += place.time;
  if (all == 0) return std::nullopt;
  double time = 0, bubbles = 0;  // of those that are longer than the guard
  for (std::size_t i = places; i > 0; --i) {
    const Place& place = places_[i - 1];
    if (place.bubbles == 0) continue;
    // With this length as guard, it would be so much.
    if (time - bubbles * place.length() >= share * all) break;
    time += place.time;
    bubbles += place.bubbles;
  }
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double, Duration::period>(std::max(0.0, time - share * all) / bubbles));
}

}  // namespace weft
