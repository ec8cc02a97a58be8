// The state of one call of a spin kernel's step function: its copying budget, what it found wrong, whom it has to wake.
// Lives on the stack of the engine's thread.
#ifndef SIMGPU_NCCL_PASS_H
#define SIMGPU_NCCL_PASS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace simgpu::nccl {

// CLOCK_MONOTONIC in nanoseconds, as the engine gives it.
using Instant = int64_t;

enum class Fault { none, size_mismatch, collective_mismatch, no_window };

struct Pass {
  size_t budget = 0;      // bytes that may still be copied before the engine gets its thread back
  bool advanced = false;  // something has changed
  Fault fault = Fault::none;
  int fault_peer = -1;
  std::vector<bool>* touched;  // by rank: what it may wait for has changed

  void touch(int rank) {
    (*touched)[static_cast<size_t>(rank)] = true;
    advanced = true;
  }
  void fail(Fault what, int peer) {
    fault = what;
    fault_peer = peer;
  }
};

// Copies into and out of a ring of a power of two bytes at an absolute offset.
inline void ring_put(char* ring, uint64_t size, uint64_t offset, const void* from, size_t bytes) {
  const size_t first = std::min<size_t>(bytes, size - offset % size);
  if (first > 0) std::memcpy(ring + offset % size, from, first);
  if (bytes > first) std::memcpy(ring, static_cast<const char*>(from) + first, bytes - first);
}

inline void ring_get(const char* ring, uint64_t size, uint64_t offset, void* to, size_t bytes) {
  const size_t first = std::min<size_t>(bytes, size - offset % size);
  if (first > 0) std::memcpy(to, ring + offset % size, first);
  if (bytes > first) std::memcpy(static_cast<char*>(to) + first, ring, bytes - first);
}

}  // namespace simgpu::nccl

#endif
