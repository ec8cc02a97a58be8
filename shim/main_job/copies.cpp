// Copies and host functions; see copies.h.
#include "shim/main_job/copies.h"

#include <atomic>

#include "shim/main_job/capture.h"
#include "shim/main_job/devices.h"
#include "shim/main_job/launches.h"
#include "shim/main_job/marker_room.h"
#include "shim/main_job/waits.h"
#include "shim/markers.h"
#include "shim/notes.h"

namespace weft {
namespace {

// Markers of copies that are outstanding, of each device: they take entries of hardware queues that groups need, and a
// program that launches far ahead.
constexpr int most_on_device = 128, most_on_stream = 64;
// Host functions have no size, and some programs have many that do next to nothing. Only so many are told from compute.
constexpr int most_with_host_function = 16;
struct Outstanding {
  std::atomic<Ticket> ticket;
  std::atomic<StreamId> stream;
};
constinit Outstanding outstanding[most_devices][most_on_device]{};

// nullptr: no room. Two threads at once may take one place, and so one more.
Outstanding* find_room(const Stream& stream, int device, int most) noexcept {
  const StreamId id = stream.id.load(std::memory_order_relaxed);
  Outstanding* free = nullptr;
  int on_stream = 0;
  for (Outstanding& place : outstanding[device]) {
    const Ticket ticket = place.ticket.load(std::memory_order_relaxed);
    if (ticket == 0 || reached(device, ticket))
      free = &place;
    else if (place.stream.load(std::memory_order_relaxed) == id && ++on_stream == most)
      return nullptr;
  }
  return free;
}

// refused: the stream is one of another context, for example.
enum class Marked : std::uint8_t { yes, no_room, refused };

Marked mark(Stream& stream, int most = most_on_stream) noexcept {
  const int device = stream.device.load(std::memory_order_relaxed);
  Outstanding* const place = has_room_for_marks(stream) ? find_room(stream, device, most) : nullptr;
  if (place == nullptr) return Marked::no_room;
  const LaunchCount launched = launches_so_far(stream);
  const Ticket ticket = reserve_ticket(device);
  if (ticket == 0) return Marked::no_room;
  if (!enqueue_marker(stream, ticket)) return write_ticket_from_host(device, ticket), Marked::refused;
  stream.latest.store(ticket, std::memory_order_relaxed);
  place->stream.store(stream.id.load(std::memory_order_relaxed), std::memory_order_relaxed);
  place->ticket.store(ticket, std::memory_order_relaxed);
  const bool nothing_before = nothing_launched_since_marker(stream, launched);
  note(EventKind::mark_issued, device, [&](Event& event) {
    event.nothing_launched = nothing_before;
    event.stream = stream.id.load(std::memory_order_relaxed);
    event.order = order_of(stream);
    event.ticket = ticket;
  });
  return Marked::yes;
}

// Without room it is not known what the stream does.
Marked mark_or_hold_back(Stream& stream) noexcept {
  const Marked marked = mark(stream);
  if (marked == Marked::no_room && !is_held_back(stream)) hold_back(stream, EventKind::copy_held_back);
  return marked;
}

void note_no_compute(Stream& stream, NoCompute what) noexcept {
  const bool waits = stream.latest_is.load(std::memory_order_relaxed) == NoCompute::wait_for_copy;
  const bool is_held_up = waits && what == NoCompute::copy;
  if ((is_held_up || !nothing_launched_behind_marker(stream)) && mark_or_hold_back(stream) == Marked::refused) return;
  used_without_marker(stream);
  stream.latest_is.store(what, std::memory_order_relaxed);
  set_next_launch_noted(stream, true);
}

// Out of line: an event takes locked instructions, and the way of a launch to here has none.
[[gnu::noinline]] void note_first_launch(const Stream& stream) noexcept {
  const int device = stream.device.load(std::memory_order_relaxed);
  note(EventKind::launch_noted, device, [&](Event& event) {
    event.stream = stream.id.load(std::memory_order_relaxed);
    event.ticket = newest_ticket(device).load(std::memory_order_relaxed);
  });
}

// nullptr: nothing is to be noted there.
Stream* find_to_note(CUstream stream, bool per_thread) noexcept {
  if (!launches_are_counted.load(std::memory_order_relaxed)) return nullptr;
  const StreamName name = name_of(stream, per_thread);
  // A thread's own default stream would be one more for each thread that ever copies.
  const bool is_shared = name.handle != CU_STREAM_PER_THREAD;
  Stream* known = is_shared ? learn_stream(name) : find_stream(name);
  if (known == nullptr || (!is_shared && !known->is_followed.load(std::memory_order_relaxed))) return nullptr;
  if (!may_mark(known->device.load(std::memory_order_relaxed)) || is_capturing(*known)) return nullptr;
  if (is_shared) note_use(*known);
  return known;
}

// Also what CUDA does not know.
bool is_on_host(CUdeviceptr address) noexcept {
  if (!launches_are_counted.load(std::memory_order_relaxed)) return false;  // nobody wants to know
  unsigned int type = 0;
  const CUresult result = real<Symbol::cuPointerGetAttribute>()(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  return result != CUDA_SUCCESS || type == CU_MEMORYTYPE_HOST;
}

bool is_on_host(CUmemorytype type, CUdeviceptr address) noexcept {
  return type == CU_MEMORYTYPE_HOST || (type == CU_MEMORYTYPE_UNIFIED && is_on_host(address));
}

}  // namespace

void note_copy(std::size_t bytes, CUstream stream, bool per_thread) noexcept {
  if (bytes < least_noted_copy) {
    if (const Stream* known = find_stream(name_of(stream, per_thread))) used_without_marker(*known);
    return;
  }
  if (Stream* known = find_to_note(stream, per_thread)) note_no_compute(*known, NoCompute::copy);
}

void note_host_function(CUstream stream, bool per_thread) noexcept {
  Stream* known = find_to_note(stream, per_thread);
  if (known == nullptr) return;
  if (!nothing_launched_behind_marker(*known) && mark(*known, most_with_host_function) != Marked::yes) return;
  note_no_compute(*known, NoCompute::copy);
}

CopyEnds ends_of(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) noexcept {
  return {is_on_host(to) || is_on_host(from), bytes};
}

CopyEnds ends_of(const CUDA_MEMCPY2D& copy) noexcept {
  return {is_on_host(copy.srcMemoryType, copy.srcDevice) || is_on_host(copy.dstMemoryType, copy.dstDevice),
          copy.WidthInBytes * copy.Height};
}

CopyEnds ends_of(const CUDA_MEMCPY3D& copy) noexcept {
  return {is_on_host(copy.srcMemoryType, copy.srcDevice) || is_on_host(copy.dstMemoryType, copy.dstDevice),
          copy.WidthInBytes * copy.Height * copy.Depth};
}

CopyEnds ends_of(const CUDA_MEMCPY3D_PEER& copy) noexcept {
  return {is_on_host(copy.srcMemoryType, copy.srcDevice) || is_on_host(copy.dstMemoryType, copy.dstDevice),
          copy.WidthInBytes * copy.Height * copy.Depth};
}

CopyEnds ends_of_batch(const CUdeviceptr* to, const CUdeviceptr* from, const std::size_t* bytes,
                       std::size_t count) noexcept {
  constexpr std::size_t most_asked_for = 64;  // a batch of more counts as a launch
  CopyEnds whole{to != nullptr && from != nullptr && bytes != nullptr && count <= most_asked_for, 0};
  for (std::size_t i = 0; whole.on_host && i < count; ++i) {
    whole.on_host = ends_of(to[i], from[i], bytes[i]).on_host;
    whole.bytes += bytes[i];
  }
  return whole;
}

void note_any_copy(const CopyEnds& copy, CUstream stream, bool per_thread) noexcept {
  if (!copy.on_host) return count_launch(stream, per_thread);
  if (is_noted_copy(copy.bytes, stream) && level() == Level::observe) note_copy(copy.bytes, stream, per_thread);
}

void note_wait_for_copy(Stream& stream) noexcept {
  note_no_compute(stream, NoCompute::wait_for_copy);
}

void note_launch(Stream& stream) noexcept {
  if (level() != Level::observe || is_capturing(stream)) return;
  // No exchange, which is a locked instruction. Any thread of the main job that launches, copies or waits on the stream
  // writes here, and the one that comes between this load and the store loses: two launches at once both put a marker
  // there, which says what one does; a copy that another thread makes next to a launch is forgotten, so that no marker
  // tells its end, and it counts as compute of the launches behind it. Time may be busy for that, never idle.
  const bool copied = is_copying(stream);
  if (copied) stream.latest_is.store(NoCompute::none, std::memory_order_relaxed);
  // One that was held back is known again behind the next marker, so each launch tries.
  if ((copied || is_held_back(stream)) && !are_withheld(stream))
    return set_next_launch_noted(stream, mark_or_hold_back(stream) == Marked::no_room);
  set_next_launch_noted(stream, false);
  note_first_launch(stream);
}

}  // namespace weft
