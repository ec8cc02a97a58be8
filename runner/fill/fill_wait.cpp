// See fill_wait.h.
#include "runner/fill/fill_wait.h"

#include <string>

#include "runner/clock.h"

namespace weft {

CUresult dry_within(const Driver& driver, CUstream stream, Duration limit) noexcept {
  CUresult result = CUDA_ERROR_NOT_READY;
  wait_at_most(limit, [&] {
    result = driver.cuStreamQuery(stream);
    return result != CUDA_ERROR_NOT_READY;
  });
  return result;
}

void wait_for(const Driver& driver, CUstream stream, Duration limit) {
  const CUresult result = dry_within(driver, stream, limit);
  if (result == CUDA_ERROR_NOT_READY)
    throw SetUpError("work of the fill job did not end within " +
                     std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limit).count()) + " s");
  check(driver, result, "work of the fill job");
}

void outlast(const Driver& driver, CUstream stream) noexcept {
  while (dry_within(driver, stream, std::chrono::milliseconds(10)) == CUDA_ERROR_NOT_READY)
    sleep_until(now() + std::chrono::milliseconds(10));
}

}  // namespace weft
