// A list of bounded length inside a record: it is copied with the record and needs no memory of its own.
//
// Any thread. An item that does not fit is refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft {

template <class Item, std::size_t most>
class List {
 public:
  // False: it is full.
  bool add(const Item& item) {
    if (size_ == most) return false;
    items_[size_++] = item;
    return true;
  }
  std::size_t size() const { return size_; }
  bool full() const { return size_ == most; }
  Item* begin() { return items_.data(); }
  Item* end() { return items_.data() + size_; }
  const Item* begin() const { return items_.data(); }
  const Item* end() const { return items_.data() + size_; }

 private:
  std::array<Item, most> items_{};
  std::uint32_t size_ = 0;
};

}  // namespace weft
