// Devices, versions, errors and driver entry points; and calls from static destructors, which every run of this program
// makes.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "kernels.h"
#include "owners.h"

namespace {

// Lives until after main: launches and frees when the program's device code and the driver may be gone already.
struct AtExit {
  ~AtExit() {
    launch_add_one(static_cast<int*>(memory), memory != nullptr ? 1 : 0, nullptr);
    static_cast<void>(cudaDeviceSynchronize());
    const cudaError_t error = cudaFree(memory);
    if (error != cudaSuccess && error != cudaErrorCudartUnloading) {
      std::fprintf(stderr, "cudaFree in a static destructor: %s\n", cudaGetErrorName(error));
      std::abort();
    }
  }
  void* memory = nullptr;
};
AtExit at_exit;

TEST(Device, IsTheSimulatedOne) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_GE(count, 1);
  cudaDeviceProp properties = {};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_NE(std::string(properties.name).find("Simulated"), std::string::npos);
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT_GT(properties.totalGlobalMem, 0U);
  int processors = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  EXPECT_EQ(processors, properties.multiProcessorCount);
}

TEST(Device, IsChosenByThread) {
  int device = -1;
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaSetDevice(63), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);
}

TEST(Device, HasABusAddress) {
  char address[32] = {};
  int device = -1;
  ASSERT_EQ(cudaDeviceGetPCIBusId(address, sizeof address, 0), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetByPCIBusId(&device, address), cudaSuccess);
  EXPECT_EQ(device, 0);
}

TEST(Device, Versions) {
  int runtime = 0;
  int driver = 0;
  ASSERT_EQ(cudaRuntimeGetVersion(&runtime), cudaSuccess);
  ASSERT_EQ(cudaDriverGetVersion(&driver), cudaSuccess);
  EXPECT_EQ(runtime, CUDART_VERSION);
  EXPECT_GE(driver, runtime);
}

TEST(Error, BelongsToItsThread) {
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  std::thread([] {
    EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  }).join();
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(Error, HasANameAndAText) {
  EXPECT_STREQ(cudaGetErrorName(cudaSuccess), "cudaSuccess");
  EXPECT_STREQ(cudaGetErrorName(cudaErrorStreamCaptureInvalidated), "cudaErrorStreamCaptureInvalidated");
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorApiFailureBase), "unrecognized error code");
}

TEST(Error, ForWhatIsNotSimulated) {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  EXPECT_EQ(format.x, 32);
  EXPECT_EQ(cudaMallocArray(&array, &format, 8, 8, 0), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
}

TEST(EntryPoint, IsTheDriversOwnFunction) {
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, &status), cudaSuccess);
  EXPECT_EQ(status, cudaDriverEntryPointSuccess);
  EXPECT_EQ(function, dlsym(library, "cuMemAlloc_v2"));
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuMemcpyAsync", &function, 12000, cudaEnableLegacyStream, &status),
            cudaSuccess);
  EXPECT_EQ(function, dlsym(library, "cuMemcpyAsync"));
  ASSERT_EQ(
      cudaGetDriverEntryPointByVersion("cuMemcpyAsync", &function, 12000, cudaEnablePerThreadDefaultStream, &status),
      cudaSuccess);
  EXPECT_EQ(function, dlsym(library, "cuMemcpyAsync_ptsz"));
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuMemcpyAsync", &function, 12000, cudaEnableDefault, &status),
            cudaSuccess);
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  EXPECT_EQ(function, dlsym(library, "cuMemcpyAsync_ptsz"));
#else
  EXPECT_EQ(function, dlsym(library, "cuMemcpyAsync"));
#endif
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuThereIsNoSuchThing", &function, 12000, cudaEnableDefault, &status),
            cudaSuccess);
  EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(function, nullptr);
}

TEST(EntryPoint, SharesContextAndStreamsWithTheRuntime) {
  Device<int> data(4);
  data.fill(0);
  Stream stream(cudaStreamNonBlocking);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cudaKernel_t kernel = nullptr;
  ASSERT_EQ(cudaGetKernel(&kernel, add_one_kernel()), cudaSuccess);
  void* address = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &address, 12000, cudaEnableDefault, &status),
            cudaSuccess);
  auto* launch = reinterpret_cast<PFN_cuLaunchKernel_v4000>(address);
  int* pointer = data.get();
  int count = 4;
  void* arguments[] = {&pointer, &count};
  ASSERT_EQ(launch(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, stream.get(), arguments, nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(data.read(), std::vector<int>(4, 1));
}

TEST(Exit, StaticDestructorsMayCall) {
  ASSERT_EQ(cudaMalloc(&at_exit.memory, 16), cudaSuccess);
}

}  // namespace
