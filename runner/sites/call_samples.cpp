// See call_samples.h.
#include "runner/sites/call_samples.h"

#include <algorithm>

namespace weft {

GroupId CallSamples::ask(std::span<const GroupId> groups) noexcept {
  for (std::size_t index = 0; index < std::min(groups.size(), most); ++index)
    places_[index].word.store(word_of(groups[index], State::asked), std::memory_order_release);
  return next_behind(0);
}

// One that a hook takes in the same moment is the hook's: it will be looked at.
void CallSamples::withdraw() noexcept {
  for (Place& place : places_) {
    std::uint64_t word = place.word.load(std::memory_order_acquire);
    if (state_of(word) == State::asked) place.word.compare_exchange_strong(word, free_word, std::memory_order_acq_rel);
  }
}

bool CallSamples::is_empty() const noexcept {
  return std::all_of(places_.begin(), places_.end(),
                     [](const Place& place) { return place.word.load(std::memory_order_acquire) == free_word; });
}

bool CallSamples::has_any() const noexcept {
  return std::any_of(places_.begin(), places_.end(), [](const Place& place) {
    return state_of(place.word.load(std::memory_order_acquire)) == State::looked;
  });
}

GroupId CallSamples::next_behind(GroupId group) const noexcept {
  GroupId next = 0;
  for (const Place& place : places_) {
    const std::uint64_t word = place.word.load(std::memory_order_acquire);
    if (state_of(word) != State::asked) continue;
    const GroupId asked = group_of(word);
    if (asked > group && (next == 0 || asked < next)) next = asked;
  }
  return next;
}

// The place of this group, which is the caller's from here on; nullptr: it is not asked for, or no longer.
CallSamples::Place* CallSamples::place_of(GroupId group) noexcept {
  for (Place& place : places_) {
    std::uint64_t asked = word_of(group, State::asked);
    if (place.word.compare_exchange_strong(asked, word_of(group, State::looking), std::memory_order_acq_rel))
      return &place;
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
  place->word.store(word_of(group, State::looked), std::memory_order_release);
  return next_behind(group);
}

}  // namespace weft
