// How much memory one simulated device has left. Charged by every kind of allocation on the device (plain, pools, VMM).
// Any host thread; lock-free.
#pragma once

#include <atomic>
#include <cstddef>

namespace simgpu {

class Capacity {
 public:
  explicit Capacity(std::size_t total) : total_(total) {}

  // False if that many bytes are not left.
  bool take(std::size_t bytes) {
    std::size_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > total_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void give_back(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  [[nodiscard]] std::size_t total() const { return total_; }
  [[nodiscard]] std::size_t free() const { return total_ - used_.load(std::memory_order_relaxed); }

 private:
  const std::size_t total_;
  std::atomic<std::size_t> used_ = 0;
};

}  // namespace simgpu
