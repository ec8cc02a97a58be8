// Who waits for what communication may hold up: a stream through an event, or the host in a synchronise.
//
// Hooks of CUDA only, any thread, after they have made sure that this process observes and that the call is the main
// job's.
#pragma once

#include <atomic>

#include "detector/event.h"
#include "shim/caller.h"
#include "shim/main_job/devices.h"
#include "shim/main_job/streams.h"
#include "shim/routing/vendor.h"

namespace weft {

struct EventPlace;

// The event has been recorded on the stream: it stands for the stream's last group or noted wait, if that is not over.
void event_recorded(CUevent event, CUstream stream, bool per_thread) noexcept;

// Something without a marker is on the legacy stream: an event, a wait, a copy. It stands between blocking streams.
[[gnu::noinline]] void note_legacy_used(const Stream& legacy) noexcept;
[[gnu::always_inline]] inline void used_without_marker(const Stream& stream) noexcept {
  if (__builtin_expect(stream.handle.load(std::memory_order_relaxed) == CU_STREAM_LEGACY, 0)) note_legacy_used(stream);
}
// The newest ticket when that was last so; 0: never.
Ticket legacy_used_at(int device) noexcept;

// A stream is about to be made to wait for an event; two registers.
struct StreamWait {
  std::uint64_t place;  // that it waits for, see event_places.h; 0: not known
  Ticket passed;        // to be written behind the wait; 0: nothing is noted, no communication could hold it up
  int device;
};
StreamWait stream_waits(CUstream stream, bool per_thread, CUevent event) noexcept;
// Notes a wait for this place, and enqueues the marker ahead of it. `passed` is 0 where that cannot be.
StreamWait begin_noted_wait(Stream& stream, const EventPlace& place, InGraph in_graph) noexcept;
// The real call is over. `made`: it has succeeded.
void stream_waits_now(CUstream stream, bool per_thread, const StreamWait& wait, bool made) noexcept;

// A stream is about to be made to wait for a word in memory: whoever writes it, nobody sees that.
StreamWait stream_waits_for_memory(CUstream stream, bool per_thread) noexcept;
// Around the real call, in hooks.
template <class Call>
CUresult wait_for_memory(CUstream stream, bool per_thread, bool seen, Call call) noexcept {
  const StreamWait wait = seen ? stream_waits_for_memory(stream, per_thread) : StreamWait{};
  const CUresult result = call();
  if (wait.passed != 0) stream_waits_now(stream, per_thread, wait, result == CUDA_SUCCESS);
  return result;
}

// The same for all streams of a context, green or not. An event that is recorded on one stands for the work of all its
// streams; where one waits, everything waits that is launched in it later, also on streams that are not known yet. The
// streams of the device's other contexts are taken for its own.
void context_recorded(int device, CUevent event) noexcept;
int device_of(CUcontext context) noexcept;  // no_device: cannot be told
int device_of(CUgreenCtx context) noexcept;

// Before the real call. No marker goes onto a stream that the caller has not named: another thread may be about to
// capture into it or to destroy it, and on the legacy stream it would order streams that the program has not ordered.
void context_waits(int device, CUevent event) noexcept;

// Around the real calls, in hooks.
template <class Context, class Call>
CUresult record_context(Context context, CUevent event, bool seen, Call call) noexcept {
  const CUresult result = call();
  if (seen && result == CUDA_SUCCESS) context_recorded(device_of(context), event);
  return result;
}
template <class Context, class Call>
CUresult make_context_wait(Context context, CUevent event, bool seen, Call call) noexcept {
  if (seen) context_waits(device_of(context), event);
  return call();
}

// The host is about to block. Nothing is recorded when no group is pending: then it is only counted.
struct HostWait {
  static constexpr int unseen = -1, counted = -2;
  int device = unseen;  // or one of these
  StreamId stream = 0;
  bool is_proof = false;  // when it succeeds, nothing is left of what is named here; else none of this is set
  Stream* dry;            // where no more than `launched` was launched; nullptr: no stream
  LaunchCount launched;
  bool of_own_stream;        // unasked launches of the calling thread (unasked_launches.h)
  std::uint32_t of_unasked;  // those of so many threads
  int unasked_on;
};
HostWait host_waits_for_stream(CUstream stream, bool per_thread) noexcept;
HostWait host_waits_for_event(CUevent event) noexcept;
HostWait host_waits_for_device() noexcept;
void note_wait_over(const HostWait& wait, CUresult result) noexcept;
[[gnu::always_inline]] inline void host_wait_over(const HostWait& wait, CUresult result) noexcept {
  if (wait.device != HostWait::unseen) note_wait_over(wait, result);
}
// A thread of the main job waits for the device in a call of CUDA, and no group was pending when it began to.
bool host_waits_for_compute(int device) noexcept;

// The core wants to hear of moments at which nothing is pending. Off but where a fill job may still become ready, or
// get another variant.
[[gnu::visibility("hidden")]] extern std::atomic<bool> quiet_moments_wanted;
void offer_quiet_moment() noexcept;
// At the end of a synchronise. Inlined into the hook, whose caller it looks at only where somebody wants to hear of it.
[[gnu::always_inline]] inline void host_goes_on() noexcept {
  if (quiet_moments_wanted.load(std::memory_order_relaxed) && observing()) offer_quiet_moment();
}

}  // namespace weft
