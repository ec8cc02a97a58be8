// See the header.
#include "runner/fill/green_stream.h"

#include <utility>

#include "runner/core/newer_cuda.h"

namespace weft {

CUstream GreenStream::make(int device) {
  try {
    return make_stream(device);
  } catch (...) {
    destroy();
    throw;
  }
}

CUstream GreenStream::make_stream(int device) {
  CUdevResource resource = green_.resource(device, resource_type_workqueue_config());
  WorkqueueConfig config = workqueue_config(resource);
  config.concurrency_limit = 1;
  config.scope = workqueue_scope_balanced;
  set_workqueue_config(resource, config);
  green_.make(device, resource);
  int least = 0, greatest = 0;
  check(driver_, driver_.cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
  check(driver_, driver_.cuGreenCtxStreamCreate(&stream_, green_.get(), CU_STREAM_NON_BLOCKING, least),
        "cuGreenCtxStreamCreate");
  return stream_;
}

void GreenStream::destroy() noexcept {
  if (stream_ != nullptr) driver_.cuStreamDestroy_v2(std::exchange(stream_, nullptr));
  green_.destroy();
}

}  // namespace weft
