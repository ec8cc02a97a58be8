// Of any number of values so many that stand for all: each has the same chance to be among them.
//
// Used by the accounts of a device and by `weft summary`. Pure. The same values in the same order give the same sample,
// on every machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/median.h"

namespace weft {

template <class Value>
class Sample {
 public:
  explicit Sample(std::size_t most) : most_(most) {}

  // Has room for all from now on.
  void reserve() { values_.reserve(most_); }

  void add(Value value) {
    ++seen_;
    if (values_.size() < most_) return values_.push_back(value);
    // One in `seen_` for each place. Not every n-th value: bubbles come in the rhythm of the iterations.
    const std::uint64_t place = random() % seen_;
    if (place < most_) values_[place] = value;
  }
  // Each value that the other one has kept counts once, also where it stands for several.
  void add(const Sample& other) {
    for (const Value value : other.values_) add(value);
  }
  std::uint64_t seen() const { return seen_; }
  Value median() const { return weft::median(values_); }
  // So large a share of the values is smaller. Some value has been added; `share` is below 1.
  Value quantile(double share) const {
    std::vector<Value> values = values_;
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
    std::nth_element(values.begin(), place, values.end());
    return *place;
  }

 private:
  // SplitMix64.
  std::uint64_t random() {
    std::uint64_t bits = state_ += 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  }

  std::size_t most_;
  std::uint64_t seen_ = 0;
  std::vector<Value> values_;
  std::uint64_t state_ = 0;
};

}  // namespace weft
