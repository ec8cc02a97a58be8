// Stream-ordered allocation: what a pool holds, reuses and gives back, its limit, and that serving from it never waits.
#include "tests/sim/driver/device_test.h"

namespace {

using device_test::DeviceTest;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

class MemoryPools : public DeviceTest {
 protected:
  CUmemoryPool create(std::size_t limit) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    properties.maxSize = limit;
    CUmemoryPool pool = nullptr;
    EXPECT_CUDA(cuMemPoolCreate(&pool, &properties));
    return pool;
  }
  cuuint64_t value(CUmemoryPool pool, CUmemPool_attribute attribute) {
    cuuint64_t result = 0;
    EXPECT_CUDA(cuMemPoolGetAttribute(pool, attribute, &result));
    return result;
  }
  void keep(CUmemoryPool pool, cuuint64_t bytes) {
    EXPECT_CUDA(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
  }
};

TEST_F(MemoryPools, DefaultPoolServesAllocations) {
  CUmemoryPool pool = nullptr;
  CUmemoryPool current = nullptr;
  ASSERT_CUDA(cuDeviceGetDefaultMemPool(&pool, device));
  ASSERT_CUDA(cuDeviceGetMemPool(&current, device));
  EXPECT_EQ(pool, current);
  EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr pointer = 0;
  ASSERT_CUDA(cuMemAllocAsync(&pointer, 1000, stream));
  CUmemoryPool of = nullptr;
  EXPECT_CUDA(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pointer));
  EXPECT_EQ(of, pool);
  EXPECT_EQ(value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024U);
  EXPECT_GE(value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 1024U);
  EXPECT_CUDA(cuMemFreeAsync(pointer, stream));
  EXPECT_EQ(cuMemFreeAsync(pointer, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0U);
  EXPECT_EQ(value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1024U);
}

TEST_F(MemoryPools, TheSameStreamReusesAtOnceAnotherOnlyWhenTheFreeHasHappened) {
  CUmemoryPool pool = create(0);
  keep(pool, UINT64_MAX);
  CUstream other = nullptr;
  ASSERT_CUDA(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  start_spinning(stream);
  CUdeviceptr first = 0;
  // Reserving memory would wait for the kernel, so the pool gets its memory from a thread that is let through.
  std::thread grow([&] {
    EXPECT_CUDA(cuCtxSetCurrent(context));
    EXPECT_CUDA(cuMemAllocFromPoolAsync(&first, 4 * mebibyte, pool, other));
  });
  end_spinning();
  grow.join();
  ASSERT_CUDA(cuStreamSynchronize(stream));

  device_test::let_spinning_kernels_end = false;
  device_test::spinning_kernel_has_started = false;
  start_spinning(stream);
  CUdeviceptr again = 0;
  CUdeviceptr elsewhere = 0;
  ASSERT_CUDA(cuMemFreeAsync(first, stream));
  ASSERT_CUDA(cuMemAllocFromPoolAsync(&elsewhere, 4 * mebibyte, pool, other));
  EXPECT_NE(elsewhere, first);
  ASSERT_CUDA(cuMemAllocFromPoolAsync(&again, 4 * mebibyte, pool, stream));
  EXPECT_EQ(again, first);
  ASSERT_CUDA(cuMemFreeAsync(again, stream));
  end_spinning();
  ASSERT_CUDA(cuStreamSynchronize(stream));
  CUdeviceptr later = 0;
  ASSERT_CUDA(cuMemAllocFromPoolAsync(&later, 4 * mebibyte, pool, other));
  EXPECT_EQ(later, first);
  EXPECT_CUDA(cuMemFreeAsync(later, other));
  EXPECT_CUDA(cuMemFreeAsync(elsewhere, other));
  EXPECT_CUDA(cuMemPoolDestroy(pool));
}

TEST_F(MemoryPools, LimitOfThePoolAndOfTheDevice) {
  CUmemoryPool pool = create(8 * mebibyte);
  CUdeviceptr first = 0;
  CUdeviceptr second = 0;
  ASSERT_CUDA(cuMemAllocFromPoolAsync(&first, 8 * mebibyte, pool, stream));
  EXPECT_EQ(cuMemAllocFromPoolAsync(&second, 1, pool, stream), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_CUDA(cuMemFreeAsync(first, stream));
  EXPECT_CUDA(cuStreamSynchronize(stream));
  CUmemoryPool unlimited = create(0);
  EXPECT_EQ(cuMemAllocFromPoolAsync(&first, memory + mebibyte, unlimited, stream), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_CUDA(cuMemAllocFromPoolAsync(&first, 100 * mebibyte, unlimited, stream));
  EXPECT_LE(free_memory(), memory - 100 * mebibyte);
  EXPECT_CUDA(cuMemFreeAsync(first, stream));
  EXPECT_CUDA(cuMemPoolDestroy(pool));
  EXPECT_CUDA(cuMemPoolDestroy(unlimited));
}

TEST_F(MemoryPools, ReleaseThresholdDecidesWhatASynchronizationGivesBack) {
  CUmemoryPool pool = create(0);
  CUdeviceptr pointer = 0;
  keep(pool, UINT64_MAX);
  ASSERT_CUDA(cuMemAllocFromPoolAsync(&pointer, 40 * mebibyte, pool, stream));
  ASSERT_CUDA(cuMemFreeAsync(pointer, stream));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 40 * mebibyte);
  keep(pool, 0);
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0U);
  EXPECT_EQ(value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 40 * mebibyte);
  EXPECT_EQ(free_memory(), memory);
  EXPECT_CUDA(cuMemPoolDestroy(pool));
}

TEST_F(MemoryPools, TrimKeepsWhatIsInUse) {
  CUmemoryPool pool = create(0);
  keep(pool, UINT64_MAX);
  CUdeviceptr kept = 0;
  CUdeviceptr freed = 0;
  ASSERT_CUDA(cuMemAllocFromPoolAsync(&kept, 32 * mebibyte, pool, stream));
  ASSERT_CUDA(cuMemAllocFromPoolAsync(&freed, 32 * mebibyte, pool, stream));
  ASSERT_CUDA(cuMemFreeAsync(freed, stream));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  ASSERT_CUDA(cuMemPoolTrimTo(pool, 0));
  EXPECT_EQ(value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 32 * mebibyte);
  // Destroying the pool leaves the allocation alive; its memory goes back when it is freed.
  ASSERT_CUDA(cuMemPoolDestroy(pool));
  EXPECT_EQ(cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE);
  *reinterpret_cast<int*>(kept) = 1;
  ASSERT_CUDA(cuMemFree(kept));
  EXPECT_EQ(free_memory(), memory);
}

TEST_F(MemoryPools, CurrentPoolOfTheDeviceCanBeReplaced) {
  CUmemoryPool pool = create(0);
  ASSERT_CUDA(cuDeviceSetMemPool(device, pool));
  CUdeviceptr pointer = 0;
  ASSERT_CUDA(cuMemAllocAsync(&pointer, 64, stream));
  EXPECT_EQ(value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 512U);
  ASSERT_CUDA(cuMemFreeAsync(pointer, stream));
  ASSERT_CUDA(cuMemPoolDestroy(pool));
  CUmemoryPool current = nullptr;
  CUmemoryPool by_default = nullptr;
  ASSERT_CUDA(cuDeviceGetMemPool(&current, device));
  ASSERT_CUDA(cuDeviceGetDefaultMemPool(&by_default, device));
  EXPECT_EQ(current, by_default);
}

TEST_F(MemoryPools, ServingFromReservedMemoryDoesNotWaitForASpinningKernel) {
  CUmemoryPool pool = nullptr;
  ASSERT_CUDA(cuDeviceGetDefaultMemPool(&pool, device));
  keep(pool, UINT64_MAX);
  CUdeviceptr pointer = 0;
  ASSERT_CUDA(cuMemAllocAsync(&pointer, mebibyte, stream));
  ASSERT_CUDA(cuMemFreeAsync(pointer, stream));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  CUstream other = nullptr;
  ASSERT_CUDA(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  start_spinning(stream);
  ASSERT_CUDA(cuMemAllocAsync(&pointer, mebibyte, other));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  ASSERT_CUDA(cuMemFreeAsync(pointer, other));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
}

}  // namespace
