// The core wants to see who issues some groups (WEFT_CALL_SITES): the hook tells it behind the call of NCCL.
//
// Hooks, any thread. A group costs one load while nothing is wanted.
#pragma once

#include <atomic>

#include "detector/event.h"
#include "shim/main_job/devices.h"

namespace weft {

extern std::atomic<GroupId> calls_wanted_from[most_devices];  // 0: none

inline bool is_call_wanted(int device, GroupId group) noexcept {
  const GroupId from = calls_wanted_from[device].load(std::memory_order_relaxed);
  return from != 0 && group >= from;
}

// The call that issued it has returned from NCCL.
void show_call(int device, GroupId group) noexcept;

// For the core, see ShimServices.
void want_calls(int device, GroupId from) noexcept;

}  // namespace weft
