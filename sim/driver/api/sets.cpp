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

constexpr Return when_done = Return::when_done;
constexpr Return submitted = Return::when_submitted;

}  // namespace

SIMGPU_PAIR(cuMemsetD8_v2, _ptds, (CUdeviceptr dstDevice, unsigned char uc, size_t N),
            set(dstDevice, 0, uc, 1, N, 1, nullptr, meaning, when_done))
SIMGPU_PAIR(cuMemsetD2D8_v2, _ptds,
            (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height),
            set(dstDevice, dstPitch, uc, 1, Width, Height, nullptr, meaning, when_done))
SIMGPU_PAIR(cuMemsetD8Async, _ptsz, (CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream),
            set(dstDevice, 0, uc, 1, N, 1, hStream, meaning, submitted))
SIMGPU_PAIR(cuMemsetD2D8Async, _ptsz,
            (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height, CUstream hStream),
            set(dstDevice, dstPitch, uc, 1, Width, Height, hStream, meaning, submitted))

SIMGPU_PAIR(cuMemsetD16_v2, _ptds, (CUdeviceptr dstDevice, unsigned short us, size_t N),
            set(dstDevice, 0, us, 2, N, 1, nullptr, meaning, when_done))
SIMGPU_PAIR(cuMemsetD2D16_v2, _ptds,
            (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height),
            set(dstDevice, dstPitch, us, 2, Width, Height, nullptr, meaning, when_done))
SIMGPU_PAIR(cuMemsetD16Async, _ptsz, (CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream),
            set(dstDevice, 0, us, 2, N, 1, hStream, meaning, submitted))
SIMGPU_PAIR(cuMemsetD2D16Async, _ptsz,
            (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height, CUstream hStream),
            set(dstDevice, dstPitch, us, 2, Width, Height, hStream, meaning, submitted))

SIMGPU_PAIR(cuMemsetD32_v2, _ptds, (CUdeviceptr dstDevice, unsigned int ui, size_t N),
            set(dstDevice, 0, ui, 4, N, 1, nullptr, meaning, when_done))
SIMGPU_PAIR(cuMemsetD2D32_v2, _ptds,
            (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height),
            set(dstDevice, dstPitch, ui, 4, Width, Height, nullptr, meaning, when_done))
SIMGPU_PAIR(cuMemsetD32Async, _ptsz, (CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream),
            set(dstDevice, 0, ui, 4, N, 1, hStream, meaning, submitted))
SIMGPU_PAIR(cuMemsetD2D32Async, _ptsz,
            (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height, CUstream hStream),
            set(dstDevice, dstPitch, ui, 4, Width, Height, hStream, meaning, submitted))
