// Error names and texts, the translation of driver errors, and the answer of every function that is not simulated.
// Called on the application's thread; must work without a driver.
#include <cstdio>
#include <cstdlib>

#include "context.h"

namespace {

struct Description {
  cudaError_t error;
  const char* name;
  const char* text;
};

constexpr Description descriptions[] = {
#define SIMGPU_ERROR(name, text) {name, #name, text},
#include "errors.def"
#undef SIMGPU_ERROR
};

const Description* find(cudaError_t error) {
  for (const Description& description : descriptions) {
    if (description.error == error) {
      return &description;
    }
  }
  return nullptr;
}

}  // namespace

namespace simgpu {

// The two enumerations have the same numbers wherever both have a value.
cudaError_t to_runtime(CUresult result) {
  if (result == CUDA_SUCCESS) {
    return cudaSuccess;
  }
  const Description* description = find(static_cast<cudaError_t>(result));
  return description != nullptr ? description->error : cudaErrorUnknown;
}

}  // namespace simgpu

const char* cudaGetErrorName(cudaError_t error) {
  const Description* description = find(error);
  return description != nullptr ? description->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const Description* description = find(error);
  return description != nullptr ? description->text : "unrecognized error code";
}

// Called by the generated definitions. SIMGPU_TRACE_UNSUPPORTED in the environment makes them name themselves.
extern "C" int simgpu_runtime_not_supported(const char* name) {
  static const bool trace = std::getenv("SIMGPU_TRACE_UNSUPPORTED") != nullptr;
  if (trace) {
    std::fprintf(stderr, "simgpu: %s is not simulated\n", name);
  }
  return simgpu::remember(cudaErrorNotSupported);
}
