// Making a fill job ready; see the header.
#include "runner/fill/prepared_fill.h"

#include <string>

namespace weft {
PreparedFill::PreparedFill(const Driver& driver, const FillSettings& settings, const OnStep& on_step)
    : queues_(settings.queues), reservation_(driver, settings.memory), lap_(driver), green_(driver) {
  try {
    stream_ = make_stream(settings);
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

// Where there can be no green context, a plain stream is enough for some bubbles.
CUstream PreparedFill::make_stream(const FillSettings& settings) {
  if (settings.stream == FillStream::green_context) {
    try {
      return green_.make(settings.device);
    } catch (const SetUpError& error) {
      stream_fault_ = error.what();
    }
  }
  const bool above = settings.stream == FillStream::above;
  return lap_.make(settings.queues, settings.streams_made,
                   above ? QueueLap::Priority::highest : QueueLap::Priority::lowest);
}

PreparedFill::~PreparedFill() {
  release();
}

void PreparedFill::release() noexcept {
  destroy_unit();
  destroy_job();
  lap_.destroy();
  green_.destroy();
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
