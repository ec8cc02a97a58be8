// See the header.
#include "runner/core/marked_events.h"

namespace weft {

void make_marker_events(const Driver& driver, MarkerEvent* places, std::uint32_t count) {
  for (std::uint32_t index = 0; index < count; ++index) {
    CUevent event = nullptr;
    check(driver, driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    places[index].event = event;
  }
}

void destroy_marker_events(const Driver& driver, MarkerEvent* places, std::uint32_t count) noexcept {
  for (std::uint32_t index = 0; index < count; ++index)
    driver.cuEventDestroy_v2(static_cast<CUevent>(places[index].event));
}

bool MarkedEvents::has_happened(Ticket ticket) const {
  if (words_.events == nullptr) return false;
  const MarkerEvent& place = words_.events[word_of(ticket, words_.count)];
  // Before it is recorded for this ticket it answers for another one.
  if (place.recorded.load(std::memory_order_acquire) != ticket) return false;
  if (driver_->cuEventQuery(static_cast<CUevent>(place.event)) != CUDA_SUCCESS) return false;
  words_.host[word_of(ticket, words_.count)].store(ticket, std::memory_order_release);
  return true;
}

void MarkedEvents::look_at_all() const {
  if (words_.events == nullptr) return;
  for (std::uint32_t index = 0; index < words_.count; ++index) {
    const Ticket ticket = words_.events[index].recorded.load(std::memory_order_acquire);
    if (ticket != 0 && !is_written(words_.host, words_.count, ticket)) has_happened(ticket);
  }
}

}  // namespace weft
