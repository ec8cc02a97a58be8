// Making a fill job ready; see the header.
#include "runner/prepared_fill.h"

#include <string>

namespace weft {
namespace {

CUstream lowest_priority_stream(const Driver& driver) {
  int least = 0, greatest = 0;
  check(driver, driver.cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
  CUstream stream = nullptr;
  check(driver, driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, least),
        "cuStreamCreateWithPriority");
  return stream;
}

}  // namespace

PreparedFill::PreparedFill(const Driver& driver, const FillSettings& settings, const Progress& progress)
    : driver_(driver), reservation_(driver, settings.memory) {
  try {
    stream_ = lowest_priority_stream(driver);
    progress("init");
    job_ = FillJob::load(settings.spec, reservation_, {settings.device, settings.unit.max_blocks});
    progress("the work of init");
    check(driver, driver.cuCtxSynchronize(), "the work of the fill job's init");
    reservation_.save();
    progress("record_unit");
    unit_ = std::make_unique<Unit>(driver, *job_, stream_, settings.unit);
    reservation_.restore();
  } catch (...) {
    release();
    throw;
  }
}

PreparedFill::~PreparedFill() {
  release();
}

void PreparedFill::release() noexcept {
  unit_.reset();
  job_.reset();
  if (stream_ != nullptr) driver_.cuStreamDestroy_v2(stream_);
  stream_ = nullptr;
  reservation_.release();
}

std::uint32_t blocks_left(std::uint32_t multiprocessors, std::uint64_t reserved) {
  if (reserved >= multiprocessors)
    throw SetUpError("WEFT_RESERVE_SMS=" + std::to_string(reserved) + " leaves none of the " +
                     std::to_string(multiprocessors) + " multiprocessors to fill work");
  return multiprocessors - static_cast<std::uint32_t>(reserved);
}

}  // namespace weft
