// Streams and events of the main job, as far as the shim has to know them: which group a stream ran last, which group
// an event stands for, where a marker has been enqueued that has not run yet.
//
// Any thread, in hooks: tables of fixed size, no lock. What does not fit is not recorded and counted as lost.
#pragma once

#include <atomic>
#include <cstdint>

#include "detector/event.h"
#include "shim/vendor.h"

namespace weft {

struct Stream {
  std::atomic<std::uint64_t> key;
  std::atomic<StreamId> id;  // 0: not known (any more)
  std::atomic<std::int32_t> device;
  std::atomic<CUstream> handle;  // as markers address it: explicit, or CU_STREAM_LEGACY / CU_STREAM_PER_THREAD
  std::atomic<GroupId> group;    // the last one issued on it
  std::atomic<GroupId> waited;   // the last one it was made to wait for
  std::atomic<Ticket> marker;    // the last one enqueued for a wait or a drain
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

// The handle is about to become invalid.
void forget_stream(CUstream stream) noexcept;

// The explicit streams of a device: calls visit(Stream&) for each that is known.
inline constexpr std::uint32_t kStreamsPerDevice = 128;
Stream* explicit_stream(int device, std::uint32_t index) noexcept;
template <class Visit>
void for_each_explicit_stream(int device, Visit visit) {
  for (std::uint32_t index = 0; index < kStreamsPerDevice; ++index) {
    Stream* stream = explicit_stream(device, index);
    if (stream != nullptr && stream->id.load(std::memory_order_acquire) != 0 &&
        stream->device.load(std::memory_order_relaxed) == device) {
      visit(*stream);
    }
  }
}

// The device of the calling thread's current context, -1: none. Asks the driver only when several devices are in use.
int current_device() noexcept;
bool several_devices() noexcept;
void note_device(int device) noexcept;

// Groups by number: whose stream, and the ticket that is written when it is over. Old ones are forgotten.
void remember_group(GroupId group, Stream& stream, Ticket done) noexcept;
bool is_pending(GroupId group) noexcept;
struct GroupPlace {
  Stream* stream;  // nullptr: forgotten
  StreamId id;
  int device;
  Ticket done;
};
GroupPlace place_of(GroupId group) noexcept;
// The stream's last group if it is not over, else 0.
GroupId pending_group_of(Stream& stream) noexcept;
// A group of the device that is not over, 0: none. The streams that groups run on are few.
GroupId pending_group(int device) noexcept;
void note_group_stream(Stream& stream) noexcept;

// Which group an event stands for; 0 takes the event out.
void map_event(CUevent event, GroupId group) noexcept;
GroupId group_of_event(CUevent event) noexcept;

}  // namespace weft
