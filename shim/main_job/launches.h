// Launches of compute on streams of the main job: a number per stream, so that a stream that has got nothing to compute
// since its last marker is known to be still.
//
// Hooks of launches, any thread: a few loads and a store, no locked instruction. Each launch stores a number that no
// other one does, so that of two threads on one stream the second changes it, too. Not seen: a launch that a thread has
// counted and not made yet while another thread puts a marker onto the same stream. Launches on default streams that
// nobody else can name: see unasked_launches.h.
#pragma once

#include "shim/main_job/devices.h"
#include "shim/main_job/streams.h"
#include "shim/process.h"

namespace weft {

// WEFT_LAUNCHES. Off: nothing is counted, and any stream may have got something.
[[gnu::visibility("hidden")]] extern std::atomic<bool> launches_are_counted;
void set_launches_counted(bool counted) noexcept;

// Another stream than that of the last launch of this thread, learned at first sight; or one of which it
// is noted. `stream`: a handle, or the name of a default stream.
[[gnu::noinline]] void count_on_another_stream(CUstream stream) noexcept;

// The number of the thread, and of its launches so far. (A thread that has made 2^32 of them begins anew.)
[[gnu::always_inline]] inline LaunchCount next_launch() noexcept {
  return std::uint64_t{thread_state.number} << 32 | ++thread_state.launches;
}
// As answers carry it: equal for equal ones, and for others as good as never. Not 0.
inline std::uint32_t folded(LaunchCount launched) noexcept {
  return static_cast<std::uint32_t>((launched * 0x9e3779b97f4a7c15u) >> 32) | 1u;
}

[[gnu::always_inline]] inline Ticket newest_ticket_of(const Stream& stream) noexcept {
  return stream.newest_ticket.load(std::memory_order_relaxed)->load(std::memory_order_relaxed);
}
// A wait without a marker is enqueued, or the driver finds that it is over: which markers come later is known then.
inline void note_wait_without_marker(Stream& stream) noexcept {
  stream.waited_after.store(newest_ticket_of(stream), std::memory_order_relaxed);
}

[[gnu::always_inline]] inline void count_on(Stream& stream) noexcept {
  stream.launched_after.store(newest_ticket_of(stream), std::memory_order_relaxed);
  stream.launches.store(next_launch(), std::memory_order_relaxed);
}

// A launch that names `stream` is on this one, and need not be noted. nullptr: no.
[[gnu::always_inline]] inline bool is_launched_as(const Stream* known, CUstream stream) noexcept {
  // The default streams of several devices or contexts have one name, and so have those of threads.
  const bool one_name =
      reinterpret_cast<std::uintptr_t>(stream) > 2 || (stream == CU_STREAM_LEGACY && !several_default_streams());
  // Another stream that was made since, with the handle of one that is gone, has not been used.
  return known != nullptr && one_name && known->launched_as.load(std::memory_order_relaxed) == stream &&
         known->used.load(std::memory_order_relaxed);
}

// `stream` as an API call names it.
[[gnu::always_inline]] inline void count_launch(CUstream stream, bool per_thread) noexcept {
  if (!launches_are_counted.load(std::memory_order_relaxed)) return;
  if (stream == nullptr) stream = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  Stream* last = thread_state.launched_on;
  if (__builtin_expect(!is_launched_as(last, stream), 0)) return count_on_another_stream(stream);
  count_on(*last);
}

// A stream that was just made; nullptr: it did not fit. Until it is launched on it has nothing to compute.
void count_from_the_first(Stream* stream) noexcept;

// A capture begins on the stream, or has ended: what was launched meanwhile is in a graph, up to the launch that was the
// last one before the end. A stream that has joined the capture of another one is not told.
void launches_are_captured(Stream& stream) noexcept;
void launches_were_captured(Stream& stream, LaunchCount last) noexcept;

// To be read before a marker is enqueued; then, when the marker and Stream::latest are there: whether it is known that
// nothing was launched since the marker before.
LaunchCount launches_so_far(const Stream& stream) noexcept;
bool nothing_launched_since_marker(Stream& stream, LaunchCount launched) noexcept;

// The device gets new words: all tickets given out so far count as reached then, also those that a stream has not got
// to, so nothing is known of its streams any more.
void forget_marks_of(int device) noexcept;
// When it has them. Launches from before then were not counted, so each stream is asked once: one that is busy is in
// use. At a quiet time, as the legacy stream answers for blocking ones that are in a receive.
void ask_uncounted_streams(int device) noexcept;
// The host has waited for the stream, and `launched` was read before: nothing of that is left.
void stream_was_dry(Stream& stream, LaunchCount launched) noexcept;

// The newest ticket when it was launched on last, or got a wait without a marker; 0: neither has been, or so long ago
// that it is not known.
Ticket enqueued_after(const Stream& stream) noexcept;
// Its launches, and its waits without a marker, were enqueued before this ticket was given out; 0: not known. And its
// launches alone.
Ticket enqueued_before(const Stream& stream) noexcept;
Ticket launched_before(const Stream& stream) noexcept;

// Nothing was launched on the stream since its last marker, whether it has got to that or not.
bool nothing_launched_behind_marker(const Stream& stream) noexcept;

// The stream has got to its last marker, and nothing was launched since: it has nothing to compute.
bool has_nothing_to_compute(const Stream& stream) noexcept;

}  // namespace weft
