// The end of streams; see forget_streams.h.
#include "shim/main_job/forget_streams.h"

#include "shim/main_job/capture.h"
#include "shim/main_job/group_log.h"
#include "shim/main_job/launches.h"
#include "shim/main_job/stream_questions.h"
#include "shim/main_job/streams.h"
#include "shim/markers.h"
#include "shim/notes.h"

namespace weft {
namespace {

// On a blocking stream a marker waits for the legacy one, and holds its hardware queue meanwhile. So does the work of
// the stream, unless that was enqueued before.
bool would_wait_for_legacy(const Stream& stream, int device) noexcept {
  const Stream* legacy = order_of(stream) == StreamOrder::blocking ? find_stream(legacy_stream_of(device)) : nullptr;
  if (legacy == nullptr) return false;
  const Ticket latest = legacy->latest.load(std::memory_order_relaxed);
  const Ticket before = launched_before(stream);
  return !reached(device, latest) && (before == 0 || static_cast<std::int32_t>(before - latest) <= 0);
}

// Its work goes on when it is destroyed, and nobody can ask it then: a marker tells when the last of it is over. 0:
// there is nothing to wait for, or nothing may be enqueued.
Ticket mark_the_end(const Stream& stream) noexcept {
  const int device = stream.device.load(std::memory_order_relaxed);
  if (level() != Level::observe || !has_marker_words(device) || !may_mark(device)) return 0;
  if (nothing_launched_behind_marker(stream) || is_capturing(stream) || is_dry(stream)) return 0;
  if (would_wait_for_legacy(stream, device)) return note_lost(), 0;
  const Ticket last = reserve_ticket(device);
  if (last != 0 && enqueue_marker(stream, last)) return last;
  write_ticket_from_host(device, last);
  note_lost();
  return 0;
}

void forget(Stream& stream, Ticket last) noexcept {
  const StreamId id = stream.id.exchange(0, std::memory_order_seq_cst);
  if (id == 0) return;
  forget_groups_on(stream);
  const StreamOrder order = last == 0 ? StreamOrder::none : order_of(stream);
  const int device = stream.device.load(std::memory_order_relaxed);
  release_stream(stream);
  if (level() != Level::observe) return;
  note(EventKind::stream_destroyed, device, [=](Event& event) {
    event.stream = id;
    event.order = order;
    event.ticket = last;
  });
}

template <class Which>
void forget_all(Which which) noexcept {
  for (Stream& stream : all_streams()) {
    if (stream.id.load(std::memory_order_acquire) != 0 && which(stream)) forget(stream, 0);
  }
  wait_for_questions();
}

}  // namespace

void forget_stream(CUstream handle) noexcept {
  const StreamName name = name_of(handle, false);
  Stream* stream = name.is_explicit ? find_stream(name) : nullptr;
  if (stream == nullptr) return;
  forget(*stream, mark_the_end(*stream));
  wait_for_questions();
}

void forget_streams_of(CUcontext context) noexcept {
  forget_all([context](const Stream& stream) {
    return is_explicit(stream) && stream.context.load(std::memory_order_relaxed) == context;
  });
}

void forget_streams_of(int device) noexcept {
  forget_all([device](const Stream& stream) { return stream.device.load(std::memory_order_relaxed) == device; });
  release_all_streams(device);
}

}  // namespace weft
