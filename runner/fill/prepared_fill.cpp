// Making a fill job ready; see the header.
#include "runner/fill/prepared_fill.h"

#include <algorithm>
#include <string>

#include "runner/clock.h"
#include "runner/fill/fill_wait.h"

namespace weft {
namespace {

constexpr Duration least_patience = std::chrono::milliseconds(2);
constexpr Duration most_patience = std::chrono::milliseconds(100);

// How long the whole context takes to get to an event that is recorded now. In a context that nobody else works in.
Duration time_to_event(const Driver& driver) {
  CUcontext context = nullptr;
  CUevent event = nullptr;
  check(driver, driver.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  check(driver, driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  const TimePoint recorded = now();
  CUresult result = driver.cuCtxRecordEvent(context, event);
  if (result == CUDA_SUCCESS)
    wait_at_most(most_patience, [&] { return (result = driver.cuEventQuery(event)) != CUDA_ERROR_NOT_READY; });
  const Duration taken = now() - recorded;
  driver.cuEventDestroy_v2(event);
  if (result != CUDA_ERROR_NOT_READY) check(driver, result, "the work of the fill job's init");
  return taken;
}

// Longer than an event takes on the idle GPU.
constexpr const char* init_left_work =
    "its init left work on the GPU behind: init has to wait for what it starts (weft/fill.h)";

}  // namespace

PreparedFill::PreparedFill(const Driver& driver, const FillSettings& settings, const OnStep& on_step)
    : driver_(driver), queues_(settings.queues), reservation_(driver, settings.memory), lap_(driver), green_(driver) {
  try {
    stream_ = make_stream(settings);
    reservation_.use(stream_);
    const bool can_tell = settings.is_trial && driver.cuCtxRecordEvent != nullptr;
    const Duration idle = can_tell ? time_to_event(driver) : Duration{0};
    on_step("init");
    job_ = FillJob::load(settings.spec, reservation_, {settings.device, settings.unit.max_blocks});
    on_step("the work of init");
    if (can_tell && time_to_event(driver) > std::max(least_patience, 4 * idle)) throw SetUpError(init_left_work);
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
