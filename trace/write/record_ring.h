// The ring between the dispatcher thread and the writer thread: one producer, one consumer, fixed size, no lock.
//
// A full ring refuses: the producer never waits. All memory is allocated and touched when the ring is made.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/record.h"

namespace weft {

class RecordRing {
 public:
  explicit RecordRing(std::size_t capacity_power_of_two)
      : slots_(capacity_power_of_two), mask_(capacity_power_of_two - 1) {}

  // Producer. False: full.
  bool push(const Record& record) noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - known_head_ > mask_) {
      known_head_ = head_.load(std::memory_order_acquire);
      if (tail - known_head_ > mask_) return false;
    }
    slots_[tail & mask_] = record;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  // Producer: the records that wait, or more: the consumer may have taken some meanwhile.
  std::size_t waiting() noexcept {
    known_head_ = head_.load(std::memory_order_acquire);
    return tail_.load(std::memory_order_relaxed) - known_head_;
  }

  // Consumer. Calls take(record) for what has been pushed by now, oldest first, and gives each slot back afterwards.
  template <class Take>
  void drain(Take take) {
    const std::uint64_t tail = tail_.load(std::memory_order_acquire);
    for (std::uint64_t head = head_.load(std::memory_order_relaxed); head != tail; ++head) {
      take(slots_[head & mask_]);
      head_.store(head + 1, std::memory_order_release);
    }
  }

 private:
  std::vector<Record> slots_;
  const std::uint64_t mask_;
  alignas(64) std::atomic<std::uint64_t> head_{0};  // next to be taken; written by the consumer
  alignas(64) std::atomic<std::uint64_t> tail_{0};  // next to be pushed; written by the producer
  std::uint64_t known_head_ = 0;                    // the producer's copy, to leave the consumer's line alone
};

}  // namespace weft
