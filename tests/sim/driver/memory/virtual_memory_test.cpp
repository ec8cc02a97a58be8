// Virtual memory management: reserve, create, map, set access, and the ways to get each of them wrong.
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "tests/sim/driver/device_test.h"

namespace {

using device_test::DeviceTest;

class VirtualMemory : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    ASSERT_CUDA(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }

  // New memory at these addresses, of which nobody else has a handle.
  void map(CUdeviceptr address, std::size_t bytes) {
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_CUDA(cuMemCreate(&handle, bytes, &properties, 0));
    ASSERT_CUDA(cuMemMap(address, bytes, 0, handle, 0));
    ASSERT_CUDA(cuMemRelease(handle));
    ASSERT_CUDA(cuMemSetAccess(address, bytes, &access, 1));
  }

  CUmemAllocationProp properties{};
  CUmemAccessDesc access{};
  std::size_t granularity = 0;
};

TEST_F(VirtualMemory, MappedMemoryIsUsedAndGivenBackWithoutLosingItsAddress) {
  CUdeviceptr address = 0;
  ASSERT_CUDA(cuMemAddressReserve(&address, 8 * granularity, 0, 0, 0));
  EXPECT_EQ(free_memory(), memory);
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_CUDA(cuMemCreate(&handle, 2 * granularity, &properties, 0));
  EXPECT_EQ(free_memory(), memory - 2 * granularity);
  ASSERT_CUDA(cuMemMap(address + granularity, 2 * granularity, 0, handle, 0));
  ASSERT_CUDA(cuMemSetAccess(address + granularity, 2 * granularity, &access, 1));
  ASSERT_CUDA(cuMemRelease(handle));
  EXPECT_EQ(free_memory(), memory - 2 * granularity);

  const CUdeviceptr data = address + granularity;
  ASSERT_CUDA(cuMemsetD32Async(data, 5, 16, stream));
  ASSERT_CUDA(launch("add_to", data, 16, 6, stream));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  int value = 0;
  ASSERT_CUDA(cuMemcpyDtoH(&value, data + 60, sizeof(value)));
  EXPECT_EQ(value, 11);

  EXPECT_EQ(cuMemAddressFree(address, 8 * granularity), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemUnmap(data, granularity), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CUDA(cuMemUnmap(data, 2 * granularity));
  EXPECT_EQ(free_memory(), memory);
  EXPECT_CUDA(cuMemAddressFree(address, 8 * granularity));
  EXPECT_EQ(cuMemAddressFree(address, 8 * granularity), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualMemory, OtherMemoryAtTheSameAddressHoldsNeitherZerosNorTheOldContent) {
  CUdeviceptr address = 0;
  ASSERT_CUDA(cuMemAddressReserve(&address, 2 * granularity, 0, 0, 0));
  map(address, 2 * granularity);
  ASSERT_CUDA(cuMemsetD8(address, 7, 2 * granularity));
  ASSERT_CUDA(cuCtxSynchronize());
  ASSERT_CUDA(cuMemUnmap(address, 2 * granularity));
  map(address, 2 * granularity);
  std::vector<unsigned char> content(2 * granularity);
  ASSERT_CUDA(cuMemcpyDtoH(content.data(), address, content.size()));
  EXPECT_EQ(std::count(content.begin(), content.end(), 0), 0);
  EXPECT_EQ(std::count(content.begin(), content.end(), 7), 0);
  ASSERT_CUDA(launch("add_to", address, 16, 6, stream));
  EXPECT_CUDA(cuStreamSynchronize(stream));
  EXPECT_CUDA(cuMemUnmap(address, 2 * granularity));
  EXPECT_CUDA(cuMemAddressFree(address, 2 * granularity));
}

TEST_F(VirtualMemory, AnAddressWithoutMemoryIsRefusedAndGetsSomeWhenTheDeviceHasIt) {
  CUdeviceptr address = 0;
  int value = 0;
  ASSERT_CUDA(cuMemAddressReserve(&address, granularity, 0, 0, 0));
  map(address, granularity);
  ASSERT_CUDA(cuMemUnmap(address, granularity));
  EXPECT_EQ(cuMemcpyHtoDAsync(address, &value, sizeof(value), stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoHAsync(&value, address, sizeof(value), stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8Async(address, 0, 1, stream), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr others = 0;
  ASSERT_CUDA(cuMemAlloc(&others, memory));
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemCreate(&handle, granularity, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_CUDA(cuMemFree(others));
  map(address, granularity);
  EXPECT_CUDA(cuMemcpyHtoDAsync(address, &value, sizeof(value), stream));
  EXPECT_CUDA(cuStreamSynchronize(stream));
  EXPECT_CUDA(cuMemUnmap(address, granularity));
  EXPECT_CUDA(cuMemAddressFree(address, granularity));
}

TEST_F(VirtualMemory, AKernelThatWritesToUnmappedAddressesFaults) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  CUdeviceptr address = 0;
  ASSERT_CUDA(cuMemAddressReserve(&address, granularity, 0, 0, 0));
  map(address, granularity);
  ASSERT_CUDA(cuMemUnmap(address, granularity));
  EXPECT_DEATH(
      {
        launch("add_to", address, 16, 6, stream);
        cuStreamSynchronize(stream);
      },
      "");
  EXPECT_CUDA(cuMemAddressFree(address, granularity));
}

TEST_F(VirtualMemory, SizesAndHandlesAreChecked) {
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemCreate(&handle, granularity + 1, &properties, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemCreate(&handle, memory + granularity, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemRelease(12345), CUDA_ERROR_INVALID_VALUE);
  properties.location.id = 99;
  EXPECT_EQ(cuMemCreate(&handle, granularity, &properties, 0), CUDA_ERROR_INVALID_DEVICE);
  properties.location.id = 0;
  ASSERT_CUDA(cuMemCreate(&handle, granularity, &properties, 0));
  CUdeviceptr address = 0;
  ASSERT_CUDA(cuMemAddressReserve(&address, granularity, 0, 0, 0));
  EXPECT_EQ(cuMemMap(address, 2 * granularity, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemMap(address + granularity, granularity, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CUDA(cuMemMap(address, granularity, 0, handle, 0));
  EXPECT_EQ(cuMemMap(address, granularity, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuMemUnmap(address, granularity));
  EXPECT_CUDA(cuMemRelease(handle));
  EXPECT_EQ(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuMemAddressFree(address, granularity));
}

TEST_F(VirtualMemory, ExportedMemoryIsTheSameMemory) {
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_CUDA(cuMemCreate(&handle, granularity, &properties, 0));
  int file = -1;
  ASSERT_CUDA(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemGenericAllocationHandle imported = 0;
  ASSERT_CUDA(cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(static_cast<std::intptr_t>(file)),
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(file);
  CUdeviceptr address = 0;
  ASSERT_CUDA(cuMemAddressReserve(&address, 2 * granularity, 0, 0, 0));
  ASSERT_CUDA(cuMemMap(address, granularity, 0, handle, 0));
  ASSERT_CUDA(cuMemMap(address + granularity, granularity, 0, imported, 0));
  ASSERT_CUDA(cuMemSetAccess(address, 2 * granularity, &access, 1));
  *reinterpret_cast<int*>(address) = 77;
  EXPECT_EQ(*reinterpret_cast<int*>(address + granularity), 77);
  unsigned long long flags = 0;
  EXPECT_CUDA(cuMemGetAccess(&flags, &access.location, address));
  EXPECT_EQ(flags, static_cast<unsigned long long>(CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  EXPECT_CUDA(cuMemUnmap(address, 2 * granularity));
  EXPECT_CUDA(cuMemAddressFree(address, 2 * granularity));
  EXPECT_CUDA(cuMemRelease(handle));
  EXPECT_CUDA(cuMemRelease(imported));
}

TEST_F(VirtualMemory, TheHandleOfAMappingCanBeHadBack) {
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_CUDA(cuMemCreate(&handle, granularity, &properties, 0));
  CUdeviceptr address = 0;
  ASSERT_CUDA(cuMemAddressReserve(&address, granularity, 0, 0, 0));
  ASSERT_CUDA(cuMemMap(address, granularity, 0, handle, 0));
  ASSERT_CUDA(cuMemRelease(handle));
  CUmemGenericAllocationHandle retained = 0;
  ASSERT_CUDA(cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(address + 4096)));
  CUmemAllocationProp found{};
  EXPECT_CUDA(cuMemGetAllocationPropertiesFromHandle(&found, retained));
  EXPECT_EQ(found.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  ASSERT_CUDA(cuMemUnmap(address, granularity));
  EXPECT_EQ(free_memory(), memory - granularity);
  ASSERT_CUDA(cuMemRelease(retained));
  EXPECT_EQ(free_memory(), memory);
  unsigned mapped = 1;
  EXPECT_CUDA(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, address));
  EXPECT_EQ(mapped, 0U);
  EXPECT_CUDA(cuMemAddressFree(address, granularity));
}

}  // namespace
