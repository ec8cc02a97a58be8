// The lengths of each slot's bubbles in the first iterations: what systems with a fixed plan go by.
//
// Used by the compared systems. Pure.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "detector/bubble.h"

namespace weft::model {

class SlotLengths {
 public:
  // `enough`: lengths of a slot; later ones change nothing.
  explicit SlotLengths(std::size_t enough) : enough_(enough) {}

  void add(const Bubble& bubble) {
    if (bubble.slot.ordinal < 0) return;
    std::vector<Duration>& lengths = lengths_[bubble.slot.ordinal];
    if (lengths.size() < enough_) lengths.push_back(bubble.closed - bubble.opened);
  }
  // Nothing while too few are known.
  std::optional<Duration> least(const Bubble& bubble) const {
    const std::vector<Duration>* const lengths = of(bubble);
    if (lengths == nullptr) return std::nullopt;
    return *std::min_element(lengths->begin(), lengths->end());
  }
  std::optional<Duration> mean(const Bubble& bubble) const {
    const std::vector<Duration>* const lengths = of(bubble);
    return lengths == nullptr ? std::nullopt : std::optional(mean_of(*lengths));
  }
  // Whether it is one of the so many longest slots.
  bool is_among_longest(const Bubble& bubble, std::size_t most) const {
    const std::optional<Duration> own = mean(bubble);
    if (!own) return false;
    std::size_t longer = 0;
    for (const auto& [ordinal, lengths] : lengths_)
      longer += lengths.size() == enough_ && mean_of(lengths) > *own ? 1 : 0;
    return longer < most;
  }

 private:
  const std::vector<Duration>* of(const Bubble& bubble) const {
    const auto known = lengths_.find(bubble.slot.ordinal);
    return known == lengths_.end() || known->second.size() < enough_ ? nullptr : &known->second;
  }
  static Duration mean_of(const std::vector<Duration>& lengths) {
    Duration sum{};
    for (const Duration length : lengths) sum += length;
    return sum / static_cast<std::int64_t>(lengths.size());
  }

  std::size_t enough_;
  std::map<std::int32_t, std::vector<Duration>> lengths_;  // by ordinal
};

}  // namespace weft::model
