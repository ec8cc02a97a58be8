// The map from addresses to what the driver knows about them: one entry per allocation, registration or mapping.
// Used by the memory API, pointer attributes and copies, on any host thread and by the engine.
// Holds no memory itself; its lock is a leaf: nothing is called while it is held.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace simgpu {

class Physical;

enum class RangeKind : std::uint8_t { device, managed, pooled, pinned, registered, mapped, reserved };

struct Range {
  std::uintptr_t base = 0;
  std::size_t size = 0;
  RangeKind kind = RangeKind::device;
  int device = 0;
  CUcontext context = nullptr;
  CUmemoryPool pool = nullptr;
  unsigned flags = 0;                        // as given to cuMemHostAlloc, cuMemHostRegister or cuMemAllocManaged
  std::size_t charged = 0;                   // bytes of device memory that go back with it
  std::shared_ptr<const Physical> physical;  // behind a mapping
  CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  bool synchronize = false;  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
  std::uint64_t id = 0;      // given by insert()

  [[nodiscard]] std::uintptr_t end() const { return base + size; }
  [[nodiscard]] bool on_host() const { return kind == RangeKind::pinned || kind == RangeKind::registered; }
};

class Ranges {
 public:
  // False if it overlaps a range that is there.
  bool insert(Range range);
  // Takes out the range that starts exactly there, if wanted(range) says so.
  template <class Wanted>
  std::optional<Range> erase(std::uintptr_t base, Wanted wanted) {
    const std::lock_guard lock(mutex_);
    const auto found = by_base_.find(base);
    if (found == by_base_.end() || !wanted(found->second)) return std::nullopt;
    std::optional<Range> taken = std::move(by_base_.extract(found).mapped());
    removals_.fetch_add(1, std::memory_order_release);
    return taken;
  }
  // The range that holds the address.
  [[nodiscard]] std::optional<Range> find(std::uintptr_t address) const;
  // Counts erase(): what somebody remembers about a range holds while this stays the same.
  [[nodiscard]] std::uint64_t removals() const { return removals_.load(std::memory_order_acquire); }
  // Calls change(Range&) on the range that holds the address; false if there is none.
  template <class Change>
  bool update(std::uintptr_t address, Change change) {
    const std::lock_guard lock(mutex_);
    Range* const range = locate(address);
    if (range != nullptr) change(*range);
    return range != nullptr;
  }

 private:
  [[nodiscard]] Range* locate(std::uintptr_t address) const;

  mutable std::mutex mutex_;
  mutable std::map<std::uintptr_t, Range> by_base_;
  std::uint64_t next_id_ = 1;
  std::atomic<std::uint64_t> removals_{0};
};

// Everything that can be accessed, and the address ranges set aside by cuMemAddressReserve.
Ranges& accessible_ranges();
Ranges& reserved_ranges();

}  // namespace simgpu
