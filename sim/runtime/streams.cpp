// Streams, host functions and callbacks. Called on the application's thread.
#include <new>

#include "context.h"

using simgpu::Driver;
using simgpu::with_context;

static_assert(sizeof(cudaStreamAttrValue) == sizeof(CUstreamAttrValue));
static_assert(cudaStreamNonBlocking == CU_STREAM_NON_BLOCKING);

namespace {

struct Callback {
  cudaStreamCallback_t function;
  void* data;
};

void CUDA_CB run_callback(CUstream stream, CUresult status, void* data) {
  const Callback callback = *static_cast<Callback*>(data);
  delete static_cast<Callback*>(data);
  callback.function(stream, simgpu::to_runtime(status), callback.data);
}

cudaError_t add_callback(const Driver& driver, simgpu::DefaultStream mode, cudaStream_t stream,
                         cudaStreamCallback_t function, void* data, unsigned int flags) {
  if (function == nullptr || flags != 0) {
    return cudaErrorInvalidValue;
  }
  auto* callback = new (std::nothrow) Callback{function, data};
  if (callback == nullptr) {
    return cudaErrorMemoryAllocation;
  }
  const CUresult result = driver.cuStreamAddCallback[mode](stream, run_callback, callback, flags);
  if (result != CUDA_SUCCESS) {
    delete callback;
  }
  return simgpu::to_runtime(result);
}

CUstreamAttrID attribute_id(cudaStreamAttrID id) {
  return static_cast<CUstreamAttrID>(id);
}

}  // namespace

SIMGPU_FORWARD(cudaStreamCreate, (cudaStream_t * stream), driver.cuStreamCreate(stream, CU_STREAM_DEFAULT))
SIMGPU_FORWARD(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned int flags),
               driver.cuStreamCreate(stream, flags))
SIMGPU_FORWARD(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned int flags, int priority),
               driver.cuStreamCreateWithPriority(stream, flags, priority))
SIMGPU_FORWARD(cudaStreamDestroy, (cudaStream_t stream), driver.cuStreamDestroy(stream))

SIMGPU_PAIR(cudaStreamGetPriority, _ptsz, (cudaStream_t stream, int* priority),
            driver.cuStreamGetPriority[mode](stream, priority))
SIMGPU_PAIR(cudaStreamGetFlags, _ptsz, (cudaStream_t stream, unsigned int* flags),
            driver.cuStreamGetFlags[mode](stream, flags))
SIMGPU_PAIR(cudaStreamGetId, _ptsz, (cudaStream_t stream, unsigned long long* id),
            driver.cuStreamGetId[mode](stream, id))
SIMGPU_PAIR(cudaStreamGetDevice, _ptsz, (cudaStream_t stream, int* device),
            driver.cuStreamGetDevice[mode](stream, device))
SIMGPU_PAIR(cudaStreamQuery, _ptsz, (cudaStream_t stream), driver.cuStreamQuery[mode](stream))
SIMGPU_PAIR(cudaStreamSynchronize, _ptsz, (cudaStream_t stream), driver.cuStreamSynchronize[mode](stream))
SIMGPU_PAIR(cudaStreamWaitEvent, _ptsz, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
            driver.cuStreamWaitEvent[mode](stream, event, flags))
SIMGPU_PAIR(cudaStreamAddCallback, _ptsz,
            (cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned int flags),
            add_callback(driver, mode, stream, function, data, flags))
SIMGPU_PAIR(cudaLaunchHostFunc, _ptsz, (cudaStream_t stream, cudaHostFn_t function, void* data),
            driver.cuLaunchHostFunc[mode](stream, function, data))
SIMGPU_PAIR(cudaStreamAttachMemAsync, _ptsz, (cudaStream_t stream, void* pointer, size_t length, unsigned int flags),
            driver.cuStreamAttachMemAsync[mode](stream, simgpu::device_pointer(pointer), length, flags))
SIMGPU_PAIR(cudaStreamCopyAttributes, _ptsz, (cudaStream_t to, cudaStream_t from),
            driver.cuStreamCopyAttributes[mode](to, from))
SIMGPU_PAIR(cudaStreamGetAttribute, _ptsz, (cudaStream_t stream, cudaStreamAttrID id, cudaStreamAttrValue* value),
            driver.cuStreamGetAttribute[mode](stream, attribute_id(id), reinterpret_cast<CUstreamAttrValue*>(value)))
SIMGPU_PAIR(cudaStreamSetAttribute, _ptsz, (cudaStream_t stream, cudaStreamAttrID id, const cudaStreamAttrValue* value),
            driver.cuStreamSetAttribute[mode](stream, attribute_id(id),
                                              reinterpret_cast<const CUstreamAttrValue*>(value)))
