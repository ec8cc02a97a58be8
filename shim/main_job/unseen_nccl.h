// Kernels of an NCCL whose functions do not come to the hooks: one that is linked statically, renamed (torchcomms'
// ncclx), or a second copy beside the one that is hooked. They are known by the names under which they are looked up.
//
// Hooks that look kernels up, seldom, and hooks of launches; any thread of the main job. A table of fixed size without
// a lock. Nobody sees what such a kernel waits for: its launch is announced as a group with `captured` set, with
// markers on either side, so that its time is uncertain.
#pragma once

#include <atomic>

#include "detector/event.h"
#include "shim/main_job/graph_launches.h"
#include "shim/main_job/quiet_gate.h"
#include "shim/routing/vendor.h"

namespace weft {

// The file that looked such a kernel up first, as the loader knows it; nullptr: none has. Any thread.
const char* unseen_nccl() noexcept;
[[gnu::visibility("hidden")]] extern std::atomic<bool> nccl_is_unseen;

// The main job was given `kernel`, or the function of one, which has this name. `caller`: the code that asked.
[[gnu::cold]] void note_kernel(const void* kernel, const char* name, const void* caller) noexcept;
// And the function of a kernel.
[[gnu::cold]] void note_function(const void* kernel, const void* function) noexcept;

[[gnu::noinline, gnu::cold]] bool is_kernel_of_unseen_nccl(const void* function) noexcept;
// One load where there is no such NCCL.
[[gnu::always_inline]] inline bool is_unseen_nccls(CUfunction function) noexcept {
  return __builtin_expect(nccl_is_unseen.load(std::memory_order_relaxed), 0) && is_kernel_of_unseen_nccl(function);
}

GraphLaunch unseen_launch_begins(CUstream stream, bool per_thread) noexcept;

// Around the real call, which is the only one.
template <class Call>
[[gnu::noinline, gnu::cold]] CUresult launch_unseen_nccls(CUstream stream, bool per_thread, Call call) noexcept {
  const GatePass pass(true);
  const GraphLaunch launch = unseen_launch_begins(stream, per_thread);
  const CUresult result = call();
  mark_end(launch, result == CUDA_SUCCESS);
  return result;
}

}  // namespace weft
