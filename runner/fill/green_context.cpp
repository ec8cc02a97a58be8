// See the header.
#include "runner/fill/green_context.h"

#include <utility>

namespace weft {
namespace {

// Nothing of another context could be used in a green one.
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

CUdevice GreenContext::usable(int device) const {
  if (driver_.cuDeviceGetDevResource == nullptr || driver_.cuDevResourceGenerateDesc == nullptr ||
      driver_.cuGreenCtxCreate == nullptr || driver_.cuGreenCtxDestroy == nullptr ||
      driver_.cuGreenCtxStreamCreate == nullptr)
    throw SetUpError("the driver has no green contexts");
  CUdevice found{};
  check(driver_, driver_.cuDeviceGet(&found, device), "cuDeviceGet");
  check_primary(driver_, found);
  return found;
}

CUdevResource GreenContext::resource(int device, CUdevResourceType type) {
  CUdevResource resource{};
  check(driver_, driver_.cuDeviceGetDevResource(usable(device), &resource, type), "cuDeviceGetDevResource");
  return resource;
}

void GreenContext::make(int device, CUdevResource resource) {
  CUdevResourceDesc description = nullptr;
  const CUdevice found = usable(device);
  check(driver_, driver_.cuDevResourceGenerateDesc(&description, &resource, 1), "cuDevResourceGenerateDesc");
  check(driver_, driver_.cuGreenCtxCreate(&context_, description, found, CU_GREEN_CTX_DEFAULT_STREAM),
        "cuGreenCtxCreate");
}

void GreenContext::destroy() noexcept {
  if (context_ != nullptr) driver_.cuGreenCtxDestroy(std::exchange(context_, nullptr));
}

}  // namespace weft
