// The hooks of further sets and copies that take the device as launches do: those without Async, those between devices,
// and batches. Each counts as a launch on its stream, the default stream where it names none, unless one of its ends is
// on the host: such a copy without Async lets its caller wait, and others are noted (main_job/copies.h). Any thread of
// the main job. No lock, no event but behind a copy, group or wait.
#include "shim/caller.h"
#include "shim/main_job/copies.h"
#include "shim/main_job/launches.h"
#include "shim/routing/real.h"

using namespace weft;

extern "C" {

CUresult cuMemsetD8_v2(CUdeviceptr memory, unsigned char value, size_t count) {
  if (learning()) count_launch(nullptr, false);
  return real<Symbol::cuMemsetD8_v2>()(memory, value, count);
}

CUresult cuMemsetD8_v2_ptds(CUdeviceptr memory, unsigned char value, size_t count) {
  if (learning()) count_launch(nullptr, true);
  return real<Symbol::cuMemsetD8_v2_ptds>()(memory, value, count);
}

CUresult cuMemsetD16_v2(CUdeviceptr memory, unsigned short value, size_t count) {
  if (learning()) count_launch(nullptr, false);
  return real<Symbol::cuMemsetD16_v2>()(memory, value, count);
}

CUresult cuMemsetD16_v2_ptds(CUdeviceptr memory, unsigned short value, size_t count) {
  if (learning()) count_launch(nullptr, true);
  return real<Symbol::cuMemsetD16_v2_ptds>()(memory, value, count);
}

CUresult cuMemsetD32_v2(CUdeviceptr memory, unsigned int value, size_t count) {
  if (learning()) count_launch(nullptr, false);
  return real<Symbol::cuMemsetD32_v2>()(memory, value, count);
}

CUresult cuMemsetD32_v2_ptds(CUdeviceptr memory, unsigned int value, size_t count) {
  if (learning()) count_launch(nullptr, true);
  return real<Symbol::cuMemsetD32_v2_ptds>()(memory, value, count);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr memory, size_t pitch, unsigned char value, size_t width, size_t height) {
  if (learning()) count_launch(nullptr, false);
  return real<Symbol::cuMemsetD2D8_v2>()(memory, pitch, value, width, height);
}

CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr memory, size_t pitch, unsigned char value, size_t width, size_t height) {
  if (learning()) count_launch(nullptr, true);
  return real<Symbol::cuMemsetD2D8_v2_ptds>()(memory, pitch, value, width, height);
}

CUresult cuMemsetD2D16_v2(CUdeviceptr memory, size_t pitch, unsigned short value, size_t width, size_t height) {
  if (learning()) count_launch(nullptr, false);
  return real<Symbol::cuMemsetD2D16_v2>()(memory, pitch, value, width, height);
}

CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr memory, size_t pitch, unsigned short value, size_t width, size_t height) {
  if (learning()) count_launch(nullptr, true);
  return real<Symbol::cuMemsetD2D16_v2_ptds>()(memory, pitch, value, width, height);
}

CUresult cuMemsetD2D32_v2(CUdeviceptr memory, size_t pitch, unsigned int value, size_t width, size_t height) {
  if (learning()) count_launch(nullptr, false);
  return real<Symbol::cuMemsetD2D32_v2>()(memory, pitch, value, width, height);
}

CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr memory, size_t pitch, unsigned int value, size_t width, size_t height) {
  if (learning()) count_launch(nullptr, true);
  return real<Symbol::cuMemsetD2D32_v2_ptds>()(memory, pitch, value, width, height);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  if (learning()) count_launch(nullptr, false);
  return real<Symbol::cuMemcpyDtoD_v2>()(to, from, bytes);
}

CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  if (learning()) count_launch(nullptr, true);
  return real<Symbol::cuMemcpyDtoD_v2_ptds>()(to, from, bytes);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  if (learning() && !ends_of(to, from, bytes).on_host) count_launch(nullptr, false);
  return real<Symbol::cuMemcpy>()(to, from, bytes);
}

CUresult cuMemcpy_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  if (learning() && !ends_of(to, from, bytes).on_host) count_launch(nullptr, true);
  return real<Symbol::cuMemcpy_ptds>()(to, from, bytes);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) {
  if (copy != nullptr && learning() && !ends_of(*copy).on_host) count_launch(nullptr, false);
  return real<Symbol::cuMemcpy2D_v2>()(copy);
}

CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D* copy) {
  if (copy != nullptr && learning() && !ends_of(*copy).on_host) count_launch(nullptr, true);
  return real<Symbol::cuMemcpy2D_v2_ptds>()(copy);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
  if (copy != nullptr && learning() && !ends_of(*copy).on_host) count_launch(nullptr, false);
  return real<Symbol::cuMemcpy2DUnaligned_v2>()(copy);
}

CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D* copy) {
  if (copy != nullptr && learning() && !ends_of(*copy).on_host) count_launch(nullptr, true);
  return real<Symbol::cuMemcpy2DUnaligned_v2_ptds>()(copy);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) {
  if (copy != nullptr && learning() && !ends_of(*copy).on_host) count_launch(nullptr, false);
  return real<Symbol::cuMemcpy3D_v2>()(copy);
}

CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D* copy) {
  if (copy != nullptr && learning() && !ends_of(*copy).on_host) count_launch(nullptr, true);
  return real<Symbol::cuMemcpy3D_v2_ptds>()(copy);
}

// Between devices.

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
  if (learning()) count_launch(nullptr, false);
  return real<Symbol::cuMemcpyPeer>()(to, to_context, from, from_context, bytes);
}

CUresult cuMemcpyPeer_ptds(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           size_t bytes) {
  if (learning()) count_launch(nullptr, true);
  return real<Symbol::cuMemcpyPeer_ptds>()(to, to_context, from, from_context, bytes);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
  if (copy != nullptr && learning() && !ends_of(*copy).on_host) count_launch(nullptr, false);
  return real<Symbol::cuMemcpy3DPeer>()(copy);
}

CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER* copy) {
  if (copy != nullptr && learning() && !ends_of(*copy).on_host) count_launch(nullptr, true);
  return real<Symbol::cuMemcpy3DPeer_ptds>()(copy);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream) {
  if (learning()) count_launch(stream, false);
  return real<Symbol::cuMemcpyPeerAsync>()(to, to_context, from, from_context, bytes, stream);
}

CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                size_t bytes, CUstream stream) {
  if (learning()) count_launch(stream, true);
  return real<Symbol::cuMemcpyPeerAsync_ptsz>()(to, to_context, from, from_context, bytes, stream);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  if (copy != nullptr && learning()) note_any_copy(ends_of(*copy), stream, false);
  return real<Symbol::cuMemcpy3DPeerAsync>()(copy, stream);
}

CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  if (copy != nullptr && learning()) note_any_copy(ends_of(*copy), stream, true);
  return real<Symbol::cuMemcpy3DPeerAsync_ptsz>()(copy, stream);
}

// Batches. One of three dimensions counts as a launch, whatever it copies.

CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                            CUmemcpyAttributes* attributes, size_t* indices, size_t kinds, size_t* failed,
                            CUstream stream) {
  if (learning()) note_any_copy(ends_of_batch(to, from, bytes, count), stream, false);
  return real<Symbol::cuMemcpyBatchAsync>()(to, from, bytes, count, attributes, indices, kinds, failed, stream);
}

CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                                 CUmemcpyAttributes* attributes, size_t* indices, size_t kinds, size_t* failed,
                                 CUstream stream) {
  if (learning()) note_any_copy(ends_of_batch(to, from, bytes, count), stream, true);
  return real<Symbol::cuMemcpyBatchAsync_ptsz>()(to, from, bytes, count, attributes, indices, kinds, failed, stream);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                               CUmemcpyAttributes* attributes, size_t* indices, size_t kinds, CUstream stream) {
  if (learning()) note_any_copy(ends_of_batch(to, from, bytes, count), stream, false);
  return real<Symbol::cuMemcpyBatchAsync_v2>()(to, from, bytes, count, attributes, indices, kinds, stream);
}

CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                                    CUmemcpyAttributes* attributes, size_t* indices, size_t kinds, CUstream stream) {
  if (learning()) note_any_copy(ends_of_batch(to, from, bytes, count), stream, true);
  return real<Symbol::cuMemcpyBatchAsync_v2_ptsz>()(to, from, bytes, count, attributes, indices, kinds, stream);
}

CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, size_t* failed, unsigned long long flags,
                              CUstream stream) {
  if (learning()) count_launch(stream, false);
  return real<Symbol::cuMemcpy3DBatchAsync>()(count, copies, failed, flags, stream);
}

CUresult cuMemcpy3DBatchAsync_ptsz(size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, size_t* failed,
                                   unsigned long long flags, CUstream stream) {
  if (learning()) count_launch(stream, true);
  return real<Symbol::cuMemcpy3DBatchAsync_ptsz>()(count, copies, failed, flags, stream);
}

CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, unsigned long long flags,
                                 CUstream stream) {
  if (learning()) count_launch(stream, false);
  return real<Symbol::cuMemcpy3DBatchAsync_v2>()(count, copies, flags, stream);
}

CUresult cuMemcpy3DBatchAsync_v2_ptsz(size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, unsigned long long flags,
                                      CUstream stream) {
  if (learning()) count_launch(stream, true);
  return real<Symbol::cuMemcpy3DBatchAsync_v2_ptsz>()(count, copies, flags, stream);
}

}  // extern "C"
