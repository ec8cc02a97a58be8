// The map from addresses to what the driver knows about them: one entry per allocation, registration or mapping.
// Used by the memory API, pointer attributes and copies, on any host thread and by the engine.
// Holds no memory itself; its lock is a leaf: nothing is called while it is held.
#ifndef SIMGPU_DRIVER_MEMORY_RANGES_H
#define SIMGPU_DRIVER_MEMORY_RANGES_H

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace simgpu {

enum class RangeKind : std::uint8_t { device, managed, pooled, pinned, registered, mapped, reserved };

struct Range {
  std::uintptr_t base = 0;
  std::size_t size = 0;
  RangeKind kind = RangeKind::device;
  int device = 0;
  CUcontext context = nullptr;
  CUmemoryPool pool = nullptr;
  unsigned flags = 0;              // as given to cuMemHostAlloc, cuMemHostRegister or cuMemAllocManaged
  std::uint64_t block = 0;         // of the physical memory behind a mapping
  int access = 0;                  // CUmemAccess_flags of a mapping
  bool synchronize = false;        // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
  std::uint64_t id = 0;            // given by insert()

  [[nodiscard]] std::uintptr_t end() const { return base + size; }
  [[nodiscard]] bool on_host() const { return kind == RangeKind::pinned || kind == RangeKind::registered; }
};

class Ranges {
 public:
  // False if it overlaps a range that is there.
  bool insert(Range range);
  // Only the exact base counts, as for cuMemFree.
  std::optional<Range> erase(std::uintptr_t base);
  // The range that holds the address.
  [[nodiscard]] std::optional<Range> find(std::uintptr_t address) const;
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
};

// Everything that can be accessed, and the address ranges set aside by cuMemAddressReserve.
Ranges& accessible_ranges();
Ranges& reserved_ranges();

}  // namespace simgpu

#endif
