// The first steps of every API function: is the driver usable, which context is current, what does a handle mean.
// Included by all files that define cu* functions, which are compiled with __CUDA_API_VERSION_INTERNAL so that each ABI
// is named explicitly (interposition by name and version is what the simulator exists to test).
#pragma once

#include <cuda.h>

#include "engine/engine.h"
#include "engine/slab.h"

#define SIMGPU_API extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI

// An entry point and its twin for per-thread default streams, which differ in what a null stream means:
//   SIMGPU_PAIR(cuEventRecord, _ptsz, (CUevent event, CUstream stream), record(event, stream, meaning))
#define SIMGPU_PAIR(name, suffix, parameters, ...)                                 \
  SIMGPU_API name parameters {                                                     \
    [[maybe_unused]] constexpr auto meaning = ::simgpu::DefaultStream::legacy;     \
    return __VA_ARGS__;                                                            \
  }                                                                                \
  SIMGPU_API name##suffix parameters {                                             \
    [[maybe_unused]] constexpr auto meaning = ::simgpu::DefaultStream::per_thread; \
    return __VA_ARGS__;                                                            \
  }

namespace simgpu {

// CUDA_SUCCESS, or why no call can work: not initialised, a forked child, the process is exiting. A few nanoseconds.
CUresult ready();

// ready(), a current context that is alive, and no sticky error.
CUresult current_context(Context*& context);
CUresult current_device(Device*& device);

// The context of a handle; the current one for null.
CUresult find_context(CUcontext handle, Context*& context);

// The stream of a handle in the meaning of the plain entry points (null: legacy) or of the _ptsz ones (null: per
// thread). Includes current_context() for the default streams and the sticky error of the stream's context for the
// others.
enum class DefaultStream { legacy, per_thread };
CUresult find_stream(CUstream handle, DefaultStream meaning, Stream*& stream);
CUresult find_event(CUevent handle, Event*& event);
CUresult find_device(CUdevice handle, Device*& device);
// The green context of a handle; see green_contexts.cpp.
CUresult find_green_context(CUgreenCtx handle, Context*& context);

inline CUstream handle_of(Stream& stream) {
  return reinterpret_cast<CUstream>(&stream);
}
inline CUevent handle_of(Event& event) {
  return reinterpret_cast<CUevent>(&event);
}
inline CUcontext handle_of(const Context& context) {
  return reinterpret_cast<CUcontext>(const_cast<Context*>(&context));
}

// Null where it is none.
inline CUgreenCtx green_handle_of(Context& context) {
  return context.green_of == nullptr ? nullptr : reinterpret_cast<CUgreenCtx>(&context);
}

// cuInit's work, once per process.
CUresult initialize();

}  // namespace simgpu
