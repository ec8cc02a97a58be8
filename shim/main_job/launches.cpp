// Launches of compute; see launches.h.
#include "shim/main_job/launches.h"

#include <algorithm>

#include "shim/main_job/capture.h"
#include "shim/main_job/copies.h"
#include "shim/main_job/stream_questions.h"
#include "shim/main_job/unasked_launches.h"
#include "shim/markers.h"
#include "shim/routing/real.h"

namespace weft {

constinit std::atomic<bool> launches_are_counted{false};

namespace {

// Tickets start again after 2^32.
Ticket if_comparable(const Stream& stream, Ticket ticket) noexcept {
  constexpr Ticket comparable = 1U << 30;
  const bool is_known = launches_are_counted.load(std::memory_order_relaxed) && ticket != 0;
  return is_known && newest_ticket_of(stream) - ticket < comparable ? ticket : 0;
}

// The next one is not 0, also where they start again.
Ticket behind(Ticket ticket) noexcept {
  return ticket == 0 ? 0 : std::max<Ticket>(ticket + 1, 1);
}

// A marker is on the stream, or it has answered that it is dry, after `launched` was read.
void begin_counting(Stream& stream, LaunchCount launched) noexcept {
  stream.launches_marked.store(launched, std::memory_order_release);
  stream.is_marked.store(true, std::memory_order_release);
}

}  // namespace

void set_launches_counted(bool counted) noexcept {
  launches_are_counted.store(counted, std::memory_order_relaxed);
}

void count_on_another_stream(CUstream stream) noexcept {
  const bool has_handle = stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
  const StreamName name =
      has_handle ? StreamName{reinterpret_cast<std::uint64_t>(stream), stream, true} : name_of(stream, false);
  if (name.key == 0) return note_unasked_launch_for_good(current_device());
  Stream* known = find_stream(name);
  // A thread's own default stream would be one more for each thread that ever launches.
  const bool is_shared = stream != CU_STREAM_PER_THREAD;
  if (!is_shared && (known == nullptr || !known->is_followed.load(std::memory_order_relaxed)))
    note_unasked_launch(current_device());
  if (known == nullptr && is_shared) known = learn_stream(name);
  if (known == nullptr) return;
  if (is_shared) note_use(*known);
  number_this_thread();
  if (next_launch_is_noted(*known)) note_launch(*known);
  count_on(*known);
  thread_state.launched_on = known;
}

void launches_are_captured(Stream& stream) noexcept {
  stream.launches_uncaptured.store(stream.launches.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void launches_were_captured(Stream& stream, LaunchCount last) noexcept {
  const LaunchCount before = stream.launches_uncaptured.load(std::memory_order_relaxed);
  if (stream.launches_marked.load(std::memory_order_relaxed) == before)
    stream.launches_marked.store(last, std::memory_order_release);
}

LaunchCount launches_so_far(const Stream& stream) noexcept {
  return stream.launches.load(std::memory_order_relaxed);
}

bool nothing_launched_since_marker(Stream& stream, LaunchCount launched) noexcept {
  // Before its first marker it may have been launched on when nobody counted.
  if (stream.handle.load(std::memory_order_relaxed) == CU_STREAM_PER_THREAD) {
    own_launches_are_known();
    if (!stream.is_followed.load(std::memory_order_relaxed)) followed_own_streams.add(stream);
  }
  const bool nothing = launches_are_counted.load(std::memory_order_relaxed) &&
                       stream.is_marked.load(std::memory_order_relaxed) &&
                       launched == stream.launches_marked.load(std::memory_order_relaxed);
  begin_counting(stream, launched);
  stream.is_followed.store(true, std::memory_order_relaxed);
  return nothing;
}

void count_from_the_first(Stream* stream) noexcept {
  if (stream != nullptr && launches_are_counted.load(std::memory_order_relaxed)) begin_counting(*stream, 0);
}

void forget_marks_of(int device) noexcept {
  for (Stream& stream : all_streams()) {
    if (stream.device.load(std::memory_order_relaxed) != device) continue;
    stream.is_marked.store(false, std::memory_order_release);
    stream.is_followed.store(false, std::memory_order_relaxed);
    stream.latest.store(0, std::memory_order_relaxed);
  }
}

void ask_uncounted_streams(int device) noexcept {
  learn_stream(legacy_stream_of(device));
  const auto is_here = [device](const Stream& stream) {
    return stream.id.load(std::memory_order_acquire) != 0 && stream.device.load(std::memory_order_relaxed) == device;
  };
  for (Stream& stream : all_streams()) {
    const CUstream handle = stream.handle.load(std::memory_order_relaxed);
    if (!is_here(stream) || handle == CU_STREAM_PER_THREAD || stream.of_nccl.load(std::memory_order_relaxed)) continue;
    const LaunchCount launched = launches_so_far(stream);
    if (is_dry(stream))
      begin_counting(stream, launched);
    else if (is_explicit(stream))
      note_use(stream);
  }
}

void stream_was_dry(Stream& stream, LaunchCount launched) noexcept {
  if (launches_are_counted.load(std::memory_order_relaxed)) begin_counting(stream, launched);
}

Ticket enqueued_after(const Stream& stream) noexcept {
  const Ticket launched = if_comparable(stream, stream.launched_after.load(std::memory_order_relaxed));
  const Ticket waited = if_comparable(stream, stream.waited_after.load(std::memory_order_relaxed));
  if (launched == 0 || waited == 0) return std::max(launched, waited);
  return static_cast<std::int32_t>(waited - launched) > 0 ? waited : launched;
}

Ticket enqueued_before(const Stream& stream) noexcept {
  return behind(enqueued_after(stream));
}

Ticket launched_before(const Stream& stream) noexcept {
  return behind(if_comparable(stream, stream.launched_after.load(std::memory_order_relaxed)));
}

bool nothing_launched_behind_marker(const Stream& stream) noexcept {
  if (!launches_are_counted.load(std::memory_order_relaxed) || !stream.is_marked.load(std::memory_order_acquire)) {
    return false;
  }
  // In this order: the marker is there before what lies ahead of it counts as marked.
  return stream.launches_marked.load(std::memory_order_acquire) == stream.launches.load(std::memory_order_relaxed);
}

bool has_nothing_to_compute(const Stream& stream) noexcept {
  return nothing_launched_behind_marker(stream) &&
         reached(stream.device.load(std::memory_order_relaxed), stream.latest.load(std::memory_order_relaxed));
}

}  // namespace weft
