// See the header.
#include "runner/fill/green_stream.h"

#include <utility>

#include "runner/core/newer_cuda.h"

namespace weft {
namespace {

// A green context belongs to the primary context: nothing of another one could be used in it.
void check_primary(const Driver& driver, CUdevice device) {
  CUcontext current = nullptr, primary = nullptr;
  unsigned flags = 0;
  int active = 0;
  check(driver, driver.cuDevicePrimaryCtxGetState(device, &flags, &active), "cuDevicePrimaryCtxGetState");
  if (active == 0) throw SetUpError("the training does not use the primary context of its GPU");  // nor is it made
  check(driver, driver.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  check(driver, driver.cuDevicePrimaryCtxRetain(&primary, device), "cuDevicePrimaryCtxRetain");
  check(driver, driver.cuDevicePrimaryCtxRelease_v2(device), "cuDevicePrimaryCtxRelease");
  if (current != primary) throw SetUpError("the training does not use the primary context of its GPU");
}

}  // namespace

CUstream GreenStream::make(int device) {
  if (driver_.cuDeviceGetDevResource == nullptr || driver_.cuDevResourceGenerateDesc == nullptr ||
      driver_.cuGreenCtxCreate == nullptr || driver_.cuGreenCtxDestroy == nullptr ||
      driver_.cuGreenCtxStreamCreate == nullptr)
    throw SetUpError("the driver has no green contexts");
  CUdevice found{};
  check(driver_, driver_.cuDeviceGet(&found, device), "cuDeviceGet");
  check_primary(driver_, found);
  try {
    return make_stream(found);
  } catch (...) {
    destroy();
    throw;
  }
}

CUstream GreenStream::make_stream(CUdevice device) {
  CUdevResource resource{};
  check(driver_, driver_.cuDeviceGetDevResource(device, &resource, resource_type_workqueue_config()),
        "cuDeviceGetDevResource");
  WorkqueueConfig config = workqueue_config(resource);
  config.concurrency_limit = 1;
  config.scope = workqueue_scope_balanced;
  set_workqueue_config(resource, config);
  CUdevResourceDesc description = nullptr;
  check(driver_, driver_.cuDevResourceGenerateDesc(&description, &resource, 1), "cuDevResourceGenerateDesc");
  check(driver_, driver_.cuGreenCtxCreate(&context_, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
        "cuGreenCtxCreate");
  int least = 0, greatest = 0;
  check(driver_, driver_.cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
  check(driver_, driver_.cuGreenCtxStreamCreate(&stream_, context_, CU_STREAM_NON_BLOCKING, least),
        "cuGreenCtxStreamCreate");
  return stream_;
}

void GreenStream::destroy() noexcept {
  if (stream_ != nullptr) driver_.cuStreamDestroy_v2(std::exchange(stream_, nullptr));
  if (context_ != nullptr) driver_.cuGreenCtxDestroy(std::exchange(context_, nullptr));
}

}  // namespace weft
