// The seam to stream capture and to modules, which live beside the engine in sim/driver. Defined there, called by
// submit() and by the API files. All with the engine's lock held unless said otherwise; none may call submit().
#pragma once

#include <cuda.h>

#include "engine/command.h"
#include "engine/objects.h"
#include "simgpu/constants.h"

namespace simgpu {

// Called for a stream whose `capture` is set, and for a wait on an event whose `captured` is set (which makes the
// stream join the capture, or is an error). Turns the command into a node, or ends the capture as invalid.
CUresult capture_command(Stream& stream, Command&& command);

// Without the lock. Called by every API function that is unsafe during capture (synchronisation, queries, allocation,
// ...) before it acts: CUDA_SUCCESS, or the error to return after the captures concerned have been invalidated.
CUresult capture_forbids_unsafe_call();

// The same for synchronising or querying one stream or event.
CUresult capture_forbids_use(Stream& stream);
CUresult capture_forbids_use(Event& event);

// For work on a legacy stream, which would have to wait for the blocking streams that are being captured.
CUresult capture_forbids_legacy(const Stream& stream);

// For an event of a whole context, of which no stream may be in a capture, whoever captures and in whatever mode; for a
// host that waits for one, which waits for its green contexts as well; and for an event that is a part of a capture.
CUresult capture_forbids_context(const Context& context);
CUresult capture_forbids_synchronize(const Context& context);
CUresult capture_forbids_event(Event& event);

// Without the lock. A CUfunction, or a CUkernel cast to one, as cuLaunchKernel takes it. Loads it if it is not loaded
// yet, with the stall that goes with it. CUDA_ERROR_INVALID_HANDLE for anything else.
struct LaunchableFunction {
  const KernelImage* image = nullptr;
  uint32_t max_dynamic_shared_bytes = constants::shared_per_block;
  uint32_t max_threads_per_block = 1024;
};
CUresult launchable_function(CUfunction handle, Device& device, LaunchableFunction& out);

// Without the lock. Called by destroy_context for modules, memory and pools of the context.
void release_context_resources(Context& context);

}  // namespace simgpu
