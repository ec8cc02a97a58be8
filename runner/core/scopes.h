// States of a thread of the main job that the core changes for the length of a scope: its current context, and how its
// calls bear on stream captures. Inside the core's services only.
#pragma once

#include <memory>

#include "runner/core/driver.h"
#include "shim/seam/core_interface.h"

namespace weft {

// The one that a stream belongs to: that of the fill stream may be a green one. Throws SetUpError.
inline CUcontext context_of(const Driver& driver, CUstream stream) {
  CUcontext context = nullptr;
  check(driver, driver.cuStreamGetCtx(stream, &context), "cuStreamGetCtx");
  return context;
}

// Makes a context current for a scope on a thread of the main job, without a trace left behind.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, CUcontext context) noexcept
      : driver_(driver), pushed_(driver.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {}
  ~CurrentContext() {
    CUcontext ignored = nullptr;
    if (pushed_) driver_.cuCtxPopCurrent_v2(&ignored);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  bool pushed() const noexcept { return pushed_; }

 private:
  const Driver& driver_;
  bool pushed_;
};

// While it lives, calls of this thread neither invalidate nor join a capture that another thread has open.
class RelaxedCaptureMode {
 public:
  explicit RelaxedCaptureMode(const Driver& driver) noexcept : driver_(driver) {
    driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  ~RelaxedCaptureMode() { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
  RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// While it lives, threads of the main job wait where they would launch communication: for calls of the driver that may
// wait for all work of the GPU and hold up the launches of all threads meanwhile.
class ShutGate {
 public:
  explicit ShutGate(const ShimServices& shim) noexcept
      : shim_(shim), is_shut_(shim.shut_gate == nullptr || shim.shut_gate()) {}
  ~ShutGate() {
    if (is_shut_ && shim_.open_gate != nullptr) shim_.open_gate();
  }
  ShutGate(const ShutGate&) = delete;
  ShutGate& operator=(const ShutGate&) = delete;
  bool is_shut() const noexcept { return is_shut_; }  // nobody launches communication now

 private:
  const ShimServices& shim_;
  const bool is_shut_;
};
// Of those that work behind it: the last one opens it. nullptr: it is not shut.
using Gate = std::shared_ptr<const ShutGate>;

}  // namespace weft
