// The legacy default stream and blocking streams, which CUDA orders by itself; see StreamOrder and README.md.
//
// A part of Streams: called for each verdict. Nothing is allocated.
#include "detector/streams.h"

namespace weft {

void Streams::set_order(StreamId id, StreamOrder order) {
  if (Stream* stream = find_or_add(id)) stream->order = order;
  if (order == StreamOrder::legacy) legacy_ = id;
}

// The stream of the other kind that has got to a group or a wait: what was enqueued on this one before that is over,
// and what was enqueued since stands behind it. nullptr: there is none.
const Streams::Stream* Streams::holder_of(const Stream& stream) const {
  if (stream.order == StreamOrder::none) return nullptr;
  if (stream.order == StreamOrder::blocking) {
    const Stream* legacy = find(legacy_);
    return legacy != nullptr && (is_in_group(*legacy) || is_waiting(*legacy)) ? legacy : nullptr;
  }
  const Stream* waiting = nullptr;
  for (const Stream& other : streams_) {
    if (other.order != StreamOrder::blocking) continue;
    if (is_in_group(other)) return &other;
    if (is_waiting(other)) waiting = &other;
  }
  return waiting;
}

bool Streams::legacy_is_held_up() const {
  const Stream* legacy = find(legacy_);
  return legacy != nullptr && holder_of(*legacy) != nullptr;
}

// Two blocking streams wait for each other where something on the legacy one stands between them.
bool Streams::may_stand_behind_legacy(const Stream& stream) const {
  if (stream.order != StreamOrder::blocking || !legacy_is_held_up()) return false;
  const Stream& legacy = *find(legacy_);
  return !legacy.ahead.empty() || position(legacy) == Position::ordered;
}

}  // namespace weft
