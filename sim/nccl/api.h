// How the exported names are defined: strong pncclX, and weak ncclX at the same address, as in the real library.
// Inside the library, exported names are called only where the real one does so (those calls meet hooks, as there); a
// pncclX is nobody's hook and may be called.
#ifndef SIMGPU_NCCL_API_H
#define SIMGPU_NCCL_API_H

#include <nccl.h>

#include "communicator.h"
#include "errors.h"
#include "shim/routing/newer_nccl.h"

#define SIMGPU_NCCL_API(result, name, parameters)                                                   \
  extern "C" __attribute__((visibility("default"))) result p##name parameters;                      \
  extern "C" __attribute__((visibility("default"), weak, alias("p" #name))) result name parameters; \
  extern "C" __attribute__((visibility("default"))) result p##name parameters

namespace simgpu::nccl {

// A handle that can be used at all, whatever its state: not null, not destroyed, of this process.
ncclResult_t check_handle(const ncclComm* communicator, const char* call);
// One that can take operations.
ncclResult_t check_ready(ncclComm* communicator, const char* call);
ncclResult_t check_pointer(const void* pointer, const char* call, const char* name);
// The meaning of an operation handle on a communicator.
ncclResult_t find_operation(ncclRedOp_t handle, ncclDataType_t type, ncclComm* communicator, const char* call,
                            Operation* operation);
// A window's handle is its number on the communicator, which other ranks know it by.
inline ncclWindow_t window_of(uint64_t number) {
  return reinterpret_cast<ncclWindow_t>(static_cast<uintptr_t>(number));
}
inline uint64_t number_of(ncclWindow_t window) {
  return reinterpret_cast<uintptr_t>(window);
}
ncclResult_t read_settings(const ncclConfig_t* config, const Settings& defaults, Settings* settings);

}  // namespace simgpu::nccl

#endif
