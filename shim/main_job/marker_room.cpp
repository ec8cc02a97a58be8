// See marker_room.h.
#include "shim/main_job/marker_room.h"

#include <iterator>

#include "shim/markers.h"
#include "shim/notes.h"

namespace weft {
namespace {

static_assert(sizeof(Stream::milestones) / sizeof(Ticket) * marks_to_milestone == room_for_marks);

std::atomic<Ticket>& milestone_of(Stream& stream, std::uint32_t mark) noexcept {
  return stream.milestones[mark / marks_to_milestone % std::size(stream.milestones)];
}

}  // namespace

bool has_room_for_marks(Stream& stream) noexcept {
  const std::uint32_t mark = stream.marks.load(std::memory_order_relaxed);
  if (mark % marks_to_milestone != 0) return true;
  const int device = stream.device.load(std::memory_order_relaxed);
  if (reached(device, milestone_of(stream, mark).load(std::memory_order_relaxed))) return true;
  // Until the next marker it may be in communication that has none: only the driver knows whether it is dry.
  stream.is_marked.store(false, std::memory_order_release);
  note(EventKind::marks_held_back, device, [&](Event& event) {
    event.stream = stream.id.load(std::memory_order_relaxed);
    event.ticket = newest_ticket(device).load(std::memory_order_relaxed) + 1;
  });
  return false;
}

bool is_held_back(const Stream& stream) noexcept {
  return !stream.is_marked.load(std::memory_order_relaxed) && stream.is_followed.load(std::memory_order_relaxed);
}

void count_marks(Stream& stream, Ticket last) noexcept {
  const std::uint32_t mark = stream.marks.load(std::memory_order_relaxed);
  if (mark % marks_to_milestone == 0) milestone_of(stream, mark).store(last, std::memory_order_relaxed);
  stream.marks.store(mark + 1, std::memory_order_relaxed);
}

void forget_marks(Stream& stream) noexcept {
  stream.marks.store(0, std::memory_order_relaxed);
  for (std::atomic<Ticket>& milestone : stream.milestones) milestone.store(0, std::memory_order_relaxed);
}

}  // namespace weft
