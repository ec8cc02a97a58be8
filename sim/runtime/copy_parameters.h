// Copies between linear memory in the driver's terms: shared by the copy functions and by the copy nodes of graphs.
// Pure.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace simgpu {

// The memory at the two ends of a copy of this kind; false for a kind that does not exist.
bool memory_types(cudaMemcpyKind kind, CUmemorytype& source, CUmemorytype& destination);

cudaError_t convert(const cudaMemcpy3DParms* parameters, CUDA_MEMCPY3D& converted);

// One row of `count` bytes.
cudaError_t convert(void* destination, const void* source, size_t count, cudaMemcpyKind kind, CUDA_MEMCPY3D& converted);

// `rows` rows of `width` bytes.
cudaError_t convert(void* destination, size_t destination_pitch, const void* source, size_t source_pitch, size_t width,
                    size_t rows, cudaMemcpyKind kind, CUDA_MEMCPY2D& converted);

}  // namespace simgpu
