// A queue in a circular array: no allocation once it has grown to the size it needs, never longer than its limit.
//
// Used by the detector's parts for what is outstanding; one thread. A full queue drops its oldest entry and counts it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft {

template <typename T>
class RingQueue {
 public:
  // `limit` is a power of two.
  explicit RingQueue(std::size_t limit) : limit_(limit) {}

  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == limit_; }
  std::size_t size() const { return size_; }
  std::uint64_t dropped() const { return dropped_; }

  T& operator[](std::size_t i) { return items_[(first_ + i) & mask_]; }
  const T& operator[](std::size_t i) const { return items_[(first_ + i) & mask_]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  void push(T item) {
    if (full()) {
      pop();
      ++dropped_;
    } else if (items_.empty() || size_ == mask_ + 1) {
      grow();
    }
    ++size_;
    back() = std::move(item);
  }

  void pop() {
    first_ = (first_ + 1) & mask_;
    --size_;
  }

  void pop_back() { --size_; }

  void clear() { first_ = size_ = 0; }

  // Has room for so many from now on, or for as many as there can be.
  void reserve(std::size_t wanted) {
    while (items_.size() < std::min(wanted, limit_)) grow();
  }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 16 : 2 * items_.size());
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    items_ = std::move(larger);
    mask_ = items_.size() - 1;
    first_ = 0;
  }

  std::size_t limit_;
  std::vector<T> items_;
  std::size_t mask_ = 0;  // for places in it
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace weft
