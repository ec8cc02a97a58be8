// Memory: allocation, copies, fills, pools, variables, and what the runtime says about a pointer.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "kernels.h"
#include "owners.h"

namespace {

std::vector<int> counting(size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(Memory, NothingAllocatedIsNull) {
  void* pointer = &pointer;
  EXPECT_EQ(cudaMalloc(&pointer, 0), cudaSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(nullptr), cudaSuccess);
  EXPECT_EQ(cudaMalloc(nullptr, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST(Memory, TooMuchIsAnErrorThatPasses) {
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, size_t{1} << 50), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Memory, FreeMemoryShrinksAndGrows) {
  size_t before = 0;
  size_t during = 0;
  size_t after = 0;
  size_t total = 0;
  constexpr size_t bytes = 64U << 20;
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  void* pointer = nullptr;
  ASSERT_EQ(cudaMalloc(&pointer, bytes), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&during, &total), cudaSuccess);
  ASSERT_EQ(cudaFree(pointer), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_LE(during + bytes, before);
  EXPECT_EQ(after, before);
  EXPECT_LE(before, total);
}

TEST(Memory, CopiesInEveryDirection) {
  const std::vector<int> values = counting(1000);
  Device<int> first(1000);
  Device<int> second(1000);
  std::vector<int> back(1000);
  Stream stream(cudaStreamNonBlocking);
  const size_t bytes = 1000 * sizeof(int);
  ASSERT_EQ(cudaMemcpyAsync(first.get(), values.data(), bytes, cudaMemcpyHostToDevice, stream.get()), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(second.get(), first.get(), bytes, cudaMemcpyDeviceToDevice, stream.get()), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(back.data(), second.get(), bytes, cudaMemcpyDefault, stream.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(back, values);
  std::vector<int> again(1000);
  ASSERT_EQ(cudaMemcpy(again.data(), back.data(), bytes, cudaMemcpyHostToHost), cudaSuccess);
  EXPECT_EQ(again, values);
  constexpr auto no_direction = static_cast<cudaMemcpyKind>(7);
  EXPECT_EQ(cudaMemcpy(again.data(), back.data(), bytes, no_direction), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
}

TEST(Memory, CopiesAndFillsRows) {
  constexpr size_t width = 10 * sizeof(int);
  constexpr size_t rows = 7;
  void* pointer = nullptr;
  size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&pointer, &pitch, width, rows), cudaSuccess);
  ASSERT_GE(pitch, width);
  const std::vector<int> values = counting(70);
  std::vector<int> back(70);
  ASSERT_EQ(cudaMemcpy2D(pointer, pitch, values.data(), width, width, rows, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemset2D(pointer, pitch, 0, width, 1), cudaSuccess);
  ASSERT_EQ(cudaMemcpy2D(back.data(), width, pointer, pitch, width, rows, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(std::vector<int>(back.begin(), back.begin() + 10), std::vector<int>(10, 0));
  EXPECT_TRUE(std::equal(back.begin() + 10, back.end(), values.begin() + 10));
  EXPECT_EQ(cudaMemcpy2D(pointer, 1, values.data(), width, width, rows, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaFree(pointer), cudaSuccess);
}

TEST(Memory, CopiesBoxes) {
  const cudaExtent extent = make_cudaExtent(16, 3, 2);
  cudaPitchedPtr box = {};
  ASSERT_EQ(cudaMalloc3D(&box, extent), cudaSuccess);
  std::vector<unsigned char> values(16 * 3 * 2);
  std::iota(values.begin(), values.end(), static_cast<unsigned char>(1));
  std::vector<unsigned char> back(values.size());
  cudaMemcpy3DParms parameters = {};
  parameters.srcPtr = make_cudaPitchedPtr(values.data(), 16, 16, 3);
  parameters.dstPtr = box;
  parameters.extent = extent;
  parameters.kind = cudaMemcpyHostToDevice;
  ASSERT_EQ(cudaMemcpy3D(&parameters), cudaSuccess);
  parameters.dstPtr = make_cudaPitchedPtr(back.data(), 16, 16, 3);
  parameters.srcPtr = box;
  parameters.kind = cudaMemcpyDeviceToHost;
  ASSERT_EQ(cudaMemcpy3D(&parameters), cudaSuccess);
  EXPECT_EQ(back, values);
  ASSERT_EQ(cudaMemset3D(box, 9, extent), cudaSuccess);
  ASSERT_EQ(cudaMemcpy3D(&parameters), cudaSuccess);
  EXPECT_EQ(back, std::vector<unsigned char>(values.size(), 9));
  EXPECT_EQ(cudaFree(box.ptr), cudaSuccess);
}

TEST(Memory, PinnedMemoryIsSeenByTheDevice) {
  int* host = nullptr;
  ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&host), 4 * sizeof(int), cudaHostAllocMapped), cudaSuccess);
  std::memset(host, 0, 4 * sizeof(int));
  int* device = nullptr;
  ASSERT_EQ(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device), host, 0), cudaSuccess);
  launch_add_one(device, 4, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(host[3], 1);
  unsigned flags = 0;
  EXPECT_EQ(cudaHostGetFlags(&flags, host), cudaSuccess);
  EXPECT_NE(flags & cudaHostAllocMapped, 0U);
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
}

TEST(Memory, KnowsWhatAPointerIs) {
  Device<int> device(1);
  int* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), sizeof(int)), cudaSuccess);
  int plain = 0;
  cudaPointerAttributes attributes = {};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, device.get()), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.devicePointer, device.get());
  EXPECT_EQ(attributes.device, 0);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, pinned), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.hostPointer, pinned);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, &plain), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST(Memory, RegistersHostMemory) {
  std::vector<char> memory(1U << 16);
  EXPECT_EQ(cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterDefault),
            cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostUnregister(memory.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(memory.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaGetLastError(), cudaErrorHostMemoryNotRegistered);
}

TEST(Memory, AllocatesInStreamOrder) {
  Stream stream(cudaStreamNonBlocking);
  int* data = nullptr;
  ASSERT_EQ(cudaMallocAsync(reinterpret_cast<void**>(&data), 8 * sizeof(int), stream.get()), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(data, 0, 8 * sizeof(int), stream.get()), cudaSuccess);
  launch_add_one(data, 8, stream.get());
  std::vector<int> back(8);
  ASSERT_EQ(cudaMemcpyAsync(back.data(), data, 8 * sizeof(int), cudaMemcpyDeviceToHost, stream.get()), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(data, stream.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(back, std::vector<int>(8, 1));
}

TEST(Memory, PoolsCountAndTrim) {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = 0;
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  unsigned long long threshold = 1U << 30;
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold), cudaSuccess);
  Stream stream(cudaStreamNonBlocking);
  void* pointer = nullptr;
  ASSERT_EQ(cudaMallocFromPoolAsync(&pointer, 1U << 20, pool, stream.get()), cudaSuccess);
  unsigned long long used = 0;
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT_GE(used, 1U << 20);
  EXPECT_EQ(cudaFreeAsync(pointer, stream.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  cudaMemPool_t standard = nullptr;
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&standard, 0), cudaSuccess);
  EXPECT_NE(standard, nullptr);
}

TEST(Memory, VariablesAreWrittenAndRead) {
  const std::vector<int> values = counting(table_size);
  std::vector<int> back(table_size);
  const size_t bytes = table_size * sizeof(int);
  size_t size = 0;
  ASSERT_EQ(cudaGetSymbolSize(&size, table_symbol()), cudaSuccess);
  EXPECT_EQ(size, bytes);
  ASSERT_EQ(cudaMemcpyToSymbol(table_symbol(), values.data(), bytes, 0, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpyFromSymbol(back.data(), table_symbol(), bytes - 4, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back[0], 1);
  EXPECT_EQ(cudaMemcpyToSymbol(table_symbol(), values.data(), bytes, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  int something = 0;
  void* address = nullptr;
  EXPECT_EQ(cudaGetSymbolAddress(&address, &something), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidSymbol);
}

}  // namespace
