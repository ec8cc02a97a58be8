// The streaming multiprocessors of one device: what is free on each, where blocks can be placed.
// Used by the scheduler under the engine's lock. Pure bookkeeping: no time, no kernels.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "simgpu/constants.h"

namespace simgpu {

struct BlockNeeds {
  uint32_t threads = 0;    // whole warps
  uint32_t registers = 0;  // as the hardware allocates them
  uint32_t shared_bytes = 0;

  static BlockNeeds of(uint32_t threads, uint32_t registers_per_thread, uint32_t shared_bytes);
};

// Blocks of one kernel that can be resident on an empty multiprocessor at once; 0: it cannot run at all.
uint32_t resident_blocks(const BlockNeeds& needs);

// Consecutive multiprocessors: all of a device, or those of a green context.
struct SmShare {
  unsigned first = 0;
  unsigned count = std::numeric_limits<unsigned>::max();
  bool operator==(const SmShare&) const = default;
};

class Multiprocessors {
 public:
  using Counts = std::vector<uint8_t>;  // blocks on each multiprocessor

  explicit Multiprocessors(unsigned count);
  unsigned count() const { return static_cast<unsigned>(all_.size()); }

  // How many blocks fit now into a share.
  uint64_t room(const BlockNeeds& needs, const SmShare& share = {}) const;
  // Places that many blocks (they must fit), the emptiest multiprocessors first, and says where.
  Counts place(const BlockNeeds& needs, uint64_t blocks, const SmShare& share = {});
  void release(const BlockNeeds& needs, const Counts& counts);
  uint32_t resident_threads(unsigned index) const {
    return constants::threads_per_multiprocessor - all_[index].threads;
  }

 private:
  struct Free {
    uint32_t threads = constants::threads_per_multiprocessor;
    uint32_t registers = constants::registers_per_multiprocessor;
    uint32_t shared_bytes = constants::shared_per_multiprocessor;
    uint32_t blocks = constants::blocks_per_multiprocessor;
  };
  static uint32_t fit(const Free& free, const BlockNeeds& needs);
  static void take(Free& free, const BlockNeeds& needs, uint32_t blocks);
  unsigned end_of(const SmShare& share) const;
  std::vector<Free> all_;
};

}  // namespace simgpu
