// The hooks of what a stream does that is no compute: copies between host and device, and host functions. Each notes it
// (main_job/copies.h) and goes on to the real function. Of some copies the driver finds out between what they are:
// those within the device count as launches. Any thread of the main job. Short copies are passed on at once,
// but for those on the legacy stream.
#include "shim/main_job/copies.h"

#include "shim/caller.h"
#include "shim/routing/real.h"

using namespace weft;

extern "C" {

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  if (is_noted_copy(bytes, stream) && observing()) note_copy(bytes, stream, false);
  return real<Symbol::cuMemcpyHtoDAsync_v2>()(to, from, bytes, stream);
}

CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  if (is_noted_copy(bytes, stream) && observing()) note_copy(bytes, stream, true);
  return real<Symbol::cuMemcpyHtoDAsync_v2_ptsz>()(to, from, bytes, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  if (is_noted_copy(bytes, stream) && observing()) note_copy(bytes, stream, false);
  return real<Symbol::cuMemcpyDtoHAsync_v2>()(to, from, bytes, stream);
}

CUresult cuMemcpyDtoHAsync_v2_ptsz(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  if (is_noted_copy(bytes, stream) && observing()) note_copy(bytes, stream, true);
  return real<Symbol::cuMemcpyDtoHAsync_v2_ptsz>()(to, from, bytes, stream);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  if (learning()) note_any_copy(ends_of(to, from, bytes), stream, false);
  return real<Symbol::cuMemcpyAsync>()(to, from, bytes, stream);
}

CUresult cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  if (learning()) note_any_copy(ends_of(to, from, bytes), stream, true);
  return real<Symbol::cuMemcpyAsync_ptsz>()(to, from, bytes, stream);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  if (copy != nullptr && learning()) note_any_copy(ends_of(*copy), stream, false);
  return real<Symbol::cuMemcpy2DAsync_v2>()(copy, stream);
}

CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D* copy, CUstream stream) {
  if (copy != nullptr && learning()) note_any_copy(ends_of(*copy), stream, true);
  return real<Symbol::cuMemcpy2DAsync_v2_ptsz>()(copy, stream);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  if (copy != nullptr && learning()) note_any_copy(ends_of(*copy), stream, false);
  return real<Symbol::cuMemcpy3DAsync_v2>()(copy, stream);
}

CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D* copy, CUstream stream) {
  if (copy != nullptr && learning()) note_any_copy(ends_of(*copy), stream, true);
  return real<Symbol::cuMemcpy3DAsync_v2_ptsz>()(copy, stream);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  if (observing()) note_host_function(stream, false);
  return real<Symbol::cuLaunchHostFunc>()(stream, function, data);
}

CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data) {
  if (observing()) note_host_function(stream, true);
  return real<Symbol::cuLaunchHostFunc_ptsz>()(stream, function, data);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data, unsigned int flags) {
  if (observing()) note_host_function(stream, false);
  return real<Symbol::cuStreamAddCallback>()(stream, callback, data, flags);
}

CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void* data, unsigned int flags) {
  if (observing()) note_host_function(stream, true);
  return real<Symbol::cuStreamAddCallback_ptsz>()(stream, callback, data, flags);
}

}  // extern "C"
