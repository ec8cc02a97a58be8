// The memory rescue: what every hook of a call that takes device memory goes through.
//
// Any thread of the main job, and NCCL's. No lock, no allocation, no log; the core waits for a bounded time.
#pragma once

#include <cstddef>

#include "shim/activate.h"
#include "shim/caller.h"
#include "shim/main_job/devices.h"
#include "shim/process.h"

namespace weft {

// Of a call that does not say how much it takes, such as the loading of code.
inline constexpr std::size_t unknown_bytes = std::size_t{16} << 20;

// The core looks at the device's free memory when what it allowed to be taken has been. Frees are not subtracted: it
// looks too often rather than too late.
void note_taken(int device, std::size_t bytes) noexcept;

// An allocation that failed because of us must not have failed: what the fill job holds is given back, then once more.
// Also for NCCL's allocations; not for those of our own threads. `where` tells the device that is short of memory.
// `bytes`: that the call takes; 0: nothing, or next to nothing, and then a call that succeeds costs nothing.
template <class Where, class Call>
CUresult with_rescue(Where where, std::size_t bytes, Call call) noexcept {
  const CUresult result = call();
  const bool asked_for = result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY;
  if (!asked_for || level() != Level::observe || is_wefts_call()) return result;
  if (result == CUDA_SUCCESS && bytes == 0) return result;
  const int device = where();
  if (device < 0 || device >= most_devices) return result;
  if (result == CUDA_SUCCESS) return note_taken(device, bytes), result;
  bool released = false;
  {
    CoreCall inside;
    released = core()->rescue_memory(device);
  }
  return released ? call() : result;
}

}  // namespace weft
