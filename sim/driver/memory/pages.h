// Pages behind simulated memory: host memory that the kernel commits only when it is touched, so a capacity of many GiB
// costs nothing. Called by the memory API on host threads. Returned memory stays unreadable for a while, so that a
// kernel which still uses it faults instead of reading another allocation.
#pragma once

#include <cstddef>

namespace simgpu {

inline constexpr std::size_t page_size = 4096;

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Zeroed, readable and writable; nullptr if the address space has no room. The alignment is a power of two.
void* map_pages(std::size_t size, std::size_t alignment = page_size);
// As above, but neither readable nor writable; `wanted` is a hint.
void* map_inaccessible(std::size_t size, std::size_t alignment, void* wanted);
void release_pages(void* base, std::size_t size);

}  // namespace simgpu
