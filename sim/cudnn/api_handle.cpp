// Handles, versions, names of statuses, and the functions that are refused. On the program's threads.
#include <cstdio>

#include "api.h"

namespace simgpu::cudnn {
namespace {

// The version whose numbers these are; PyTorch 2.11 (CUDA 13) comes with it and wants no older one.
constexpr int major_version = 9, minor_version = 19, patch_level = 0;
constexpr size_t runtime_version = 13000;  // of the CUDA runtime that the real library holds

// As a CUDA runtime does, of which the real library holds one: a thread without a context gets that of the first
// device.
bool make_context_current() {
  CUcontext context = nullptr;
  if (driver()->cuInit(0) != CUDA_SUCCESS || driver()->cuCtxGetCurrent(&context) != CUDA_SUCCESS) return false;
  if (context != nullptr) return true;
  CUdevice device = 0;
  return driver()->cuDeviceGet(&device, 0) == CUDA_SUCCESS &&
         driver()->cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS &&
         driver()->cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

Status refuse(const char* function) {
  return fail(CUDNN_STATUS_NOT_SUPPORTED, "%s is not simulated (sim/cudnn/README.md)", function);
}

}  // namespace

}  // namespace simgpu::cudnn

using namespace simgpu::cudnn;

extern "C" {

size_t cudnnGetVersion() {
  return major_version * 10000 + minor_version * 100 + patch_level;
}

size_t cudnnGetCudartVersion() {
  return runtime_version;
}

// Kinds, as in the toolkit's libraryPropertyType: 0 major version, 1 minor version, 2 patch level.
Status cudnnGetProperty(int kind, int* value) {
  if (value == nullptr || kind < 0 || kind > 2)
    return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetProperty: no property %d", kind);
  *value = kind == 0 ? major_version : kind == 1 ? minor_version : patch_level;
  return CUDNN_STATUS_SUCCESS;
}

const char* cudnnGetErrorString(Status status) {
  switch (status) {
#define STATUS(name) \
  case name:         \
    return #name;
    STATUS(CUDNN_STATUS_SUCCESS)
    STATUS(CUDNN_STATUS_NOT_INITIALIZED)
    STATUS(CUDNN_STATUS_BAD_PARAM)
    STATUS(CUDNN_STATUS_BAD_PARAM_NULL_POINTER)
    STATUS(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED)
    STATUS(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH)
    STATUS(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE)
    STATUS(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE)
    STATUS(CUDNN_STATUS_NOT_SUPPORTED)
    STATUS(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN)
    STATUS(CUDNN_STATUS_NOT_SUPPORTED_SHAPE)
    STATUS(CUDNN_STATUS_INTERNAL_ERROR)
    STATUS(CUDNN_STATUS_EXECUTION_FAILED)
    STATUS(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER)
#undef STATUS
    default:
      return "CUDNN_UNKNOWN_STATUS";
  }
}

void cudnnGetLastErrorString(char* message, size_t size) {
  if (message != nullptr && size > 0) std::snprintf(message, size, "%s", last_error());
}

Status cudnnCreate(cudnnContext** handle) {
  if (handle == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnCreate: no place for the handle");
  if (driver() == nullptr) return CUDNN_STATUS_NOT_INITIALIZED;
  if (!make_context_current()) return fail(CUDNN_STATUS_NOT_INITIALIZED, "cudnnCreate: no context, and none to be had");
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}

Status cudnnDestroy(cudnnContext* handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

Status cudnnSetStream(cudnnContext* handle, CUstream stream) {
  if (handle == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnSetStream: no handle");
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

Status cudnnGetStream(cudnnContext* handle, CUstream* stream) {
  if (handle == nullptr || stream == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnGetStream: null");
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

// The C calling convention lets a function ignore the arguments that its caller passes.
#define SIMULATED(name)
#define REFUSED(name)     \
  Status name() {         \
    return refuse(#name); \
  }
#include "functions.def"
#undef SIMULATED
#undef REFUSED

}  // extern "C"
