// The stack of current contexts of a thread. Handles, not objects: a context may be destroyed while it is on a stack.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace simgpu {

class ContextStack {
 public:
  CUcontext top() const { return depth_ == 0 ? nullptr : entries_[depth_ - 1]; }
  bool push(CUcontext context) {
    if (depth_ == most_contexts) return false;
    entries_[depth_++] = context;
    return true;
  }
  bool pop() {
    if (depth_ == 0) return false;
    --depth_;
    return true;
  }
  // Replaces the top; null takes it away, as cuCtxSetCurrent does.
  bool set(CUcontext context) {
    if (depth_ > 0) --depth_;
    return context == nullptr || push(context);
  }

 private:
  static constexpr std::size_t most_contexts = 64;
  CUcontext entries_[most_contexts] = {};
  std::size_t depth_ = 0;
};

ContextStack& current_stack();

}  // namespace simgpu
