// The meaning of a copy or a set; see copy.h.
#include "api/copy.h"

#include "api/addresses.h"

namespace simgpu {
namespace {

// Bytes from the first to the last that is touched.
std::size_t extent(std::size_t pitch, std::size_t rows, const CopyBox& box) {
  return ((box.depth - 1) * rows + box.height - 1) * pitch + box.width;
}

CUresult side_of(CUmemorytype type, Side& side) {
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      side = Side::host;
      return CUDA_SUCCESS;
    case CU_MEMORYTYPE_DEVICE:
      side = Side::device;
      return CUDA_SUCCESS;
    case CU_MEMORYTYPE_UNIFIED:
      side = Side::unified;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

std::byte* at(std::uintptr_t base, std::size_t x, std::size_t y, std::size_t z, std::size_t pitch, std::size_t height) {
  return reinterpret_cast<std::byte*>(base + (z * height + y) * pitch + x);
}

}  // namespace

CopyBox linear(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes) {
  CopyBox box;
  box.destination = reinterpret_cast<std::byte*>(destination);
  box.source = reinterpret_cast<const std::byte*>(source);
  box.width = bytes;
  box.destination_pitch = bytes;
  box.source_pitch = bytes;
  box.destination_height = 1;
  box.source_height = 1;
  return box;
}

CUresult plan_copy(Side destination, Side source, const CopyBox& box, CopyPlan& plan) {
  plan.box = box;
  if (box.bytes() == 0) return CUDA_SUCCESS;
  const AddressKind to = kind_of(reinterpret_cast<std::uintptr_t>(box.destination),
                                 extent(box.destination_pitch, box.destination_height, box));
  const AddressKind from =
      kind_of(reinterpret_cast<std::uintptr_t>(box.source), extent(box.source_pitch, box.source_height, box));
  if (destination == Side::device && to == AddressKind::pageable) return CUDA_ERROR_INVALID_VALUE;
  if (source == Side::device && from == AddressKind::pageable) return CUDA_ERROR_INVALID_VALUE;
  if (box.destination == nullptr || box.source == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool to_device = to == AddressKind::device && destination != Side::host;
  const bool from_device = from == AddressKind::device && source != Side::host;
  if (to_device) {
    plan.kind = from_device ? CopyKind::device_to_device : CopyKind::host_to_device;
  } else {
    plan.kind = from_device ? CopyKind::device_to_host : CopyKind::host_to_host;
  }
  plan.pageable_source = from == AddressKind::pageable;
  plan.pageable_destination = to == AddressKind::pageable;
  return CUDA_SUCCESS;
}

CUresult plan_copy(const CUDA_MEMCPY3D& p, CopyPlan& plan) {
  Side to = Side::host;
  Side from = Side::host;
  if (const CUresult result = side_of(p.dstMemoryType, to); result != CUDA_SUCCESS) return result;
  if (const CUresult result = side_of(p.srcMemoryType, from); result != CUDA_SUCCESS) return result;
  CopyBox box;
  box.width = p.WidthInBytes;
  box.height = p.Height;
  box.depth = p.Depth;
  if (box.bytes() == 0) {
    plan.box = box;
    return CUDA_SUCCESS;
  }
  box.destination_pitch = p.dstPitch == 0 ? p.WidthInBytes + p.dstXInBytes : p.dstPitch;
  box.source_pitch = p.srcPitch == 0 ? p.WidthInBytes + p.srcXInBytes : p.srcPitch;
  box.destination_height = p.dstHeight == 0 ? p.Height + p.dstY : p.dstHeight;
  box.source_height = p.srcHeight == 0 ? p.Height + p.srcY : p.srcHeight;
  if (box.destination_pitch < p.WidthInBytes + p.dstXInBytes || box.source_pitch < p.WidthInBytes + p.srcXInBytes ||
      box.destination_height < p.Height + p.dstY || box.source_height < p.Height + p.srcY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::uintptr_t destination = to == Side::host ? reinterpret_cast<std::uintptr_t>(p.dstHost) : p.dstDevice;
  const std::uintptr_t source = from == Side::host ? reinterpret_cast<std::uintptr_t>(p.srcHost) : p.srcDevice;
  box.destination = at(destination, p.dstXInBytes, p.dstY, p.dstZ, box.destination_pitch, box.destination_height);
  box.source = at(source, p.srcXInBytes, p.srcY, p.srcZ, box.source_pitch, box.source_height);
  return plan_copy(to, from, box, plan);
}

CUresult plan_set(CUdeviceptr destination, std::size_t pitch, uint32_t value, uint32_t element_bytes, std::size_t width,
                  std::size_t height, SetBox& box) {
  box = {reinterpret_cast<std::byte*>(destination), pitch, value, element_bytes, width, height};
  if (box.bytes() == 0) return CUDA_SUCCESS;
  if (height == 1) box.pitch = width * element_bytes;
  if (box.pitch < width * element_bytes || destination % element_bytes != 0 || box.pitch % element_bytes != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::size_t bytes = (height - 1) * box.pitch + width * element_bytes;
  return kind_of(destination, bytes) == AddressKind::pageable ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace simgpu
