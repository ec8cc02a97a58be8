// See the header.
#include "engine/activity.h"

#include <atomic>

namespace simgpu {
namespace {

std::atomic<simgpu_activity_sink> the_sink{nullptr};

}  // namespace

void set_activity_sink(simgpu_activity_sink sink) {
  the_sink.store(sink, std::memory_order_release);
}

simgpu_activity_sink activity_sink() {
  return the_sink.load(std::memory_order_acquire);
}

}  // namespace simgpu
