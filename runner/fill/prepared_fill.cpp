// Making a fill job ready; see the header.
#include "runner/fill/prepared_fill.h"

#include <string>

namespace weft {
PreparedFill::PreparedFill(const Driver& driver, const FillSettings& settings, const OnStep& on_step)
    : queues_(settings.queues), reservation_(driver, settings.memory), lap_(driver) {
  try {
    stream_ = lap_.make(settings.queues, settings.streams_made);
    reservation_.use(stream_);
    on_step("init");
    job_ = FillJob::load(settings.spec, reservation_, {settings.device, settings.unit.max_blocks});
    on_step("the work of init");
    check(driver, driver.cuCtxSynchronize(), "the work of the fill job's init");
    reservation_.save();
    on_step("record_unit");
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
  destroy_unit();
  destroy_job();
  lap_.destroy();
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
