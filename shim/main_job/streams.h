// Streams of the main job: their names, what the shim knows of each, and which of them may have work that nobody has
// seen.
//
// Any thread, in hooks: tables of fixed size, no lock. A stream that does not fit is not recorded, which is said once
// (see full_table() in shim/notes.h). That a stream is in use is known from launches on it, its events, its NCCL groups
// and the waits for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "detector/event.h"
#include "shim/routing/vendor.h"
#include "shim/tables/stream_list.h"

namespace weft {

inline constexpr std::uint32_t most_streams = 8192;  // PyTorch makes 128 per device at once

using LaunchCount = std::uint64_t;  // equal only where nothing was launched in between

// Enqueued last, behind all markers.
enum class NoCompute : std::uint8_t { none, copy, wait_for_copy };

struct Stream {
  std::atomic<std::uint64_t> key;
  std::atomic<StreamId> id;  // 0: not known (any more)
  std::atomic<std::int32_t> device;
  std::atomic<CUstream> handle;       // as markers address it: explicit, or CU_STREAM_LEGACY / CU_STREAM_PER_THREAD
  std::atomic<CUstream> launched_as;  // the same; nullptr: the next launch on it is to be noted, see copies.h
  std::atomic<CUcontext> context;     // of an explicit stream
  std::atomic<GroupId> group;         // the last one issued on it
  std::atomic<std::uint64_t> waited;  // the place it was last made to wait for, see event_places.h
  std::atomic<Ticket> latest;         // the marker behind its last group or noted wait; 0: none
  std::atomic<const std::atomic<Ticket>*> newest_ticket;  // of its device
  std::atomic<LaunchCount> launches;                      // of compute on it, see launches.h
  std::atomic<Ticket> launched_after;                     // the newest ticket at the last of those,
  std::atomic<Ticket> waited_after;                       // and at its last wait without a marker; 0: none
  std::atomic<NoCompute> latest_is;                       // see copies.h
  std::atomic<LaunchCount> launches_marked;               // of those, before its last marker
  std::atomic<LaunchCount> launches_uncaptured;           // of those, before its last capture
  std::atomic<std::uint32_t> marks;                       // groups and waits with markers, see marker_room.h
  std::atomic<Ticket> milestones[7];                      // the markers behind some of them
  std::atomic<bool> is_marked;                            // has had a marker, or was seen to be dry
  std::atomic<bool> is_followed;                          // has had a marker, so the detector knows of it
  std::atomic<bool> used;                                 // seen in more than its creation
  std::atomic<bool> of_nccl;                              // NCCL made it for itself: counted, never asked
  std::atomic<bool> begins_capture;                       // that has not ended
  std::atomic<bool> is_blocking;                          // explicit, and the legacy stream and it wait for each other
};

// How an API call names a stream: an explicit handle, or one of the default streams. `per_thread`: what NULL means.
struct StreamName {
  std::uint64_t key;  // 0: cannot be told (no current context, or a default stream of one that is not known)
  CUstream handle;
  bool is_explicit;
};
StreamName name_of(CUstream stream, bool per_thread) noexcept;
StreamName legacy_stream_of(int device) noexcept;
StreamName own_stream_of(int device) noexcept;  // the calling thread's default stream
bool is_explicit(const Stream& stream) noexcept;
StreamOrder order_of(const Stream& stream) noexcept;
// Likewise, of one that gets a marker.
StreamOrder order_of_marked(const Stream& stream) noexcept;
// A blocking stream has had one: it may hold up the legacy one.
[[gnu::visibility("hidden")]] extern std::atomic<bool> blocking_streams_are_marked;

// Known already, or nullptr.
Stream* find_stream(const StreamName& name) noexcept;

// Known from now on; nullptr when the table is full or its device cannot be told. Asks the driver at first sight.
Stream* learn_stream(const StreamName& name) noexcept;

// Likewise for a stream that NCCL has made, inside NCCL; and NCCL makes a stream wait, perhaps one of those.
void learn_stream_of_nccl(CUstream stream) noexcept;
void nccl_makes_wait(CUstream stream) noexcept;

// The place of a stream that has been forgotten (main_job/forget_streams.h) is free again, and it is in no list here.
void release_stream(Stream& stream) noexcept;
void release_all_streams(int device) noexcept;  // after each one: the device's context has gone

// Every place of the table; one whose id is 0 has no stream.
std::span<Stream> all_streams() noexcept;

// Gives the calling thread its ThreadState::number.
void number_this_thread() noexcept;

// The device of a stream as an API call names it, no_device: unknown.
int device_of(CUstream stream, bool per_thread) noexcept;

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
// than most_unseen; of a larger pool those that were seen in use. -1: more than most_asked of those.
inline constexpr int most_unseen = 32;
inline constexpr int most_asked = 255;
int streams_to_ask(int device, Stream* (&found)[most_asked]) noexcept;
// The per-thread default streams of all devices that have had a marker.
[[gnu::visibility("hidden")]] extern StreamList<most_streams> followed_own_streams;
// The one of them with this id, also where there are more than most_asked, or the legacy stream; nullptr: none.
Stream* stream_to_ask(int device, StreamId stream) noexcept;

}  // namespace weft
