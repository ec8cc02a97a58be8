// Boxes of bytes to copy and to set, from the many shapes in which the API describes them. Used by the copy functions
// and by graph nodes. Any thread.
#pragma once

#include <cuda.h>

#include "engine/command.h"

namespace simgpu {

struct CopyPlan {
  CopyKind kind = CopyKind::device_to_device;
  CopyBox box;
  bool pageable_source = false;
  bool pageable_destination = false;
};

// Decide the kind by what the addresses are; CUDA_ERROR_INVALID_VALUE when a side that has to be known memory is not.
enum class Side { host, device, unified };
CUresult plan_copy(Side destination, Side source, const CopyBox& box, CopyPlan& plan);
CUresult plan_copy(const CUDA_MEMCPY3D& parameters, CopyPlan& plan);  // arrays: CUDA_ERROR_NOT_SUPPORTED

CUresult plan_set(CUdeviceptr destination, std::size_t pitch, uint32_t value, uint32_t element_bytes, std::size_t width,
                  std::size_t height, SetBox& box);

CopyBox linear(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes);

}  // namespace simgpu
