// See marker_room.h.
#include "shim/main_job/marker_room.h"

#include "detector/group_shape.h"
#include "shim/main_job/copies.h"
#include "shim/main_job/devices.h"
#include "shim/markers.h"
#include "shim/notes.h"

namespace weft {
namespace {

static_assert(sizeof(Stream::milestones) / sizeof(Ticket) * marks_to_milestone == room_for_marks);

struct Withheld {
  std::atomic<bool> all{false};
  std::atomic<std::uint64_t> but_of{0};
};
constinit Withheld withheld_markers[most_devices]{};

std::uint32_t milestone_of(std::uint32_t mark) noexcept {
  return mark % room_for_marks / marks_to_milestone;
}

const Withheld& withheld_on(const Stream& stream) noexcept {
  return withheld_markers[stream.device.load(std::memory_order_relaxed)];
}

bool has_entries_left(const Stream& stream) noexcept {
  const std::uint32_t mark = stream.marks.load(std::memory_order_relaxed);
  if (mark % marks_to_milestone != 0) return true;
  const int device = stream.device.load(std::memory_order_relaxed);
  return reached(device, stream.milestones[milestone_of(mark)].load(std::memory_order_relaxed));
}

bool is_or_notes(bool has_room, Stream& stream) noexcept {
  if (has_room) return true;
  note_no_copy(stream);
  hold_back(stream, EventKind::marks_held_back);
  return false;
}

}  // namespace

void withhold_markers(int device, bool withheld, std::uint64_t but_of) noexcept {
  if (device < 0 || device >= most_devices) return;
  withheld_markers[device].but_of.store(but_of, std::memory_order_relaxed);
  withheld_markers[device].all.store(withheld, std::memory_order_relaxed);
}

bool are_withheld(const Stream& stream) noexcept {
  return withheld_on(stream).all.load(std::memory_order_relaxed);
}

bool has_room_for_marks(const Stream& stream) noexcept {
  return !are_withheld(stream) && has_entries_left(stream);
}

bool has_room_or_notes(Stream& stream) noexcept {
  return is_or_notes(has_room_for_marks(stream), stream);
}

bool has_room_or_notes(Stream& stream, const GroupSummary& group, CommunicatorId communicator) noexcept {
  const Withheld& withheld = withheld_on(stream);
  const bool is_wanted = !withheld.all.load(std::memory_order_relaxed) ||
                         withheld.but_of.load(std::memory_order_relaxed) == likeness_of(group, communicator);
  return is_or_notes(is_wanted && has_entries_left(stream), stream);
}

void hold_back(Stream& stream, EventKind as) noexcept {
  const int device = stream.device.load(std::memory_order_relaxed);
  // Until the next marker it may be in communication that has none: only the driver knows whether it is dry.
  stream.is_marked.store(false, std::memory_order_release);
  stream.is_followed.store(true, std::memory_order_relaxed);
  note(as, device, [&](Event& event) {
    event.stream = stream.id.load(std::memory_order_relaxed);
    event.ticket = newest_ticket(device).load(std::memory_order_relaxed) + 1;
  });
}

bool is_held_back(const Stream& stream) noexcept {
  return !stream.is_marked.load(std::memory_order_relaxed) && stream.is_followed.load(std::memory_order_relaxed);
}

void count_marks(Stream& stream, Ticket last) noexcept {
  const std::uint32_t mark = stream.marks.load(std::memory_order_relaxed);
  if (mark % marks_to_milestone == 0) stream.milestones[milestone_of(mark)].store(last, std::memory_order_relaxed);
  stream.marks.store(mark + 1, std::memory_order_relaxed);
  note_no_copy(stream);
}

void forget_marks(Stream& stream) noexcept {
  stream.marks.store(0, std::memory_order_relaxed);
  note_no_copy(stream);
  for (std::atomic<Ticket>& milestone : stream.milestones) milestone.store(0, std::memory_order_relaxed);
}

}  // namespace weft
