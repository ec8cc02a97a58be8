// Shared by the tests of the simulated driver's memory, modules and graphs: a process on one simulated device with its
// primary context current, and a few kernels with host functions. Each test is a process of its own under CTest.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "simgpu/kernels.h"

#define EXPECT_CUDA(call) EXPECT_EQ((call), CUDA_SUCCESS)
#define ASSERT_CUDA(call) ASSERT_EQ((call), CUDA_SUCCESS)

namespace device_test {

inline std::atomic<bool> let_spinning_kernels_end{false};
inline std::atomic<bool> spinning_kernel_has_started{false};

inline void add_to(const simgpu_launch&, int* data, int count, int value) {
  for (int index = 0; index < count; ++index) data[index] += value;
}
inline simgpu_cost add_cost(const simgpu_launch&, int*, int count, int) {
  return {static_cast<double>(count), 0};
}

inline void multiply(const simgpu_launch&, int* data, int count, int value) {
  for (int index = 0; index < count; ++index) data[index] *= value;
}

inline int spin(const simgpu_launch*, int64_t, int64_t now, int64_t* finish) {
  spinning_kernel_has_started = true;
  if (!let_spinning_kernels_end.load()) return 0;
  *finish = now;
  return 1;
}

inline const simgpu_kernel* kernels() {
  static const simgpu_kernel heavy = [] {
    simgpu_kernel kernel{};
    kernel.struct_size = sizeof(kernel);
    kernel.name = "heavy";
    kernel.registers_per_thread = 128;
    kernel.static_shared_bytes = 16 * 1024;
    return kernel;
  }();
  static const simgpu_kernel spinning = [] {
    simgpu_kernel kernel{};
    kernel.struct_size = sizeof(kernel);
    kernel.name = "spin";
    kernel.step = spin;
    return kernel;
  }();
  static const simgpu_kernel all[] = {simgpu::kernel<&add_to, &add_cost>("add_to"),
                                      simgpu::kernel<&multiply, &add_cost>("multiply"), heavy, spinning};
  return all;
}

class DeviceTest : public testing::Test {
 protected:
  static constexpr std::size_t memory = std::size_t{256} << 20;

  void SetUp() override {
    setenv("SIMGPU_MEMORY", "268435456", 1);
    ASSERT_CUDA(cuInit(0));
    ASSERT_CUDA(cuDeviceGet(&device, 0));
    ASSERT_CUDA(cuDevicePrimaryCtxRetain(&context, device));
    ASSERT_CUDA(cuCtxSetCurrent(context));
    static const unsigned char bytes[] = SIMGPU_SERVICES_UUID_BYTES;
    CUuuid id;
    std::memcpy(id.bytes, bytes, sizeof(bytes));
    const void* table = nullptr;
    ASSERT_CUDA(cuGetExportTable(&table, &id));
    services = static_cast<const simgpu_services*>(table);
    static const simgpu_kernel_list list = {sizeof(simgpu_kernel_list), 4, kernels()};
    ASSERT_EQ(services->register_kernels(&list), 0);
    static const char ptx[] = ".version 9.0\n.target sm_90\n";
    ASSERT_CUDA(cuModuleLoadData(&module, ptx));
    ASSERT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }

  void TearDown() override {
    let_spinning_kernels_end = true;
    if (services != nullptr) services->ring();
    EXPECT_CUDA(cuCtxSynchronize());
    let_spinning_kernels_end = false;
  }

  CUfunction function(const char* name) {
    CUfunction found = nullptr;
    EXPECT_CUDA(cuModuleGetFunction(&found, module, name));
    return found;
  }

  // Launches add_to or multiply.
  CUresult launch(const char* name, CUdeviceptr data, int count, int value, CUstream on) {
    void* parameters[] = {&data, &count, &value};
    return cuLaunchKernel(function(name), 4, 1, 1, 32, 1, 1, 0, on, parameters, nullptr);
  }

  void start_spinning(CUstream on) {
    ASSERT_CUDA(cuLaunchKernel(function("spin"), 1, 1, 1, 32, 1, 1, 0, on, nullptr, nullptr));
    while (!spinning_kernel_has_started.load()) std::this_thread::yield();
  }
  void end_spinning() {
    let_spinning_kernels_end = true;
    services->ring();
  }

  std::size_t free_memory() {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_CUDA(cuMemGetInfo_v2(&free, &total));
    EXPECT_EQ(total, memory);
    return free;
  }

  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUstream stream = nullptr;
  const simgpu_services* services = nullptr;
};

}  // namespace device_test
