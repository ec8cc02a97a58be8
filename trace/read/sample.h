// Of any number of values so many that stand for all: each has the same chance to be among them.
//
// Used by `weft summary` only. The same values in the same order give the same sample.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace weft {

template <class Value>
class Sample {
 public:
  explicit Sample(std::size_t most) : most_(most) {}

  void add(Value value) {
    ++seen_;
    if (values_.size() < most_) return values_.push_back(value);
    // One in `seen_` for each place. Not every n-th value: bubbles come in the rhythm of the iterations.
    const std::uint64_t place = std::uniform_int_distribution<std::uint64_t>(0, seen_ - 1)(random_);
    if (place < most_) values_[place] = value;
  }
  std::uint64_t seen() const { return seen_; }
  // The upper one of two; Value{} when there is none.
  Value median() const {
    if (values_.empty()) return Value{};
    std::vector<Value> values = values_;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

 private:
  std::size_t most_;
  std::uint64_t seen_ = 0;
  std::vector<Value> values_;
  std::minstd_rand random_;
};

}  // namespace weft
