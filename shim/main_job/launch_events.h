// Events that a launch records itself (CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, ..._PROGRAMMATIC_EVENT), as
// TransformerEngine's do: each stands for the place behind the launch, as if it had been recorded there.
//
// Hooks of launches with attributes, any thread of the main job. A launch without such an attribute costs a look at
// each that it has. The event may happen before the kernel ends, never before what the kernel waits for.
#pragma once

#include "shim/main_job/launches.h"
#include "shim/main_job/unseen_nccl.h"
#include "shim/routing/vendor.h"

namespace weft {

// Of one attribute; nullptr: it records none.
[[gnu::always_inline]] inline CUevent event_of(const CUlaunchAttribute& attribute) noexcept {
  if (attribute.id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) return attribute.value.launchCompletionEvent.event;
  return attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ? attribute.value.programmaticEvent.event : nullptr;
}

[[gnu::always_inline]] inline bool records_event(const CUlaunchConfig& config) noexcept {
  for (unsigned int i = 0; config.attrs != nullptr && i < config.numAttrs; ++i) {
    if (event_of(config.attrs[i]) != nullptr) return true;
  }
  return false;
}

// Such a launch has been made.
void launch_recorded(const CUlaunchConfig& config, bool per_thread) noexcept;

// Around the real call, which is the only one, of such a launch or of a kernel of an NCCL that is not hooked.
template <class Call>
[[gnu::noinline, gnu::cold]] CUresult launch_and_record(const CUlaunchConfig& config, CUfunction function,
                                                        bool per_thread, Call call) noexcept {
  const bool is_unseen = is_unseen_nccls(function);
  if (!is_unseen) count_launch(config.hStream, per_thread);
  const CUresult result = is_unseen ? launch_unseen_nccls(config.hStream, per_thread, call) : call();
  if (result == CUDA_SUCCESS) launch_recorded(config, per_thread);
  return result;
}

}  // namespace weft
