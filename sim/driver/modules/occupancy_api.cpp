// The occupancy calculator of the driver API, from the registers and shared memory that a host kernel was registered
// with and the limits of the simulated multiprocessor. Host threads; pure arithmetic.
#include <algorithm>

#include "api/api.h"
#include "engine/multiprocessors.h"
#include "modules/modules.h"

namespace simgpu {
namespace {

constexpr int warp = 32;

int active_blocks(const KernelState& state, int block_size, std::size_t dynamic_shared) {
  const std::size_t shared = state.image->static_shared_bytes() + dynamic_shared;
  if (block_size > state.max_threads_per_block() || shared > constants::shared_per_block_opt_in) return 0;
  return static_cast<int>(resident_blocks(BlockNeeds::of(
      static_cast<uint32_t>(block_size), state.image->registers_per_thread(), static_cast<uint32_t>(shared))));
}

CUresult occupancy(int* blocks, CUfunction function, int block_size, std::size_t dynamic_shared) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const std::shared_ptr<KernelState> state = state_of(function);
  if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (blocks == nullptr || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
  *blocks = active_blocks(*state, block_size, dynamic_shared);
  return CUDA_SUCCESS;
}

// The block size with the most resident threads; of equals the largest.
CUresult best_block_size(int* grid, int* block, CUfunction function, CUoccupancyB2DSize shared_for,
                         std::size_t dynamic_shared, int limit) {
  Device* device = nullptr;
  if (const CUresult result = current_device(device); result != CUDA_SUCCESS) return result;
  const std::shared_ptr<KernelState> state = state_of(function);
  if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (grid == nullptr || block == nullptr || limit < 0) return CUDA_ERROR_INVALID_VALUE;
  const int most = state->max_threads_per_block();
  int best_threads = 0;
  for (int size = limit == 0 ? most : std::min(limit, most); size > 0; size = (size - 1) / warp * warp) {
    const int blocks = active_blocks(*state, size, shared_for == nullptr ? dynamic_shared : shared_for(size));
    if (blocks * size <= best_threads) continue;
    best_threads = blocks * size;
    *block = size;
    *grid = blocks * static_cast<int>(engine().settings().multiprocessors);
  }
  return best_threads == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

bool unknown_flags(unsigned flags) {
  return (flags & ~unsigned{CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE}) != 0;
}

}  // namespace
}  // namespace simgpu

using namespace simgpu;

SIMGPU_API cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func, int blockSize,
                                                       size_t dynamicSMemSize) {
  return occupancy(numBlocks, func, blockSize, dynamicSMemSize);
}

SIMGPU_API cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, CUfunction func, int blockSize,
                                                                size_t dynamicSMemSize, unsigned int flags) {
  return unknown_flags(flags) ? CUDA_ERROR_INVALID_VALUE : occupancy(numBlocks, func, blockSize, dynamicSMemSize);
}

SIMGPU_API cuOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, CUfunction func,
                                            CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
                                            int blockSizeLimit) {
  return best_block_size(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit);
}

SIMGPU_API cuOccupancyMaxPotentialBlockSizeWithFlags(int* minGridSize, int* blockSize, CUfunction func,
                                                     CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                     size_t dynamicSMemSize, int blockSizeLimit, unsigned int flags) {
  if (unknown_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
  return best_block_size(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit);
}

SIMGPU_API cuOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, CUfunction func, int numBlocks,
                                                   int blockSize) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const std::shared_ptr<KernelState> state = state_of(func);
  if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (dynamicSmemSize == nullptr || numBlocks <= 0 || blockSize <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (active_blocks(*state, blockSize, 0) < numBlocks) return CUDA_ERROR_INVALID_VALUE;
  const int share = int{constants::shared_per_multiprocessor} / numBlocks - int{constants::reserved_shared_per_block};
  const int available =
      std::min(share, int{constants::shared_per_block_opt_in}) - static_cast<int>(state->image->static_shared_bytes());
  *dynamicSmemSize = static_cast<std::size_t>(std::max(0, available));
  return CUDA_SUCCESS;
}
