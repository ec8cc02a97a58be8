// The end of streams; see forget_streams.h.
#include "shim/main_job/forget_streams.h"

#include "shim/main_job/capture.h"
#include "shim/main_job/group_log.h"
#include "shim/main_job/launches.h"
#include "shim/main_job/marker_room.h"
#include "shim/main_job/stream_questions.h"
#include "shim/main_job/streams.h"
#include "shim/main_job/waits.h"
#include "shim/markers.h"
#include "shim/notes.h"

namespace weft {
namespace {

// `enqueued`: a marker, or the newest ticket when something was enqueued; 0: nothing was. Something that was enqueued
// when `newest` was the newest ticket came later, for sure.
bool is_older(Ticket enqueued, Ticket newest) noexcept {
  return enqueued == 0 || static_cast<std::int32_t>(newest - enqueued) > 0;
}

// On a blocking stream a marker waits for all that is on the legacy one, and for what that waits for in turn, and holds
// its hardware queue meanwhile. The work of the stream does so as well, where it was enqueued later.
bool may_wait_for_legacy(const Stream& stream, int device) noexcept {
  const Stream* legacy = order_of(stream) == StreamOrder::blocking ? find_stream(legacy_stream_of(device)) : nullptr;
  if (legacy == nullptr) return false;
  const Ticket own = enqueued_after(stream);
  const Ticket latest = legacy->latest.load(std::memory_order_relaxed);
  const bool latest_is_no_matter = reached(device, latest) || is_older(latest, own);
  return own == 0 || is_held_back(*legacy) || !latest_is_no_matter || !is_older(enqueued_after(*legacy), own) ||
         !is_older(legacy_used_at(device), own);
}

// Its work goes on when it is destroyed, and nobody can ask it then: a marker tells when the last of it is over.
struct End {
  EventKind kind = EventKind::stream_destroyed;
  Ticket ticket = 0;
};

End mark_the_end(const Stream& stream) noexcept {
  const int device = stream.device.load(std::memory_order_relaxed);
  if (level() != Level::observe || !has_marker_words(device) || !may_mark(device)) return {};
  if (nothing_launched_behind_marker(stream) || is_capturing(stream) || is_dry(stream)) return {};
  if (may_wait_for_legacy(stream, device))
    return {EventKind::stream_abandoned, newest_ticket(device).load(std::memory_order_relaxed)};
  const Ticket last = reserve_ticket(device);
  if (last != 0 && enqueue_marker(stream, last)) return {EventKind::stream_destroyed, last};
  write_ticket_from_host(device, last);
  note_lost();
  return {};
}

void forget(Stream& stream, End end) noexcept {
  // A stream that has only joined the capture of another one ends none.
  if (stream.begins_capture.load(std::memory_order_relaxed)) capture_ended(&stream);
  const StreamId id = stream.id.exchange(0, std::memory_order_seq_cst);
  if (id == 0) return;
  forget_groups_on(stream);
  const bool has_work = end.kind == EventKind::stream_abandoned || end.ticket != 0;
  const StreamOrder order = has_work ? order_of(stream) : StreamOrder::none;
  const int device = stream.device.load(std::memory_order_relaxed);
  release_stream(stream);
  if (level() != Level::observe) return;
  note(end.kind, device, [=](Event& event) {
    event.stream = id;
    event.order = order;
    event.ticket = end.ticket;
  });
  // The detector hears of it before the legacy stream is asked for it.
  if (end.kind == EventKind::stream_abandoned) note_unseen_end(device);
}

template <class Which>
void forget_all(Which which) noexcept {
  for (Stream& stream : all_streams()) {
    if (stream.id.load(std::memory_order_acquire) != 0 && which(stream)) forget(stream, {});
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
