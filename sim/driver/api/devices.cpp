// cuInit, versions and what there is to know about a device. Any thread.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "api/api.h"
#include "simgpu/constants.h"

using namespace simgpu;

namespace {

constexpr char device_name[] = "Simulated GPU (not hardware)";

// Sorted by attribute; those that are not here are 0: not supported, or not there.
constexpr std::pair<int, int> attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, int{constants::shared_per_block}},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 * 1024},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, int{constants::registers_per_multiprocessor}},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 512},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 * 1024 * 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, int{constants::threads_per_multiprocessor}},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, int{constants::shared_per_multiprocessor}},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, int{constants::registers_per_multiprocessor}},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, int{constants::shared_per_block_opt_in}},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, int{constants::blocks_per_multiprocessor}},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, int{constants::reserved_shared_per_block}},
    {CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
    {CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, 4},
    {CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0},
};

CUuuid uuid_of(const Device& device) {
  CUuuid uuid{};
  std::memcpy(uuid.bytes, "simulated-gpu-", 14);
  uuid.bytes[15] = static_cast<char>(device.ordinal);
  return uuid;
}

constexpr int pci_bus = 0xf0;  // no such slot in machines that have been seen

}  // namespace

SIMGPU_API cuInit(unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return initialize();
}

SIMGPU_API cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = reported_driver_version();
  return CUDA_SUCCESS;
}

SIMGPU_API cuDeviceGet(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* found = nullptr;
  if (const CUresult result = find_device(ordinal, found); result != CUDA_SUCCESS) return result;
  *device = ordinal;
  return CUDA_SUCCESS;
}

SIMGPU_API cuDeviceGetCount(int* count) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(engine().devices().size());
  return CUDA_SUCCESS;
}

SIMGPU_API cuDeviceGetName(char* name, int len, CUdevice dev) {
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  if (name == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(name, static_cast<std::size_t>(len), "%s", device_name);
  return CUDA_SUCCESS;
}

SIMGPU_API cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) {
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *uuid = uuid_of(*device);
  return CUDA_SUCCESS;
}

SIMGPU_API cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) {
  return cuDeviceGetUuid_v2(uuid, dev);
}

SIMGPU_API cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *bytes = device->memory.total();
  return CUDA_SUCCESS;
}

SIMGPU_API cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  if (pi == nullptr || attrib <= 0 || attrib >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  if (attrib == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) {
    *pi = static_cast<int>(engine().settings().multiprocessors);
    return CUDA_SUCCESS;
  }
  if (attrib == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) {
    *pi = pci_bus + device->ordinal;
    return CUDA_SUCCESS;
  }
  const auto* found = std::find_if(std::begin(attributes), std::end(attributes),
                                   [&](const auto& entry) { return entry.first == static_cast<int>(attrib); });
  *pi = found == std::end(attributes) ? 0 : found->second;
  return CUDA_SUCCESS;
}

SIMGPU_API cuDeviceComputeCapability(int* major, int* minor, CUdevice dev) {
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *major = 9;
  *minor = 0;
  return CUDA_SUCCESS;
}

SIMGPU_API cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  if (pciBusId == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(pciBusId, static_cast<std::size_t>(len), "0000:%02X:00.0",
                static_cast<unsigned>(pci_bus + device->ordinal));
  return CUDA_SUCCESS;
}

SIMGPU_API cuDeviceGetByPCIBusId(CUdevice* dev, const char* pciBusId) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (dev == nullptr || pciBusId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned domain = 0;
  unsigned bus = 0;
  if (std::sscanf(pciBusId, "%x:%x", &domain, &bus) != 2) return CUDA_ERROR_INVALID_VALUE;
  const int ordinal = static_cast<int>(bus) - pci_bus;
  Device* device = nullptr;
  if (const CUresult result = find_device(ordinal, device); result != CUDA_SUCCESS) return result;
  *dev = ordinal;
  return CUDA_SUCCESS;
}

SIMGPU_API cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  Device* device = nullptr;
  Device* peer = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_device(peerDev, peer); result != CUDA_SUCCESS) return result;
  if (canAccessPeer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *canAccessPeer = 0;
  return CUDA_SUCCESS;
}

SIMGPU_API cuDeviceGetExecAffinitySupport(int* pi, CUexecAffinityType type, CUdevice dev) {
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  if (pi == nullptr || type < 0 || type >= CU_EXEC_AFFINITY_TYPE_MAX) return CUDA_ERROR_INVALID_VALUE;
  *pi = 0;
  return CUDA_SUCCESS;
}
