// The ring between the thread that steps a session and the one that writes its recording: one producer, one consumer,
// fixed size, no lock.
//
// A full ring refuses: the producer never waits. All memory is allocated and touched when the ring is made.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class ByteRing {
 public:
  explicit ByteRing(std::size_t capacity_power_of_two)
      : bytes_(capacity_power_of_two), mask_(capacity_power_of_two - 1) {}

  // Producer. All of the entry, or nothing of it: false.
  bool push(std::string_view entry) noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail + entry.size() - known_head_ > bytes_.size()) {
      known_head_ = head_.load(std::memory_order_acquire);
      if (tail + entry.size() - known_head_ > bytes_.size()) return false;
    }
    const std::size_t place = tail & mask_;
    const std::size_t first = std::min(entry.size(), bytes_.size() - place);
    std::memcpy(bytes_.data() + place, entry.data(), first);
    std::memcpy(bytes_.data(), entry.data() + first, entry.size() - first);
    tail_.store(tail + entry.size(), std::memory_order_release);
    return true;
  }

  // Producer: the bytes that wait, or more.
  std::size_t waiting() noexcept {
    known_head_ = head_.load(std::memory_order_acquire);
    return tail_.load(std::memory_order_relaxed) - known_head_;
  }

  // Consumer. Appends whole entries: all that have been pushed by now.
  void drain(std::string& out) {
    const std::uint64_t tail = tail_.load(std::memory_order_acquire), head = head_.load(std::memory_order_relaxed);
    const std::size_t count = tail - head, place = head & mask_;
    const std::size_t first = std::min(count, bytes_.size() - place);
    out.append(bytes_.data() + place, first).append(bytes_.data(), count - first);
    head_.store(tail, std::memory_order_release);
  }

 private:
  std::vector<char> bytes_;
  const std::uint64_t mask_;
  alignas(64) std::atomic<std::uint64_t> head_{0};  // next to be taken; written by the consumer
  alignas(64) std::atomic<std::uint64_t> tail_{0};  // next to be pushed; written by the producer
  std::uint64_t known_head_ = 0;                    // the producer's copy, to leave the consumer's line alone
};

}  // namespace weft
