// The memory rescue: every hook of a call that takes device memory makes its call through here. It counts the memory
// that was taken, and makes a call that failed because of us once more.
//
// Any thread of the main job, and NCCL's. No lock, no allocation, no log; the core waits for a bounded time.
// memory_reserved() and times_given_back are the core's to use, on any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/activate.h"
#include "shim/caller.h"
#include "shim/main_job/devices.h"
#include "shim/process.h"
#include "shim/routing/vendor.h"

namespace weft {

// Of a call that does not say how much it takes, such as the loading of code.
inline constexpr std::size_t unknown_bytes = std::size_t{16} << 20;

// The core looks at the device's free memory when what it allowed to be taken has been. Frees are not subtracted: it
// looks too often rather than too late.
void note_taken(int device, std::size_t bytes) noexcept;

// See core_interface.h. Memory that came back between an allocation's failure and the rescue, at the hand of another
// thread, is not there for the core to give any more.
extern constinit std::atomic<std::uint32_t> times_given_back;
void memory_reserved(int device);

// An allocation that failed because of us must not have failed: what the fill job holds is given back, then once more.
// Also for NCCL's allocations; not for those of our own threads. `where` tells the device that is short of memory.
// `bytes`: that the call takes; 0: nothing, or next to nothing, and then a call that succeeds costs nothing.
template <class Where, class Call>
CUresult with_rescue(Where where, std::size_t bytes, Call call) noexcept {
  std::uint32_t before = times_given_back.load(std::memory_order_acquire);
  const auto came_back = [&] {  // since this was asked last
    const std::uint32_t last = before;
    before = times_given_back.load(std::memory_order_acquire);
    return before != last;
  };
  CUresult result = call();
  if (is_wefts_call()) return result;
  // Also where Weft has turned itself off since.
  if (result == CUDA_ERROR_OUT_OF_MEMORY && came_back()) result = call();
  const bool asked_for = result == CUDA_ERROR_OUT_OF_MEMORY || (result == CUDA_SUCCESS && bytes != 0);
  if (!asked_for || level() != Level::observe) return result;
  const int device = where();
  if (device < 0 || device >= most_devices) return result;
  if (result == CUDA_SUCCESS) return note_taken(device, bytes), result;
  bool released = false;
  {
    CoreCall inside;
    released = core()->rescue_memory(device);
  }
  return released || came_back() ? call() : result;
}

}  // namespace weft
