// Copies of every shape, synchronous and in stream order. Any thread.
//
// Pageable host memory takes part in stream order as on hardware: a small source is copied at the call, everything else
// makes the call wait. A copy within the device does not make the host wait.
#include <memory>

#include "api/api.h"
#include "api/copy.h"
#include "engine/capture_hooks.h"

using namespace simgpu;

namespace {

bool is_capturing(Stream& stream) {
  const std::scoped_lock guard(engine().lock());
  return stream.capture != nullptr;
}

// The source as it is now, so that the caller may change it as soon as the call returns.
void stage(CopyBox& box) {
  CopyBox inward = box;
  box.staged.resize(box.bytes());
  inward.destination = box.staged.data();
  inward.destination_pitch = box.width;
  inward.destination_height = box.height;
  inward.execute();
  box.source_pitch = box.width;
  box.source_height = box.height;
}

enum class Return { when_done, when_submitted };

CUresult copy(CUstream handle, DefaultStream meaning, CopyPlan plan, Return returns) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  bool waits = false;
  if (returns == Return::when_done) {
    if (const CUresult result = capture_forbids_unsafe_call(); result != CUDA_SUCCESS) return result;
    waits = plan.kind != CopyKind::device_to_device;
  }
  if (plan.box.bytes() == 0) return CUDA_SUCCESS;
  if ((plan.pageable_source || plan.pageable_destination) && !is_capturing(*stream)) {
    if (!plan.pageable_destination && plan.box.bytes() <= constants::staged_copy_bytes) {
      stage(plan.box);
    } else {
      waits = true;
    }
  }
  const CopyCommand command{plan.kind, std::make_shared<const CopyBox>(std::move(plan.box))};
  if (const CUresult result = engine().submit(*stream, command); result != CUDA_SUCCESS) return result;
  return waits ? engine().synchronize(*stream) : CUDA_SUCCESS;
}

CUresult copy_linear(Side destination, Side source, CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                     CUstream stream, DefaultStream meaning, Return returns) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  CopyPlan plan;
  if (const CUresult result = plan_copy(destination, source, linear(to, from, bytes), plan); result != CUDA_SUCCESS) {
    return result;
  }
  return copy(stream, meaning, std::move(plan), returns);
}

CUresult copy_box(const CUDA_MEMCPY3D& parameters, CUstream stream, DefaultStream meaning, Return returns) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  CopyPlan plan;
  if (const CUresult result = plan_copy(parameters, plan); result != CUDA_SUCCESS) return result;
  return copy(stream, meaning, std::move(plan), returns);
}

CUresult copy_3d(const CUDA_MEMCPY3D* parameters, CUstream stream, DefaultStream meaning, Return returns) {
  return parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : copy_box(*parameters, stream, meaning, returns);
}

CUresult copy_2d(const CUDA_MEMCPY2D* p, CUstream stream, DefaultStream meaning, Return returns) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D box{};
  box.srcXInBytes = p->srcXInBytes;
  box.srcY = p->srcY;
  box.srcMemoryType = p->srcMemoryType;
  box.srcHost = p->srcHost;
  box.srcDevice = p->srcDevice;
  box.srcPitch = p->srcPitch;
  box.dstXInBytes = p->dstXInBytes;
  box.dstY = p->dstY;
  box.dstMemoryType = p->dstMemoryType;
  box.dstHost = p->dstHost;
  box.dstDevice = p->dstDevice;
  box.dstPitch = p->dstPitch;
  box.WidthInBytes = p->WidthInBytes;
  box.Height = p->Height;
  box.Depth = 1;
  return copy_box(box, stream, meaning, returns);
}

CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER* p, CUstream stream, DefaultStream meaning, Return returns) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D box{};
  box.srcXInBytes = p->srcXInBytes;
  box.srcY = p->srcY;
  box.srcZ = p->srcZ;
  box.srcMemoryType = p->srcMemoryType;
  box.srcHost = p->srcHost;
  box.srcDevice = p->srcDevice;
  box.srcPitch = p->srcPitch;
  box.srcHeight = p->srcHeight;
  box.dstXInBytes = p->dstXInBytes;
  box.dstY = p->dstY;
  box.dstZ = p->dstZ;
  box.dstMemoryType = p->dstMemoryType;
  box.dstHost = p->dstHost;
  box.dstDevice = p->dstDevice;
  box.dstPitch = p->dstPitch;
  box.dstHeight = p->dstHeight;
  box.WidthInBytes = p->WidthInBytes;
  box.Height = p->Height;
  box.Depth = p->Depth;
  return copy_box(box, stream, meaning, returns);
}

// `failed` is where the first ABI reports the copy that could not be submitted.
CUresult copy_batch(const CUdeviceptr* to, const CUdeviceptr* from, const std::size_t* sizes, std::size_t count,
                    std::size_t* failed, CUstream stream, DefaultStream meaning) {
  if (to == nullptr || from == nullptr || sizes == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t index = 0; index < count; ++index) {
    const CUresult result = copy_linear(Side::unified, Side::unified, to[index], from[index], sizes[index], stream,
                                        meaning, Return::when_submitted);
    if (result == CUDA_SUCCESS) continue;
    if (failed != nullptr) *failed = index;
    return result;
  }
  return CUDA_SUCCESS;
}

CUdeviceptr address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

constexpr Return when_done = Return::when_done;
constexpr Return submitted = Return::when_submitted;

}  // namespace

SIMGPU_PAIR(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount),
            copy_linear(Side::unified, Side::unified, dst, src, ByteCount, nullptr, meaning, when_done))
SIMGPU_PAIR(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount),
            copy_linear(Side::device, Side::host, dstDevice, address(srcHost), ByteCount, nullptr, meaning, when_done))
SIMGPU_PAIR(cuMemcpyDtoH_v2, _ptds, (void* dstHost, CUdeviceptr srcDevice, size_t ByteCount),
            copy_linear(Side::host, Side::device, address(dstHost), srcDevice, ByteCount, nullptr, meaning, when_done))
SIMGPU_PAIR(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount),
            copy_linear(Side::device, Side::device, dstDevice, srcDevice, ByteCount, nullptr, meaning, when_done))
SIMGPU_PAIR(cuMemcpyPeer, _ptds, (CUdeviceptr dstDevice, CUcontext, CUdeviceptr srcDevice, CUcontext, size_t ByteCount),
            copy_linear(Side::device, Side::device, dstDevice, srcDevice, ByteCount, nullptr, meaning, when_done))
SIMGPU_PAIR(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* pCopy), copy_2d(pCopy, nullptr, meaning, when_done))
SIMGPU_PAIR(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* pCopy), copy_2d(pCopy, nullptr, meaning, when_done))
SIMGPU_PAIR(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* pCopy), copy_3d(pCopy, nullptr, meaning, when_done))
SIMGPU_PAIR(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER* pCopy), copy_3d_peer(pCopy, nullptr, meaning, when_done))

SIMGPU_PAIR(cuMemcpyAsync, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream),
            copy_linear(Side::unified, Side::unified, dst, src, ByteCount, hStream, meaning, submitted))
SIMGPU_PAIR(cuMemcpyHtoDAsync_v2, _ptsz,
            (CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount, CUstream hStream),
            copy_linear(Side::device, Side::host, dstDevice, address(srcHost), ByteCount, hStream, meaning, submitted))
SIMGPU_PAIR(cuMemcpyDtoHAsync_v2, _ptsz, (void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
            copy_linear(Side::host, Side::device, address(dstHost), srcDevice, ByteCount, hStream, meaning, submitted))
SIMGPU_PAIR(cuMemcpyDtoDAsync_v2, _ptsz,
            (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
            copy_linear(Side::device, Side::device, dstDevice, srcDevice, ByteCount, hStream, meaning, submitted))
SIMGPU_PAIR(cuMemcpyPeerAsync, _ptsz,
            (CUdeviceptr dstDevice, CUcontext, CUdeviceptr srcDevice, CUcontext, size_t ByteCount, CUstream hStream),
            copy_linear(Side::device, Side::device, dstDevice, srcDevice, ByteCount, hStream, meaning, submitted))
SIMGPU_PAIR(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* pCopy, CUstream hStream),
            copy_2d(pCopy, hStream, meaning, submitted))
SIMGPU_PAIR(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* pCopy, CUstream hStream),
            copy_3d(pCopy, hStream, meaning, submitted))
SIMGPU_PAIR(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER* pCopy, CUstream hStream),
            copy_3d_peer(pCopy, hStream, meaning, submitted))
SIMGPU_PAIR(cuMemcpyBatchAsync, _ptsz,
            (CUdeviceptr * dsts, CUdeviceptr* srcs, size_t* sizes, size_t count, CUmemcpyAttributes*, size_t*, size_t,
             size_t* failIdx, CUstream hStream),
            copy_batch(dsts, srcs, sizes, count, failIdx, hStream, meaning))
SIMGPU_PAIR(cuMemcpyBatchAsync_v2, _ptsz,
            (CUdeviceptr * dsts, CUdeviceptr* srcs, size_t* sizes, size_t count, CUmemcpyAttributes*, size_t*, size_t,
             CUstream hStream),
            copy_batch(dsts, srcs, sizes, count, nullptr, hStream, meaning))
