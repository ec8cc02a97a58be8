// A thread of Weft's for what may wait in the driver: making a fill job ready, and taking it down.
//
// CUDA may let allocating, loading code, a first launch or freeing wait for whatever the GPU is doing, and what that
// waits for may be what a thread of the training does next. So no thread of the training makes those calls: it starts
// this one and waits for it with a bound. Started and waited for inside the core's services. The thread may outlast the
// device that wanted it; then it tidies up by itself.
#pragma once

#include <cuda.h>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>

#include "runner/core/core_context.h"

namespace weft {

class FillWork {
 public:
  using Step = std::function<void()>;
  // `unwanted`: of work that was over only when nobody waited for it any more. `left`: likewise, and the context has
  // gone, so nothing of CUDA may be touched. Neither throws.
  struct Steps {
    Step work, unwanted, left;
  };

  // With `context` current. nullptr: no thread could be started, and nothing was called.
  static std::shared_ptr<FillWork> start(const CoreContext& core, CUcontext context, Steps steps);

  // Once. False: it is not over, because `limit` is or `give_up` says so, and from now on nobody waits for it. Throws
  // what the work has thrown.
  using GiveUp = std::function<bool()>;
  bool is_over_within(Duration limit, const GiveUp& give_up = {});
  // The thread touches nothing any more, of the context or else.
  bool has_ended(Duration limit = Duration{0}) const noexcept;
  void context_is_going() noexcept { context_goes_.store(true, std::memory_order_release); }

 private:
  FillWork(const CoreContext& core, CUcontext context, Steps steps)
      : core_(core), context_(context), steps_(std::move(steps)) {}
  void live() noexcept;
  void run() noexcept;

  enum class Stage : std::uint8_t { at_work, over, unwanted };

  const CoreContext& core_;
  const CUcontext context_;
  Steps steps_;
  std::exception_ptr fault_;
  std::atomic<Stage> stage_{Stage::at_work};
  std::atomic<bool> context_goes_{false};
  std::atomic<bool> ended_{false};
};

}  // namespace weft
