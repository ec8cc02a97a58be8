// See queues.h.
#include "detector/queues.h"

#include <algorithm>
#include <tuple>

namespace weft {

std::vector<Queues::Pair>::iterator Queues::place_of(StreamId one, StreamId other) {
  const auto wanted = std::minmax(one, other);
  return std::lower_bound(pairs_.begin(), pairs_.end(), wanted, [](const Pair& pair, const auto& ids) {
    return std::tie(pair.low, pair.high) < std::tie(ids.first, ids.second);
  });
}

const Queues::Pair* Queues::find(StreamId one, StreamId other) const {
  const auto [low, high] = std::minmax(one, other);
  std::uint16_t& known = places_[(16 * low + high) % places_.size()];
  if (known < pairs_.size() && pairs_[known].low == low && pairs_[known].high == high) return &pairs_[known];
  const auto pair = const_cast<Queues*>(this)->place_of(one, other);
  if (pair == pairs_.end() || pair->low != low || pair->high != high) return nullptr;
  known = static_cast<std::uint16_t>(pair - pairs_.begin());
  return &*pair;
}

bool Queues::are_apart(StreamId one, StreamId other, HeldBy by) const {
  const Pair* pair = find(one, other);
  if (pair == nullptr) return false;
  return pair->past_waits.times >= enough || (by == HeldBy::kernel && pair->past_kernels.times >= enough);
}

void Queues::passed(StreamId stream, StreamId blocked, HeldPlace place) {
  if (sightings_.size() == most_sightings || are_apart(stream, blocked, place.by)) return;
  for (const Sighting& known : sightings_)
    if (known.stream == stream && known.blocked == blocked && known.place == place) return;
  sightings_.push_back({stream, blocked, place, false});
}

void Queues::note_apart(StreamId one, StreamId other, HeldPlace place) {
  auto pair = place_of(one, other);
  const auto [low, high] = std::minmax(one, other);
  if (pair == pairs_.end() || pair->low != low || pair->high != high) {
    if (pairs_.size() == most_pairs)
      std::erase_if(
          pairs_, [](const Pair& each) { return each.past_waits.times < enough && each.past_kernels.times < enough; });
    if (pairs_.size() == most_pairs) return;
    pair = pairs_.insert(place_of(one, other), {low, high, {}, {}});
  }
  Seen& seen = place.by == HeldBy::kernel ? pair->past_kernels : pair->past_waits;
  if (seen.times > 0 && seen.latest == place.ticket) return;
  seen.latest = place.ticket;
  ++seen.times;
}

void Queues::forget(StreamId stream) {
  std::erase_if(pairs_, [stream](const Pair& pair) { return pair.low == stream || pair.high == stream; });
  std::erase_if(sightings_, [stream](const Sighting& s) { return s.stream == stream || s.blocked == stream; });
}

}  // namespace weft
