// Making a fill job ready; see the header.
#include "runner/fill/prepared_fill.h"

#include <string>

#include "runner/fill/fill_wait.h"

namespace weft {
namespace {

// In a context that nobody else works in, so of that whole context. Drivers that cannot tell do not.
void check_init_is_over(const Driver& driver) {
  if (driver.cuCtxRecordEvent == nullptr) return;
  CUcontext context = nullptr;
  CUevent reached = nullptr;
  check(driver, driver.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  check(driver, driver.cuEventCreate(&reached, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  CUresult result = driver.cuCtxRecordEvent(context, reached);
  if (result == CUDA_SUCCESS) result = driver.cuEventQuery(reached);
  driver.cuEventDestroy_v2(reached);
  if (result == CUDA_ERROR_NOT_READY)
    throw SetUpError("its init left work on the GPU behind: init has to wait for what it starts (weft/fill.h)");
  check(driver, result, "the work of the fill job's init");
}

}  // namespace

PreparedFill::PreparedFill(const Driver& driver, const FillSettings& settings, const OnStep& on_step)
    : driver_(driver), queues_(settings.queues), reservation_(driver, settings.memory), lap_(driver), green_(driver) {
  try {
    stream_ = make_stream(settings);
    reservation_.use(stream_);
    on_step("init");
    job_ = FillJob::load(settings.spec, reservation_, {settings.device, settings.unit.max_blocks});
    on_step("the work of init");
    if (settings.is_trial) check_init_is_over(driver);
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
  if (stream_ != nullptr) outlast(driver_, stream_);
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
