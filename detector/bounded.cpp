// Iterations between two bounds; the part of iterations.h that deals with them. An iteration is known to be over when
// the next one is issued, which may be before the GPU has done it or after.
#include <algorithm>

#include "detector/dcheck.h"
#include "detector/iterations.h"

namespace weft {

void Iterations::bounds_found(const Bounds& bounds, std::uint64_t last) {
  WEFT_DCHECK(bounds.known() && period_ == 0 && bounds.beginnings().latest() + 1 == size_);
  bounded_ = true;
  base_ = size_ - 1;
  // Ranks may come to know the bound at different times, and all have seen it equally often.
  turn_ = bounds.beginnings().count();
  since_ = 1;
  key_ = bounds.key();
  bounded_length_ = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(bounds.latest_length()));
  const Entry* const e = entry(last);
  ends_with_ = e == nullptr ? 0 : e->likeness;
  running_.clear();
  start_at(last + 1);
  if (!start_known_) running_.push({last});
  find_phases(bounds);
}

// The slots of what was issued before the bounds were known: of whole iterations only.
void Iterations::find_phases(const Bounds& bounds) {
  const Beginnings& beginnings = bounds.beginnings();
  phases_.begin_iteration();
  const std::uint64_t oldest = size_ - entries_.size();
  // The first iteration of all began with the first group.
  const bool from_the_first = oldest == 0 && beginnings.count() == beginnings.size();
  std::size_t next = 0;
  std::uint64_t from = 0;
  if (!from_the_first) {
    while (next + 1 < beginnings.size() && beginnings[next] < oldest) ++next;
    from = beginnings[next];
  }
  for (std::uint64_t position = from; position < size_; ++position) {
    if (next < beginnings.size() && position == beginnings[next]) {
      phases_.begin_iteration();
      ++next;
    }
    Entry* const each = entry(position);
    each->slot = phases_.next(each->shape);
  }
}

// With the latest group; `last`: the position of the last one before it that counts.
std::optional<Iteration> Iterations::next_begins(std::uint64_t last) {
  const std::uint64_t beginning = size_ - 1;
  bounded_length_ = static_cast<std::uint32_t>(beginning - base_);
  running_.push({last, turn_, bounded_length_, since_});
  base_ = beginning;
  ++turn_;
  ++since_;
  phases_.begin_iteration();
  const Entry* const e = entry(last);
  ends_with_ = e == nullptr ? 0 : e->likeness;
  return e != nullptr && e->done != TimePoint{} ? bounded_done(last, e->done) : std::nullopt;
}

Place Iterations::bounded_place(std::uint64_t position) const {
  Place place;
  const Entry* const e = entry(position);
  if (e == nullptr) return place;
  place.ordinal = e->slot.ordinal;
  place.earlier = e->slot.earlier;
  if (position < base_) return place;
  const Place here = present();
  place.turn = here.turn;
  place.rhythm = here.rhythm;
  place.iteration = here.iteration;
  return place;
}

Place Iterations::bounded_present() const {
  Place place;
  place.turn = turn_;
  place.rhythm = key_;
  place.iteration = number_base_ + since_ - 1;
  return place;
}

std::optional<Iteration> Iterations::bounded_done(std::uint64_t position, TimePoint time) {
  // One whose end was never seen is not waited for.
  while (running_.size() > 1 && position >= running_[1].last) {
    left_out(running_.front().last);
    running_.pop();
    start_known_ = false;
  }
  if (running_.empty() || position != running_.front().last) return std::nullopt;
  const Running over = running_.front();
  running_.pop();
  const bool reported = start_known_ && over.turn != 0;
  Iteration iteration = end(time);
  iteration.number = number_base_ + over.since - 1;
  iteration.groups = over.groups;
  iteration.rhythm = key_;
  iteration.turn = over.turn;
  iteration.since_found = over.since;
  iteration.said = over.said;
  if (!reported) return std::nullopt;
  iteration.parts = equal_parts(position, over.groups);
  return iteration;
}

// How many come differs, but the first ones do not.
std::optional<TimePoint> Iterations::next_bounded_bubble() const {
  if (!start_known_ || last_bubbles_.empty()) return std::nullopt;
  if (bubbles_.size() < last_bubbles_.size()) return started_ + last_bubbles_[bubbles_.size()].after_start;
  if (last_length_ <= Duration{}) return std::nullopt;
  return started_ + last_length_ + last_bubbles_.front().after_start;
}

}  // namespace weft
