// See the header.
#include "runner/fill/green_share.h"

#include <string>

namespace weft {

void GreenShare::make(int device, std::uint32_t reserved) {
  if (context_ != nullptr) return;
  if (reserved == 0) throw SetUpError("WEFT_RESERVE_SMS=0 keeps no multiprocessor free");
  if (driver_.cuDevSmResourceSplitByCount == nullptr || driver_.cuCtxFromGreenCtx == nullptr)
    throw SetUpError("the driver has no green contexts");
  const CUdevResource all = green_.resource(device, CU_DEV_RESOURCE_TYPE_SM);
  CUdevResource kept_free{}, rest{};
  unsigned groups = 1;
  check(driver_, driver_.cuDevSmResourceSplitByCount(&kept_free, &groups, &all, &rest, 0, reserved),
        "cuDevSmResourceSplitByCount");
  if (rest.type != CU_DEV_RESOURCE_TYPE_SM || rest.sm.smCount == 0)
    throw SetUpError("of the " + std::to_string(all.sm.smCount) + " multiprocessors none is left beside a group of " +
                     std::to_string(kept_free.sm.smCount) + " that stays free");
  try {
    green_.make(device, rest);
    check(driver_, driver_.cuCtxFromGreenCtx(&context_, green_.get()), "cuCtxFromGreenCtx");
  } catch (...) {
    destroy();
    throw;
  }
  multiprocessors_ = rest.sm.smCount;
}

void GreenShare::destroy() noexcept {
  context_ = nullptr;
  multiprocessors_ = 0;
  green_.destroy();
}

}  // namespace weft
