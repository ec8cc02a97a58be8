// Making a fill job ready; see the header.
#include "runner/fill/prepared_fill.h"

#include <string>
#include <utility>

#include "runner/clock.h"
#include "runner/core/scopes.h"
#include "runner/fill/fill_wait.h"

namespace weft {
namespace {

constexpr int pieces_of_slice = 4;  // of memory that moves: the end of a bubble has room for one, too
constexpr int grace_turns = 40;     // of 50 us and more each, counted: a busy machine may stand between two looks

class UntimedEvent {
 public:
  explicit UntimedEvent(const Driver& driver) : driver_(driver) {
    check(driver, driver.cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  }
  ~UntimedEvent() { driver_.cuEventDestroy_v2(event_); }
  UntimedEvent(const UntimedEvent&) = delete;
  UntimedEvent& operator=(const UntimedEvent&) = delete;
  CUevent get() const { return event_; }

 private:
  const Driver& driver_;
  CUevent event_ = nullptr;
};

// In a context that nobody else works in: has all of it come to where it is now, when the fill stream, in which nothing
// is left, has come to an event that was recorded later? Drivers that know no events of contexts cannot tell.
void check_init_is_over(const Driver& driver, CUstream stream) {
  if (driver.cuCtxRecordEvent == nullptr) return;
  CUcontext context = nullptr;
  check(driver, driver.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  const UntimedEvent all(driver);
  const CurrentContext current(driver, context_of(driver, stream));
  const UntimedEvent own(driver);
  check(driver, driver.cuCtxRecordEvent(context, all.get()), "the work of the fill job's init");
  check(driver, driver.cuEventRecord(own.get(), stream), "cuEventRecord");
  wait_for(driver, stream, longest_fill_work);
  CUresult result = driver.cuEventQuery(all.get());
  int turn = 0;
  // To its end, because the memory goes that it works on; the trial is bounded as a whole.
  for (; result == CUDA_ERROR_NOT_READY; ++turn, result = driver.cuEventQuery(all.get()))
    sleep_until(now() + std::chrono::microseconds(50));
  if (result == CUDA_SUCCESS && turn > grace_turns)
    throw SetUpError("its init left work on the GPU behind: init has to wait for what it starts (weft/fill.h)");
  check(driver, result, "the work of the fill job's init");
}

}  // namespace

PreparedFill::PreparedFill(const Driver& driver, const FillSettings& settings, std::shared_ptr<FillLane> lane,
                           const OnStep& on_step)
    : driver_(driver), reservation_(driver, {settings.memory, settings.movable}), lane_(std::move(lane)) {
  try {
    if (lane_ == nullptr) lane_ = std::make_shared<FillLane>(driver, settings.lane);
    reservation_.use(stream());
    on_step("init");
    job_ = FillJob::load(settings.spec, reservation_,
                         {settings.lane.device, settings.unit.confine.max_blocks, settings.feed});
    on_step("the begin of its records");
    job_->feed().begin();
    on_step("the work of init");
    if (settings.is_trial) check_init_is_over(driver, stream());
    reservation_.save();
    on_step("record_unit");
    unit_ = std::make_unique<Unit>(driver, *job_, *lane_, settings.unit);
    reservation_.restore();
    if (const Reservation::Movable memory = reservation_.movable(); memory.bytes != 0)
      mover_ = std::make_unique<const Mover>(driver, memory, stream(), settings.unit.slice_cap / pieces_of_slice,
                                             settings.unit.timing);
  } catch (...) {
    release();
    throw;
  }
}

PreparedFill::~PreparedFill() {
  release();
}

void PreparedFill::release() noexcept {
  if (lane_ != nullptr) outlast(driver_, stream());
  destroy_unit();
  destroy_job();
  lane_.reset();
  reservation_.release();
}

std::uint32_t blocks_left(std::uint32_t multiprocessors, std::uint64_t reserved) {
  if (reserved >= multiprocessors)
    throw SetUpError("WEFT_RESERVE_SMS=" + std::to_string(reserved) + " leaves none of the " +
                     std::to_string(multiprocessors) + " multiprocessors to fill work");
  return multiprocessors - static_cast<std::uint32_t>(reserved);
}

}  // namespace weft
