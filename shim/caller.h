// Whose call a hook is in: the main job's, NCCL's or Weft's own. Every hook that notes something asks here first.
//
// Any thread; a few nanoseconds, no call. NCCL enters hooks from inside its hooked functions, which the depth tells,
// and from its own threads and its own static CUDA runtime, which only the return address tells.
#pragma once

#include "shim/process.h"
#include "shim/routing/libraries.h"

namespace weft {

// The core's own: from inside one of its services, or on one of its threads.
inline bool is_wefts_call() noexcept {
  return thread_state.inside_core != 0;
}

// Not from inside a hooked function of NCCL, nor the core's. All that a hook of NCCL has to know.
inline bool is_outer_call() noexcept {
  return (thread_state.inside_nccl | thread_state.inside_core) == 0;
}

// Nor from a thread of NCCL: for hooks of CUDA. Inlined into the hook itself, because it reads the hook's own return
// address (see shim/CMakeLists.txt).
[[gnu::always_inline]] inline bool is_main_jobs_call() noexcept {
  return is_outer_call() && !in_nccl(__builtin_return_address(0));
}

// The main job's call, and there is a core that wants to hear of it.
[[gnu::always_inline]] inline bool observing() noexcept {
  return level() == Level::observe && is_main_jobs_call();
}

// The main job's call, and its streams are learned, with a core or without.
[[gnu::always_inline]] inline bool learning() noexcept {
  return level() != Level::pass && is_main_jobs_call();
}

}  // namespace weft
