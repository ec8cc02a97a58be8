// Plain device memory, page-locked host memory, capacity, pointer attributes, and what waits next to a spinning kernel.
#include <unistd.h>

#include <vector>

#include "tests/sim/driver/device_test.h"

namespace {

using device_test::DeviceTest;

class PlainMemory : public DeviceTest {};

TEST_F(PlainMemory, AllocationIsZeroCostUntilTouchedAndCounted) {
  const std::size_t before = free_memory();
  CUdeviceptr pointer = 0;
  ASSERT_CUDA(cuMemAlloc(&pointer, std::size_t{100} << 20));
  EXPECT_EQ(free_memory(), before - (std::size_t{100} << 20));
  ASSERT_CUDA(cuMemFree(pointer));
  EXPECT_EQ(free_memory(), before);
}

TEST_F(PlainMemory, CapacityIsAHardLimit) {
  CUdeviceptr first = 0;
  CUdeviceptr second = 0;
  ASSERT_CUDA(cuMemAlloc(&first, memory - (std::size_t{1} << 20)));
  EXPECT_EQ(cuMemAlloc(&second, std::size_t{2} << 20), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_CUDA(cuMemAlloc(&second, std::size_t{1} << 20));
  EXPECT_EQ(free_memory(), 0U);
  EXPECT_CUDA(cuMemFree(first));
  EXPECT_CUDA(cuMemFree(second));
  EXPECT_EQ(cuMemAlloc(&second, SIZE_MAX - 100), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(PlainMemory, BadArgumentsAreRefused) {
  CUdeviceptr pointer = 0;
  EXPECT_EQ(cuMemAlloc(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuMemFree(0));
  ASSERT_CUDA(cuMemAlloc(&pointer, 4096));
  EXPECT_EQ(cuMemFree(pointer + 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuMemFree(pointer));
  EXPECT_EQ(cuMemFree(pointer), CUDA_ERROR_INVALID_VALUE);
  int on_stack = 0;
  EXPECT_EQ(cuMemFreeHost(&on_stack), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PlainMemory, PitchIsARowOfWholeUnits) {
  CUdeviceptr pointer = 0;
  std::size_t pitch = 0;
  ASSERT_CUDA(cuMemAllocPitch(&pointer, &pitch, 1000, 10, 4));
  EXPECT_EQ(pitch, 1024U);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  ASSERT_CUDA(cuMemGetAddressRange(&base, &size, pointer + 5000));
  EXPECT_EQ(base, pointer);
  EXPECT_EQ(size, 10240U);
  EXPECT_EQ(cuMemGetAddressRange(&base, &size, pointer + 10240), CUDA_ERROR_NOT_FOUND);
  EXPECT_CUDA(cuMemFree(pointer));
}

TEST_F(PlainMemory, FreedMemoryFaultsWhenItIsUsed) {
  CUdeviceptr pointer = 0;
  ASSERT_CUDA(cuMemAlloc(&pointer, 4096));
  *reinterpret_cast<int*>(pointer) = 7;
  ASSERT_CUDA(cuMemFree(pointer));
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  // A system call that reads the address reports it instead of faulting.
  EXPECT_LT(write(pipe_ends[1], reinterpret_cast<const void*>(pointer), 4), 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST_F(PlainMemory, AStreamWriteToFreedMemoryIsRefused) {
  CUdeviceptr memory_block = 0;
  ASSERT_CUDA(cuMemAlloc(&memory_block, 512));
  ASSERT_CUDA(cuStreamWriteValue32(stream, memory_block, 1, 0));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  ASSERT_CUDA(cuMemFree(memory_block));
  EXPECT_EQ(cuStreamWriteValue32(stream, memory_block, 1, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PlainMemory, HostMemoryIsAllocatedAndRegistered) {
  void* allocated = nullptr;
  ASSERT_CUDA(cuMemHostAlloc(&allocated, 10000, CU_MEMHOSTALLOC_PORTABLE));
  CUdeviceptr on_device = 0;
  EXPECT_CUDA(cuMemHostGetDevicePointer(&on_device, allocated, 0));
  EXPECT_EQ(on_device, reinterpret_cast<CUdeviceptr>(allocated));
  unsigned flags = 0;
  EXPECT_CUDA(cuMemHostGetFlags(&flags, allocated));
  EXPECT_EQ(flags & CU_MEMHOSTALLOC_PORTABLE, unsigned{CU_MEMHOSTALLOC_PORTABLE});
  EXPECT_CUDA(cuMemFreeHost(allocated));

  std::vector<char> own(8192);
  EXPECT_EQ(cuMemHostUnregister(own.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  ASSERT_CUDA(cuMemHostRegister(own.data(), own.size(), 0));
  EXPECT_EQ(cuMemHostRegister(own.data() + 100, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  unsigned type = 0;
  EXPECT_CUDA(
      cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(own.data())));
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_HOST});
  EXPECT_CUDA(cuMemHostUnregister(own.data()));
  EXPECT_EQ(cuMemHostUnregister(own.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(PlainMemory, PointerAttributesDescribeTheRange) {
  CUdeviceptr pointer = 0;
  ASSERT_CUDA(cuMemAlloc(&pointer, 5000));
  unsigned type = 0;
  int ordinal = -1;
  CUcontext of = nullptr;
  CUdeviceptr start = 0;
  std::size_t size = 0;
  unsigned managed = 1;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                      CU_POINTER_ATTRIBUTE_CONTEXT,     CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                      CU_POINTER_ATTRIBUTE_RANGE_SIZE,  CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void* values[] = {&type, &ordinal, &of, &start, &size, &managed};
  ASSERT_CUDA(cuPointerGetAttributes(6, attributes, values, pointer + 4999));
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(of, context);
  EXPECT_EQ(start, pointer);
  EXPECT_EQ(size, 5000U);
  EXPECT_EQ(managed, 0U);
  void* host = nullptr;
  EXPECT_EQ(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, pointer), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CUDA(cuMemFree(pointer));
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuPointerGetAttributes(6, attributes, values, pointer));
  EXPECT_EQ(type, 0U);
  EXPECT_EQ(ordinal, CU_DEVICE_INVALID);
}

TEST_F(PlainMemory, ManagedMemoryIsReadByBothSides) {
  CUdeviceptr pointer = 0;
  ASSERT_CUDA(cuMemAllocManaged(&pointer, 4 * sizeof(int), CU_MEM_ATTACH_GLOBAL));
  auto* const data = reinterpret_cast<int*>(pointer);
  data[3] = 40;
  const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  EXPECT_CUDA(cuMemPrefetchAsync(pointer, 16, location, 0, stream));
  EXPECT_CUDA(cuMemAdvise(pointer, 16, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, location));
  EXPECT_EQ(cuMemPrefetchAsync(pointer, 17, location, 0, stream), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CUDA(launch("add_to", pointer, 4, 2, stream));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(data[3], 42);
  EXPECT_CUDA(cuMemFree(pointer));
}

TEST_F(PlainMemory, AllocationWaitsForASpinningKernel) {
  start_spinning(stream);
  std::atomic<bool> allocated = false;
  CUdeviceptr pointer = 0;
  std::thread other([&] {
    EXPECT_CUDA(cuCtxSetCurrent(context));
    EXPECT_CUDA(cuMemAlloc(&pointer, 4096));
    allocated = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(allocated);
  end_spinning();
  other.join();
  EXPECT_TRUE(allocated);
  EXPECT_CUDA(cuMemFree(pointer));
}

TEST_F(PlainMemory, ResettingTheContextGivesEverythingBack) {
  CUdeviceptr pointer = 0;
  ASSERT_CUDA(cuMemAlloc(&pointer, std::size_t{50} << 20));
  ASSERT_CUDA(cuDevicePrimaryCtxReset(device));
  ASSERT_CUDA(cuDevicePrimaryCtxRetain(&context, device));
  ASSERT_CUDA(cuCtxSetCurrent(context));
  EXPECT_EQ(free_memory(), memory);
}

}  // namespace
