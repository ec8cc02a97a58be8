// See call_samples.h.
#include "runner/sites/call_samples.h"

#include <algorithm>

namespace weft {

GroupId CallSamples::ask(std::span<const GroupId> groups) noexcept {
  for (std::size_t index = 0; index < std::min(groups.size(), most); ++index) {
    places_[index].group.store(groups[index], std::memory_order_relaxed);
    places_[index].state.store(State::asked, std::memory_order_release);
  }
  return next_behind(0);
}

void CallSamples::withdraw() noexcept {
  for (Place& place : places_) {
    State asked = State::asked;
    place.state.compare_exchange_strong(asked, State::free, std::memory_order_acq_rel);
  }
}

bool CallSamples::is_empty() const noexcept {
  return std::all_of(places_.begin(), places_.end(),
                     [](const Place& place) { return place.state.load(std::memory_order_acquire) == State::free; });
}

GroupId CallSamples::next_behind(GroupId group) const noexcept {
  GroupId next = 0;
  for (const Place& place : places_) {
    if (place.state.load(std::memory_order_acquire) != State::asked) continue;
    const GroupId asked = place.group.load(std::memory_order_relaxed);
    if (asked > group && (next == 0 || asked < next)) next = asked;
  }
  return next;
}

// The place of this group, which is the caller's from here on; nullptr: it is not asked for, or no longer.
CallSamples::Place* CallSamples::place_of(GroupId group) noexcept {
  for (Place& place : places_) {
    State asked = State::asked;
    if (place.group.load(std::memory_order_relaxed) != group ||
        !place.state.compare_exchange_strong(asked, State::looking, std::memory_order_acq_rel))
      continue;
    // Between the two it may have been withdrawn, and asked for again for another one.
    if (place.group.load(std::memory_order_relaxed) == group) return &place;
    place.state.store(State::asked, std::memory_order_release);
  }
  return nullptr;
}

GroupId CallSamples::look(GroupId group, const char* range) noexcept {
  Place* const place = place_of(group);
  if (place == nullptr) return next_behind(group);
  std::size_t bytes = 0;
  for (; bytes + 1 < place->range.size() && range[bytes] != '\0'; ++bytes) place->range[bytes] = range[bytes];
  place->range[bytes] = '\0';
  place->was_read = reader_.read(place->stack);
  place->state.store(State::looked, std::memory_order_release);
  return next_behind(group);
}

}  // namespace weft
