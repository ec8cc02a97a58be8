// The hooks of what a stream does that is no compute: copies between host and device, and host functions. Each notes it
// (main_job/copies.h) and goes on to the real function. Any thread of the main job. Short copies are passed on at once.
#include "shim/main_job/copies.h"

#include "shim/caller.h"
#include "shim/routing/real.h"

using namespace weft;

extern "C" {

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  if (bytes >= least_noted_copy && observing()) note_copy(stream, false);
  return real<Symbol::cuMemcpyHtoDAsync_v2>()(to, from, bytes, stream);
}

CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  if (bytes >= least_noted_copy && observing()) note_copy(stream, true);
  return real<Symbol::cuMemcpyHtoDAsync_v2_ptsz>()(to, from, bytes, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  if (bytes >= least_noted_copy && observing()) note_copy(stream, false);
  return real<Symbol::cuMemcpyDtoHAsync_v2>()(to, from, bytes, stream);
}

CUresult cuMemcpyDtoHAsync_v2_ptsz(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  if (bytes >= least_noted_copy && observing()) note_copy(stream, true);
  return real<Symbol::cuMemcpyDtoHAsync_v2_ptsz>()(to, from, bytes, stream);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  if (observing()) note_copy(stream, false);
  return real<Symbol::cuLaunchHostFunc>()(stream, function, data);
}

CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data) {
  if (observing()) note_copy(stream, true);
  return real<Symbol::cuLaunchHostFunc_ptsz>()(stream, function, data);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data, unsigned int flags) {
  if (observing()) note_copy(stream, false);
  return real<Symbol::cuStreamAddCallback>()(stream, callback, data, flags);
}

CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void* data, unsigned int flags) {
  if (observing()) note_copy(stream, true);
  return real<Symbol::cuStreamAddCallback_ptsz>()(stream, callback, data, flags);
}

}  // extern "C"
