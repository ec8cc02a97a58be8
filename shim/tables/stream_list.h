// StreamList: some of the main job's streams, in a list of fixed size without a lock.
//
// Any thread, in hooks. A place that a stream has left is taken again; visits go only as far as places were ever taken.
// Zeroed memory is an empty list. The caller deals with streams that do not fit.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft {

struct Stream;

template <std::uint32_t slots>
struct StreamList {
  // False: full.
  bool add(Stream& stream) noexcept {
    for (std::uint32_t index = 0; index < slots; ++index) {
      Stream* there = places[index].load(std::memory_order_acquire);
      if (there != nullptr && there != &stream) continue;
      if (there == &stream || places[index].compare_exchange_strong(there, &stream, std::memory_order_acq_rel) ||
          there == &stream) {
        raise_end(index + 1);
        return true;
      }
    }
    return false;
  }

  void remove(Stream& stream) noexcept {
    const std::uint32_t taken = end.load(std::memory_order_acquire);
    for (std::uint32_t index = 0; index < taken; ++index) {
      Stream* there = &stream;
      places[index].compare_exchange_strong(there, nullptr, std::memory_order_acq_rel);
    }
  }

  // Calls visit(Stream&) -> bool for each until one says true.
  template <class Visit>
  void visit_until(Visit visit) noexcept {
    const std::uint32_t taken = end.load(std::memory_order_acquire);
    for (std::uint32_t index = 0; index < taken; ++index) {
      Stream* stream = places[index].load(std::memory_order_acquire);
      if (stream != nullptr && visit(*stream)) return;
    }
  }

  void raise_end(std::uint32_t wanted) noexcept {
    std::uint32_t current = end.load(std::memory_order_relaxed);
    while (current < wanted && !end.compare_exchange_weak(current, wanted, std::memory_order_acq_rel)) continue;
  }

  std::atomic<std::uint32_t> end;  // places from here on have never been taken
  std::atomic<Stream*> places[slots];
};

}  // namespace weft
