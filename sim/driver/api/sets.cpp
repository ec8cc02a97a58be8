// Sets of device memory, synchronous and in stream order. Any thread. As on hardware the synchronous ones return at
// once for device memory and wait for pinned host memory.
#include <memory>

#include "api/addresses.h"
#include "api/api.h"
#include "api/copy.h"
#include "engine/capture_hooks.h"

using namespace simgpu;

namespace {

enum class Return { when_done, when_submitted };

CUresult set(CUdeviceptr destination, std::size_t pitch, uint32_t value, uint32_t element_bytes, std::size_t width,
             std::size_t height, CUstream handle, DefaultStream meaning, Return returns) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  SetBox box;
  if (const CUresult result = plan_set(destination, pitch, value, element_bytes, width, height, box);
      result != CUDA_SUCCESS) {
    return result;
  }
  if (returns == Return::when_done) {
    if (const CUresult result = capture_forbids_unsafe_call(); result != CUDA_SUCCESS) return result;
  }
  if (box.bytes() == 0) return CUDA_SUCCESS;
  const SetCommand command{std::make_shared<const SetBox>(box)};
  if (const CUresult result = engine().submit(*stream, command); result != CUDA_SUCCESS) return result;
  const bool waits = returns == Return::when_done && kind_of(destination, 1) == AddressKind::pinned;
  return waits ? engine().synchronize(*stream) : CUDA_SUCCESS;
}

constexpr DefaultStream kLegacy = DefaultStream::legacy;
constexpr DefaultStream kPerThread = DefaultStream::per_thread;
constexpr Return kDone = Return::when_done;
constexpr Return kSubmitted = Return::when_submitted;

}  // namespace

SIMGPU_API cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
  return set(dstDevice, 0, uc, 1, N, 1, nullptr, kLegacy, kDone);
}
SIMGPU_API cuMemsetD8_v2_ptds(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
  return set(dstDevice, 0, uc, 1, N, 1, nullptr, kPerThread, kDone);
}
SIMGPU_API cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height) {
  return set(dstDevice, dstPitch, uc, 1, Width, Height, nullptr, kLegacy, kDone);
}
SIMGPU_API cuMemsetD2D8_v2_ptds(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height) {
  return set(dstDevice, dstPitch, uc, 1, Width, Height, nullptr, kPerThread, kDone);
}
SIMGPU_API cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) {
  return set(dstDevice, 0, uc, 1, N, 1, hStream, kLegacy, kSubmitted);
}
SIMGPU_API cuMemsetD8Async_ptsz(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) {
  return set(dstDevice, 0, uc, 1, N, 1, hStream, kPerThread, kSubmitted);
}
SIMGPU_API cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height,
                             CUstream hStream) {
  return set(dstDevice, dstPitch, uc, 1, Width, Height, hStream, kLegacy, kSubmitted);
}
SIMGPU_API cuMemsetD2D8Async_ptsz(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height,
                                  CUstream hStream) {
  return set(dstDevice, dstPitch, uc, 1, Width, Height, hStream, kPerThread, kSubmitted);
}

SIMGPU_API cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N) {
  return set(dstDevice, 0, us, 2, N, 1, nullptr, kLegacy, kDone);
}
SIMGPU_API cuMemsetD16_v2_ptds(CUdeviceptr dstDevice, unsigned short us, size_t N) {
  return set(dstDevice, 0, us, 2, N, 1, nullptr, kPerThread, kDone);
}
SIMGPU_API cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height) {
  return set(dstDevice, dstPitch, us, 2, Width, Height, nullptr, kLegacy, kDone);
}
SIMGPU_API cuMemsetD2D16_v2_ptds(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                                 size_t Height) {
  return set(dstDevice, dstPitch, us, 2, Width, Height, nullptr, kPerThread, kDone);
}
SIMGPU_API cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream) {
  return set(dstDevice, 0, us, 2, N, 1, hStream, kLegacy, kSubmitted);
}
SIMGPU_API cuMemsetD16Async_ptsz(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream) {
  return set(dstDevice, 0, us, 2, N, 1, hStream, kPerThread, kSubmitted);
}
SIMGPU_API cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height,
                              CUstream hStream) {
  return set(dstDevice, dstPitch, us, 2, Width, Height, hStream, kLegacy, kSubmitted);
}
SIMGPU_API cuMemsetD2D16Async_ptsz(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                                   size_t Height, CUstream hStream) {
  return set(dstDevice, dstPitch, us, 2, Width, Height, hStream, kPerThread, kSubmitted);
}

SIMGPU_API cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N) {
  return set(dstDevice, 0, ui, 4, N, 1, nullptr, kLegacy, kDone);
}
SIMGPU_API cuMemsetD32_v2_ptds(CUdeviceptr dstDevice, unsigned int ui, size_t N) {
  return set(dstDevice, 0, ui, 4, N, 1, nullptr, kPerThread, kDone);
}
SIMGPU_API cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height) {
  return set(dstDevice, dstPitch, ui, 4, Width, Height, nullptr, kLegacy, kDone);
}
SIMGPU_API cuMemsetD2D32_v2_ptds(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height) {
  return set(dstDevice, dstPitch, ui, 4, Width, Height, nullptr, kPerThread, kDone);
}
SIMGPU_API cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream) {
  return set(dstDevice, 0, ui, 4, N, 1, hStream, kLegacy, kSubmitted);
}
SIMGPU_API cuMemsetD32Async_ptsz(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream) {
  return set(dstDevice, 0, ui, 4, N, 1, hStream, kPerThread, kSubmitted);
}
SIMGPU_API cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height,
                              CUstream hStream) {
  return set(dstDevice, dstPitch, ui, 4, Width, Height, hStream, kLegacy, kSubmitted);
}
SIMGPU_API cuMemsetD2D32Async_ptsz(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height,
                                   CUstream hStream) {
  return set(dstDevice, dstPitch, ui, 4, Width, Height, hStream, kPerThread, kSubmitted);
}
