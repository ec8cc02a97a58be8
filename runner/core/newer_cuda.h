// Types of CUDA 13.1 for a cuda.h that is older: the workqueues that a green context asks for.
//
// Included by the core, the GPU probes, the simulated driver and the tests; plain values, no call. The functions are
// those of CUDA 12.4. A resource is as large in all releases, and lies at the same place within it; that this is so of
// a newer cuda.h is asserted where there is one.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstring>

namespace weft {

// The first driver that knows workqueues; an older one answers CUDA_ERROR_INVALID_RESOURCE_TYPE.
inline constexpr int first_driver_with_workqueues = 13010;

inline constexpr int workqueue_config_type = 1000;
inline constexpr unsigned workqueue_scope_device_context = 0;  // shares the queues of all contexts
inline constexpr unsigned workqueue_scope_balanced = 1;  // where possible no queue of another balanced green context

struct WorkqueueConfig {
  CUdevice device;
  unsigned concurrency_limit;  // streams that are expected to have work at the same time
  unsigned scope;              // one of the above
};

inline constexpr std::size_t workqueue_config_offset = offsetof(CUdevResource, sm);
static_assert(sizeof(CUdevResource) == 144 && workqueue_config_offset == 96 && sizeof(WorkqueueConfig) == 12,
              "CUdevResource has another layout");

#if CUDA_VERSION >= 13010
static_assert(CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG == workqueue_config_type &&
                  CU_WORKQUEUE_SCOPE_DEVICE_CTX == workqueue_scope_device_context &&
                  CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED == workqueue_scope_balanced,
              "workqueues have other numbers");
static_assert(offsetof(CUdevResource, wqConfig) == workqueue_config_offset &&
                  offsetof(CUdevWorkqueueConfigResource, device) == offsetof(WorkqueueConfig, device) &&
                  offsetof(CUdevWorkqueueConfigResource, wqConcurrencyLimit) ==
                      offsetof(WorkqueueConfig, concurrency_limit) &&
                  offsetof(CUdevWorkqueueConfigResource, sharingScope) == offsetof(WorkqueueConfig, scope) &&
                  sizeof(CUdevWorkqueueConfigResource) == sizeof(WorkqueueConfig),
              "CUdevWorkqueueConfigResource has another layout");
#endif

// An enumeration that lacks the number cannot be made from it by a cast.
inline CUdevResourceType resource_type_workqueue_config() {
  static_assert(sizeof(CUdevResourceType) == sizeof workqueue_config_type);
  CUdevResourceType type{};
  std::memcpy(&type, &workqueue_config_type, sizeof type);
  return type;
}
inline int type_of(const CUdevResource& resource) {
  int type = 0;
  std::memcpy(&type, &resource.type, sizeof type);
  return type;
}
// Of a resource of that type.
inline WorkqueueConfig workqueue_config(const CUdevResource& resource) {
  WorkqueueConfig config{};
  std::memcpy(&config, reinterpret_cast<const char*>(&resource) + workqueue_config_offset, sizeof config);
  return config;
}
inline void set_workqueue_config(CUdevResource& resource, const WorkqueueConfig& config) {
  std::memcpy(reinterpret_cast<char*>(&resource) + workqueue_config_offset, &config, sizeof config);
}

}  // namespace weft
