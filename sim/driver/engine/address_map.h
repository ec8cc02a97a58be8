// Which addresses are device memory and which are pinned host memory. Written by the memory files, read by copies,
// memory operations and pointer queries. Any thread; a lookup that hits the same range again costs a few nanoseconds.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace simgpu {

struct Context;
struct Device;

enum class MemoryKind : uint8_t { device, pinned, managed };

struct MemoryRange {
  std::uintptr_t base = 0;
  std::size_t size = 0;
  MemoryKind kind = MemoryKind::device;
  Context* context = nullptr;
  Device* device = nullptr;
  uint64_t id = 0;        // CU_POINTER_ATTRIBUTE_BUFFER_ID; given by add_range when 0
  unsigned flags = 0;     // of cuMemHostAlloc and cuMemHostRegister
  void* owner = nullptr;  // for the memory files
};

// False when it overlaps a known range.
bool add_range(MemoryRange range);
// The range that starts exactly there, taken out; nothing when there is none.
std::optional<MemoryRange> remove_range(std::uintptr_t base);
// The range that contains the address.
std::optional<MemoryRange> find_range(std::uintptr_t address);
// Whether [address, address + size) lies in one known range; the fast question of the submission path.
bool is_mapped(std::uintptr_t address, std::size_t size);

}  // namespace simgpu
