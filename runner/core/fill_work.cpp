// See fill_work.h.
#include "runner/core/fill_work.h"

#include <pthread.h>

#include <utility>

#include "runner/clock.h"
#include "runner/core/scopes.h"
#include "runner/own_thread.h"

namespace weft {

std::shared_ptr<FillWork> FillWork::start(const CoreContext& core, CUcontext context, Steps steps) {
  const std::shared_ptr<FillWork> work(new FillWork(core, context, std::move(steps)));
  return start_own_thread([work] { work->live(); }) ? work : nullptr;
}

void FillWork::live() noexcept {
  pthread_setname_np(pthread_self(), "weft-fill");
  // Makes the thread's place for exceptions now: where there is no memory for it later, the loader ends the process.
  [[maybe_unused]] const volatile int none = std::uncaught_exceptions();
  if (core_.shim.mark_own_thread != nullptr) core_.shim.mark_own_thread();
  {
    const RelaxedCaptureMode relaxed(core_.driver);
    const CurrentContext current(core_.driver, context_);
    if (!current.pushed())
      fault_ = std::make_exception_ptr(SetUpError("the context of the training cannot be used on another thread"));
    run();
  }
  steps_ = {};
  ended_.store(true, std::memory_order_release);
}

void FillWork::run() noexcept {
  try {
    if (!fault_) steps_.work();
  } catch (...) {
    fault_ = std::current_exception();
  }
  if (stage_.exchange(Stage::over, std::memory_order_acq_rel) != Stage::unwanted) return;
  context_goes_.load(std::memory_order_acquire) ? steps_.left() : steps_.unwanted();
}

bool FillWork::is_over_within(Duration limit, const GiveUp& give_up) {
  const auto is_over = [&] { return stage_.load(std::memory_order_acquire) == Stage::over; };
  wait_at_most(limit, [&] { return is_over() || (give_up && give_up()); });
  const bool over = is_over() || stage_.exchange(Stage::unwanted, std::memory_order_acq_rel) == Stage::over;
  if (over && fault_) std::rethrow_exception(fault_);
  return over;
}

bool FillWork::has_ended(Duration limit) const noexcept {
  return wait_at_most(limit, [&] { return ended_.load(std::memory_order_acquire); });
}

}  // namespace weft
