// Streams and events of the main job, as far as the shim has to know them: which group a stream ran last, which group
// an event stands for, where a marker has been enqueued that has not run yet.
//
// Any thread, in hooks: tables of fixed size, no lock. A stream that does not fit is not recorded, which is said once
// (see full_table() in shim/notes.h). Launches are not hooked: that a stream is in use is known from its events, its
// NCCL groups and the waits for it, and a stream that was only created and launched on looks like one that nobody uses.
#pragma once

#include <atomic>
#include <cstdint>

#include "detector/event.h"
#include "shim/routing/vendor.h"

namespace weft {

struct Stream {
  std::atomic<std::uint64_t> key;
  std::atomic<StreamId> id;  // 0: not known (any more)
  std::atomic<std::int32_t> device;
  std::atomic<CUstream> handle;    // as markers address it: explicit, or CU_STREAM_LEGACY / CU_STREAM_PER_THREAD
  std::atomic<CUcontext> context;  // of an explicit stream
  std::atomic<GroupId> group;      // the last one issued on it
  std::atomic<GroupId> waited;     // the last one it was made to wait for
  std::atomic<Ticket> marker;      // the last one enqueued for a wait
  std::atomic<bool> used;          // seen in more than its creation
  std::atomic<bool> of_nccl;       // NCCL made it for itself: counted, never asked
};

// How an API call names a stream: an explicit handle, or one of the default streams. `per_thread`: what NULL means.
struct StreamName {
  std::uint64_t key;  // 0: cannot be told (no current context)
  CUstream handle;
  bool is_explicit;
};
StreamName name_of(CUstream stream, bool per_thread) noexcept;
StreamName legacy_stream_of(int device) noexcept;

// Known already, or nullptr.
Stream* find_stream(const StreamName& name) noexcept;

// Known from now on; nullptr when the table is full or its device cannot be told. Asks the driver at first sight.
Stream* learn_stream(const StreamName& name) noexcept;

// Likewise for a stream that NCCL has made, inside NCCL; and NCCL makes a stream wait, perhaps one of those.
void learn_stream_of_nccl(CUstream stream) noexcept;
void nccl_makes_wait(CUstream stream) noexcept;

// The handle is about to become invalid: one stream's, those of a context, those of a device with its default streams.
// When these return, nobody uses it any more.
void forget_stream(CUstream stream) noexcept;
void forget_streams_of(CUcontext context) noexcept;
void forget_streams_of(int device) noexcept;

// A stream of the current device was made, by whomever: each takes its turn at the hardware queues.
void note_stream_made() noexcept;
std::uint32_t streams_made(int device) noexcept;

// The main job was seen to use it.
[[gnu::cold]] void note_first_use(Stream& stream) noexcept;
[[gnu::always_inline]] inline void note_use(Stream& stream) noexcept {
  if (__builtin_expect(!stream.used.load(std::memory_order_relaxed), 0)) note_first_use(stream);
}
std::uint32_t streams_in_use(int device) noexcept;

// The explicit streams that may have work which nobody has seen, into `found`: all of the device while it has no more
// than that; of a larger pool those that were seen in use. -1: more than kMostAsked of those.
inline constexpr int kMostAsked = 32;
int streams_to_ask(int device, Stream* (&found)[kMostAsked]) noexcept;

// Asks one of them whether all its work is done; false also when it is gone or while a stream captures. Then every
// explicit stream of the device, and the legacy one; per-thread default streams answer only to their own threads. See
// ShimServices.
bool is_dry(int device, StreamId stream) noexcept;
bool is_idle(int device) noexcept;

// Streams of the main job may be asked on any thread at any time; but a stream that is destroyed must not be, and a
// question to one that captures ends its capture. Whoever is about to do either first makes it known (forget_stream(),
// capture_begins()) and then waits here for those who ask already: microseconds, and always with a bound. So does
// turning off, after which destruction and captures are made known no more.
void wait_for_questions() noexcept;

// The device of a stream as an API call names it, -1: unknown.
int device_of(CUstream stream, bool per_thread) noexcept;

// The device of the calling thread's current context, -1: none. Asks the driver only when several devices are in use.
int current_device() noexcept;
bool several_devices() noexcept;
void note_device(int device) noexcept;

// Groups by number: whose stream, and the ticket that is written when it is over. Old ones are forgotten.
void remember_group(GroupId group, Stream& stream, Ticket done) noexcept;
struct GroupPlace {
  Stream* stream;  // nullptr: forgotten
  StreamId id;
  int device;
  Ticket done;
};
GroupPlace place_of(GroupId group) noexcept;
// Enqueues the marker of a group's end, on whatever thread. False: its stream is gone or another thread's own, or a
// stream captures; then there is none.
bool mark_end(const GroupPlace& place) noexcept;
bool is_pending(const GroupPlace& place) noexcept;
// The stream's last group if it is not over, else 0.
GroupId pending_group_of(Stream& stream) noexcept;
// A group of the device that is not over, 0: none.
GroupId pending_group(int device) noexcept;
void note_group_stream(Stream& stream) noexcept;

// Which group an event stands for; 0 takes the event out.
void map_event(CUevent event, GroupId group) noexcept;
GroupId group_of_event(CUevent event) noexcept;

}  // namespace weft
