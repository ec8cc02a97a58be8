// The legacy default stream and blocking streams, which CUDA orders by itself; see StreamOrder and README.md.
//
// A part of Streams: called for each verdict. Nothing is allocated.
#include <algorithm>
#include <utility>

#include "detector/streams.h"

namespace weft {

void Streams::set_order(StreamId id, StreamOrder order) {
  have_orders_ = have_orders_ || order != StreamOrder::none;
  if (Stream* stream = find_or_add(id)) is_stale_ = std::exchange(stream->order, order) != order || is_stale_;
  if (order == StreamOrder::legacy) is_stale_ = std::exchange(legacy_, id) != id || is_stale_;
}

// The stream of the other kind that has got to a group or a wait: what was enqueued on this one before that is over,
// and what was enqueued since stands behind it. nullptr: there is none.
const Streams::Stream* Streams::holder_of(const Stream& stream) const {
  if (stream.order == StreamOrder::none) return nullptr;
  if (stream.order == StreamOrder::blocking) {
    const Stream* legacy = this->legacy();
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

// All that blocking streams had before the legacy one got this mark is over, as it waits for them; nothing: all.
void Streams::end_abandoned(std::optional<Ticket> before) {
  for (std::size_t i = streams_.size(); i-- > 0;) {
    if (!streams_[i].abandoned || (before && !is_before(streams_[i].abandoned_at, *before))) continue;
    streams_[i].abandoned = false;
    erase_if_over(streams_[i].id);
  }
}

// Behind its copy stands what was launched on it since.
bool Streams::a_blocking_stream_copies() const {
  return std::any_of(streams_.begin(), streams_.end(), [this](const Stream& each) {
    return each.order == StreamOrder::blocking && each.where == Position::held &&
           each.ahead.front().kind == Kind::copied;
  });
}

// Its latest answer. The legacy stream answers for blocking ones as well, and a copy is no compute.
StreamAnswer Streams::says_for_itself(const Stream& stream) const {
  const StreamAnswer says = current_answer(stream).says;
  const bool of_another =
      says == StreamAnswer::busy && stream.order == StreamOrder::legacy && a_blocking_stream_copies();
  return of_another ? StreamAnswer::unknown : says;
}

// Next to a capture nobody can ask it whether it has something left.
bool Streams::stands_whatever_it_has(const Stream& stream) const {
  return stream.where == Position::behind && current_answer(stream).says == StreamAnswer::unknown &&
         holder_of(stream) != nullptr;
}

bool Streams::legacy_is_held_up() const {
  const Stream* legacy = this->legacy();
  return legacy != nullptr && holder_of(*legacy) != nullptr;
}

// It is held up, and has something left, or may have: nobody can ask it next to a capture.
bool Streams::legacy_stands_between() const {
  if (!legacy_is_held_up()) return false;
  const Stream& legacy = *this->legacy();
  if (!legacy.ahead.empty() || legacy.where == Position::ordered) return true;
  if (current_answer(legacy).says == StreamAnswer::unknown) return true;
  return legacy_used_ != 0 && std::any_of(streams_.begin(), streams_.end(), [this](const Stream& each) {
           const bool holds = each.order == StreamOrder::blocking && (is_in_group(each) || is_waiting(each));
           return holds && !is_before(legacy_used_, each.at.ticket);
         });
}

// Two blocking streams wait for each other where something on the legacy one stands between them.
bool Streams::may_stand_behind_legacy(const Stream& stream) const {
  return stream.order == StreamOrder::blocking && legacy_stands_between_;
}

// In a hardware queue, behind what a stream may have that is held up. Blocking streams that the legacy one holds up
// need not be known: then all are asked, but not for ever, as most programs have none.
bool Streams::may_stand_behind_held_up(const Stream& running) {
  if (!have_orders_) return false;
  const Stream* legacy = this->legacy();
  if (legacy != nullptr && (is_in_group(*legacy) || is_waiting(*legacy))) {
    if (std::any_of(streams_.begin(), streams_.end(), [&](const Stream& each) {
          return each.order == StreamOrder::blocking && each.id != running.id &&
                 !queues_.are_apart(each.id, running.id, HeldBy::wait);
        }))
      return true;
    return looks_for_blocking_now_ = looks_for_blocking_ < most_looks_to_learn;
  }
  return std::any_of(streams_.begin(), streams_.end(), [&](const Stream& each) {
    return each.order != StreamOrder::none && each.id != running.id && each.where == Position::behind &&
           holder_of(each) != nullptr && !queues_.are_apart(each.id, running.id, HeldBy::wait);
  });
}

// The blocking stream, besides this one, that the legacy stream waits for longest; nullptr: there is none.
const Streams::Stream* Streams::first_holder_besides(const Stream& stream) const {
  const Stream* first = nullptr;
  for (const Stream& each : streams_) {
    const bool holds = each.order == StreamOrder::blocking && (is_in_group(each) || is_waiting(each));
    if (!holds || each.id == stream.id) continue;
    if (first == nullptr || is_before(each.at.ticket, first->at.ticket)) first = &each;
  }
  return first;
}

// The stream that perhaps holds up its work or its next mark at the head of the hardware queue; nullptr: nothing
// does.
const Streams::Stream* Streams::holder_of_work(const Stream& stream) const {
  if (stream.order == StreamOrder::none) return nullptr;
  const Position where = stream.where;
  const Stream* holder = where == Position::ordered || where == Position::held ? holder_of(stream) : nullptr;
  if (holder != nullptr) return holder;
  // Nobody asks one that is in a group.
  const bool has_nothing = where == Position::behind && current_answer(stream).says != StreamAnswer::busy;
  return !has_nothing && may_stand_behind_legacy(stream) ? first_holder_besides(stream) : nullptr;
}

}  // namespace weft
