// Conversions of copy_parameters.h. Arrays are not simulated, so that every end of a copy is a pointer.
#include "copy_parameters.h"

#include "context.h"

namespace simgpu {

bool memory_types(cudaMemcpyKind kind, CUmemorytype& source, CUmemorytype& destination) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      source = destination = CU_MEMORYTYPE_HOST;
      return true;
    case cudaMemcpyHostToDevice:
      source = CU_MEMORYTYPE_HOST;
      destination = CU_MEMORYTYPE_DEVICE;
      return true;
    case cudaMemcpyDeviceToHost:
      source = CU_MEMORYTYPE_DEVICE;
      destination = CU_MEMORYTYPE_HOST;
      return true;
    case cudaMemcpyDeviceToDevice:
      source = destination = CU_MEMORYTYPE_DEVICE;
      return true;
    case cudaMemcpyDefault:
      source = destination = CU_MEMORYTYPE_UNIFIED;
      return true;
  }
  return false;
}

cudaError_t convert(const cudaMemcpy3DParms* parameters, CUDA_MEMCPY3D& converted) {
  if (parameters == nullptr) {
    return cudaErrorInvalidValue;
  }
  if (parameters->srcArray != nullptr || parameters->dstArray != nullptr) {
    return cudaErrorNotSupported;
  }
  converted = {};
  if (!memory_types(parameters->kind, converted.srcMemoryType, converted.dstMemoryType)) {
    return cudaErrorInvalidMemcpyDirection;
  }
  const cudaPitchedPtr& source = parameters->srcPtr;
  const cudaPitchedPtr& destination = parameters->dstPtr;
  converted.srcXInBytes = parameters->srcPos.x;
  converted.srcY = parameters->srcPos.y;
  converted.srcZ = parameters->srcPos.z;
  converted.srcHost = source.ptr;
  converted.srcDevice = device_pointer(source.ptr);
  converted.srcPitch = source.pitch;
  converted.srcHeight = source.ysize;
  converted.dstXInBytes = parameters->dstPos.x;
  converted.dstY = parameters->dstPos.y;
  converted.dstZ = parameters->dstPos.z;
  converted.dstHost = destination.ptr;
  converted.dstDevice = device_pointer(destination.ptr);
  converted.dstPitch = destination.pitch;
  converted.dstHeight = destination.ysize;
  converted.WidthInBytes = parameters->extent.width;
  converted.Height = parameters->extent.height;
  converted.Depth = parameters->extent.depth;
  return cudaSuccess;
}

cudaError_t convert(void* destination, const void* source, size_t count, cudaMemcpyKind kind,
                    CUDA_MEMCPY3D& converted) {
  cudaMemcpy3DParms parameters = {};
  parameters.srcPtr = {const_cast<void*>(source), count, count, 1};
  parameters.dstPtr = {destination, count, count, 1};
  parameters.extent = {count, 1, 1};
  parameters.kind = kind;
  return convert(&parameters, converted);
}

cudaError_t convert(void* destination, size_t destination_pitch, const void* source, size_t source_pitch, size_t width,
                    size_t rows, cudaMemcpyKind kind, CUDA_MEMCPY2D& converted) {
  converted = {};
  if (!memory_types(kind, converted.srcMemoryType, converted.dstMemoryType)) {
    return cudaErrorInvalidMemcpyDirection;
  }
  if (width > destination_pitch || width > source_pitch) {
    return cudaErrorInvalidPitchValue;
  }
  converted.srcHost = source;
  converted.srcDevice = device_pointer(source);
  converted.srcPitch = source_pitch;
  converted.dstHost = destination;
  converted.dstDevice = device_pointer(destination);
  converted.dstPitch = destination_pitch;
  converted.WidthInBytes = width;
  converted.Height = rows;
  return cudaSuccess;
}

}  // namespace simgpu
