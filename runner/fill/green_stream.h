// A fill stream with a hardware queue of its own, as far as the driver gives one: of a green context with a balanced
// workqueue (CUDA 13.1) and all multiprocessors. The streams of the main job keep the queue that they have.
//
// Made and destroyed on a thread of the main job inside the core's services, or in the fill probe, with the context of
// the device current; the dispatcher uses the stream in between. The green context holds the device's primary context
// until it is destroyed.
#pragma once

#include <cuda.h>

#include "runner/core/driver.h"
#include "runner/fill/green_context.h"

namespace weft {

class GreenStream {
 public:
  explicit GreenStream(const Driver& driver) : driver_(driver), green_(driver) {}
  GreenStream(const GreenStream&) = delete;
  GreenStream& operator=(const GreenStream&) = delete;

  // Of the lowest priority, and never synchronised with the default stream. Throws SetUpError, and leaves nothing
  // behind, where the driver has no such thing or the main job does not use the primary context.
  CUstream make(int device);
  // Nothing of it is in flight.
  void destroy() noexcept;

 private:
  CUstream make_stream(int device);

  const Driver& driver_;
  GreenContext green_;
  CUstream stream_ = nullptr;
};

}  // namespace weft
