// Hardware queues; see the header.
#include "runner/fill/queues.h"

namespace weft {

std::string too_many_streams(std::uint32_t in_use, std::uint32_t queues) {
  if (in_use + 1 <= queues) return {};
  const std::string text = "the training uses " + std::to_string(in_use) + " streams, with Weft's more than its " +
                           std::to_string(queues) + " hardware queues";
  return queues == most_queues ? text : text + ": set CUDA_DEVICE_MAX_CONNECTIONS=" + std::to_string(most_queues);
}

CUstream QueueLap::make(std::uint32_t queues, std::uint32_t made, Priority priority) {
  const std::size_t first = streams_.size();
  add(queues, priority);
  const std::uint32_t next_queue = (made + 1) % queues;  // the default stream has queue 0
  return streams_[first + (queues - 1 - next_queue)];
}

void QueueLap::complete(std::uint32_t queues, std::uint32_t made) {
  add((queues - made % queues) % queues, Priority::lowest);
}

void QueueLap::add(std::uint32_t count, Priority priority) {
  int least = 0, greatest = 0;
  check(driver_, driver_.cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
  for (; count != 0; --count) {
    CUstream stream = nullptr;
    check(driver_,
          driver_.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING,
                                             priority == Priority::lowest ? least : greatest),
          "cuStreamCreateWithPriority");
    streams_.push_back(stream);
  }
}

void QueueLap::destroy() noexcept {
  for (const CUstream stream : streams_) driver_.cuStreamDestroy_v2(stream);
  streams_.clear();
}

}  // namespace weft
