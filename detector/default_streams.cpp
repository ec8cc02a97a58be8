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
  const Stream* holder = nullptr;  // the one that got there last, in a group rather than waiting
  for (const Stream& other : streams_) {
    if (other.order != StreamOrder::blocking || (!is_in_group(other) && !is_waiting(other))) continue;
    const bool is_better =
        holder == nullptr || is_in_group(other) > is_in_group(*holder) ||
        (is_in_group(other) == is_in_group(*holder) && is_before(holder->at.ticket, other.at.ticket));
    if (is_better) holder = &other;
  }
  return holder;
}

// Something that was launched behind what holds it up. That it is busy does not say so: the legacy stream may answer so
// because of what holds it up.
bool Streams::has_more_than_holder(const Stream& stream) const {
  const Stream* holder = holder_of(stream);
  const Ticket launched_before = current_answer(stream).launched_before;
  return holder != nullptr && (launched_before == 0 || is_before(holder->at.ticket, launched_before));
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
