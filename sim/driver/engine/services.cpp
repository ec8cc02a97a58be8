// Services of the driver for the simulated NCCL and CUPTI; see simgpu/kernels.h. Usable by any thread, from `step` too.
#include "engine/services.h"

#include "api/api.h"
#include "engine/activity.h"
#include "engine/engine.h"
#include "engine/host_kernels.h"

namespace simgpu {
namespace {

int doorbell_fd() {
  return engine().doorbell_fd();
}

void ring() {
  if (ready() == CUDA_SUCCESS) engine().ring();
}

void log(const char* json_object) {
  if (json_object == nullptr || ready() != CUDA_SUCCESS) return;
  // A process uses one device as a rule: the first one with a context has the log.
  for (const auto& device : engine().devices()) {
    bool used = false;
    {
      const std::scoped_lock guard(engine().lock());
      used = !device->contexts.empty();
    }
    if (!used) continue;
    engine().log(*device, json_object);
    return;
  }
}

int64_t last_event() {
  return ready() == CUDA_SUCCESS ? nanoseconds(engine().clock()) : 0;
}

}  // namespace

const simgpu_services& services() {
  static constexpr simgpu_services table{
      sizeof(simgpu_services), register_host_kernels, doorbell_fd, ring, log, last_event, set_activity_sink};
  return table;
}

}  // namespace simgpu
