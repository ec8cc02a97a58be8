// A pool for stream-ordered allocation: memory reserved from the device in large chunks, handed out in blocks.
// Called by cuMemAllocAsync and its family on host threads; the engine says when a free has happened in stream order.
// The lock is a leaf: the engine may hold its own while it calls in, nothing here calls the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace simgpu {

struct Device;

class Pool {
 public:
  struct Usage {
    std::uint64_t reserved = 0;
    std::uint64_t reserved_high = 0;
    std::uint64_t used = 0;
    std::uint64_t used_high = 0;
  };
  // Hints that the attributes keep; blocks whose free has happened are always used again.
  struct Reuse {
    int follow_event_dependencies = 1;
    int opportunistic = 1;
    int internal_dependencies = 1;
  };

  // A free that has been asked for but has not happened yet in stream order.
  struct PendingFree {
    std::uintptr_t block = 0;
    std::size_t size = 0;
    std::uint64_t number = 0;
  };

  // limit: the most bytes it may reserve, 0 for as much as the device has.
  Pool(Device& device, std::size_t limit) : device_(device), limit_(limit) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // A block that is free, or that was freed earlier on the same stream; nullptr if the pool would have to grow.
  void* take(std::size_t size, std::uint64_t stream);
  // Reserves room for a block of that size; false when the limit or the device is exhausted.
  bool grow(std::size_t size);
  // The block goes back; until finish_free() only the same stream may have it.
  PendingFree begin_free(void* block, std::uint64_t stream);
  void finish_free(const PendingFree& pending);
  // Gives whole free chunks back to the device until at most `keep` bytes are reserved.
  void trim(std::size_t keep);
  // From now on the chunks go back to the device as soon as they are free, whatever the threshold.
  void doom();

  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] std::size_t limit() const { return limit_; }
  [[nodiscard]] Usage usage() const;
  void reset_high_marks(bool reserved, bool used);
  [[nodiscard]] std::uint64_t release_threshold() const;
  void set_release_threshold(std::uint64_t bytes);
  [[nodiscard]] Reuse reuse() const;
  void set_reuse(Reuse reuse);

 private:
  struct Block {
    std::size_t size = 0;
    std::uintptr_t chunk = 0;
    bool free = true;
    std::uint64_t pending = 0;  // the number of a free that has not happened yet
    std::uint64_t stream = 0;   // on which it will happen
  };
  using Blocks = std::map<std::uintptr_t, Block>;

  Blocks::iterator best_fit(std::size_t size, std::uint64_t stream);
  void merge(Blocks::iterator block);
  void trim_locked(std::size_t keep);

  Device& device_;
  const std::size_t limit_;
  mutable std::mutex mutex_;
  Blocks blocks_;
  std::map<std::uintptr_t, std::size_t> chunks_;
  Usage usage_;
  Reuse reuse_;
  std::uint64_t release_threshold_ = 0;
  std::uint64_t next_number_ = 1;
  bool doomed_ = false;
};

}  // namespace simgpu
