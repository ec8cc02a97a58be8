// See fill_lane.h.
#include "runner/fill/fill_lane.h"

namespace weft {

FillLane::FillLane(const Driver& driver, const LaneSettings& settings)
    : queues_(settings.queues), lap_(driver), green_(driver) {
  try {
    stream_ = make_stream(settings);
  } catch (...) {
    destroy();
    throw;
  }
}

void FillLane::destroy() noexcept {
  lap_.destroy();
  green_.destroy();
}

// Where there can be no green context, a plain stream is enough for some bubbles.
CUstream FillLane::make_stream(const LaneSettings& settings) {
  if (settings.stream == FillStream::green_context) {
    try {
      return green_.make(settings.device);
    } catch (const SetUpError& error) {
      fault_ = error.what();
    }
  }
  const bool above = settings.stream == FillStream::above;
  return lap_.make(settings.queues, settings.streams_made,
                   above ? QueueLap::Priority::highest : QueueLap::Priority::lowest);
}

}  // namespace weft
