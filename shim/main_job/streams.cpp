// Streams of the main job; see streams.h.
#include "shim/main_job/streams.h"

#include "shim/main_job/devices.h"
#include "shim/main_job/marker_room.h"
#include "shim/markers.h"
#include "shim/notes.h"
#include "shim/process.h"
#include "shim/routing/real.h"
#include "shim/tables/handle_table.h"

namespace weft {
namespace {

constexpr std::uint64_t default_stream = std::uint64_t{1} << 63;  // no handle has this bit

using Table = HandleTable<Stream, most_streams>;
constinit Table streams{};
constinit std::atomic<StreamId> last_stream{0};
constinit std::atomic<std::uint32_t> last_thread{0};

struct DeviceStreams {
  StreamList<most_unseen> first;    // explicit ones, while there are few
  std::atomic<bool> is_pool;        // there were more than few
  StreamList<most_asked + 1> used;  // explicit ones that were seen in use
  std::atomic<std::uint32_t> made;
  std::atomic<std::uint32_t> in_use;  // explicit or not
};
constinit DeviceStreams device_streams[most_devices]{};

DeviceStreams& list_of(const Stream& stream) noexcept {
  return device_streams[stream.device.load(std::memory_order_relaxed)];
}

// CUDA orders it with the legacy stream.
bool ask_whether_blocking(const StreamName& name) noexcept {
  unsigned int flags = CU_STREAM_NON_BLOCKING;
  return name.is_explicit && real<Symbol::cuStreamGetFlags>()(name.handle, &flags) == CUDA_SUCCESS &&
         (flags & CU_STREAM_NON_BLOCKING) == 0;
}

struct Home {
  int device;
  CUcontext context;  // of an explicit stream
};

// The streams of a context other than the current one can be asked for their device only with it made current.
Home ask_home_of(const StreamName& name) noexcept {
  if (!name.is_explicit) return {static_cast<int>(name.key & 0xff), nullptr};
  CUcontext context = nullptr;
  if (real<Symbol::cuStreamGetCtx>()(name.handle, &context) != CUDA_SUCCESS) return {no_device, nullptr};
  CUcontext current = nullptr;
  if (real<Symbol::cuCtxGetCurrent>()(&current) == CUDA_SUCCESS && current == context) {
    return {ask_current_device(), context};
  }
  CUcontext popped = nullptr;
  if (real<Symbol::cuCtxPushCurrent_v2>()(context) != CUDA_SUCCESS) return {no_device, nullptr};
  const int device = ask_current_device();
  real<Symbol::cuCtxPopCurrent_v2>()(&popped);
  return {device, context};
}

// Its default streams are others than those that the words of the device know.
bool is_of_another_context(int device) noexcept {
  const CUcontext home = has_other_contexts() ? context_of(device) : nullptr;
  CUcontext current = nullptr;
  return home != nullptr && real<Symbol::cuCtxGetCurrent>()(&current) == CUDA_SUCCESS && current != home;
}

// Once in a thread, and out of line: the way of a launch has no locked instruction.
[[gnu::noinline, gnu::cold]] void count_this_thread() noexcept {
  thread_state.number = last_thread.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::uint32_t thread_number() noexcept {
  if (thread_state.number == 0) count_this_thread();
  return thread_state.number;
}

Stream* learn(const StreamName& name, bool of_nccl) noexcept {
  if (Stream* known = find_stream(name)) return known;
  const Home home = name.key == 0 ? Home{no_device, nullptr} : ask_home_of(name);
  if (home.device < 0 || home.device >= most_devices) {
    note_lost();
    return nullptr;
  }
  Stream* stream = streams.claim(name.key);
  if (stream == nullptr) {
    note_full("streams");
    return nullptr;
  }
  note_device(home.device);
  stream->device.store(home.device, std::memory_order_relaxed);
  stream->handle.store(name.handle, std::memory_order_relaxed);
  stream->launched_as.store(name.handle, std::memory_order_relaxed);
  stream->context.store(home.context, std::memory_order_relaxed);
  stream->of_nccl.store(of_nccl, std::memory_order_relaxed);
  stream->is_blocking.store(ask_whether_blocking(name), std::memory_order_relaxed);
  stream->launches.store(0, std::memory_order_relaxed);
  stream->launched_after.store(0, std::memory_order_relaxed);
  stream->waited_after.store(0, std::memory_order_relaxed);
  stream->newest_ticket.store(&newest_ticket(home.device), std::memory_order_relaxed);
  StreamId none = 0;
  stream->id.compare_exchange_strong(none, last_stream.fetch_add(1, std::memory_order_relaxed) + 1,
                                     std::memory_order_acq_rel);
  DeviceStreams& mine = device_streams[home.device];
  const bool is_asked = name.is_explicit && !of_nccl;
  if (is_asked && !mine.first.add(*stream)) mine.is_pool.store(true, std::memory_order_release);
  return stream;
}

// The explicit streams while they are few, of a pool those that were seen in use; see StreamList.
template <class Visit>
void visit_asked_until(int device, Visit visit) noexcept {
  DeviceStreams& mine = device_streams[device];
  if (mine.is_pool.load(std::memory_order_acquire)) {
    mine.used.visit_until(visit);
  } else {
    mine.first.visit_until(visit);
  }
}

}  // namespace

StreamName legacy_stream_of(int device) noexcept {
  return {default_stream | static_cast<std::uint64_t>(device), CU_STREAM_LEGACY, false};
}

StreamName name_of(CUstream stream, bool per_thread) noexcept {
  if (stream != nullptr && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD) {
    return {reinterpret_cast<std::uint64_t>(stream), stream, true};
  }
  const int device = current_device();
  if (device < 0 || is_of_another_context(device)) return {0, nullptr, false};
  const bool thread_stream = stream == CU_STREAM_PER_THREAD || (stream == nullptr && per_thread);
  return thread_stream ? own_stream_of(device) : legacy_stream_of(device);
}

StreamName own_stream_of(int device) noexcept {
  return {default_stream | static_cast<std::uint64_t>(thread_number()) << 8 | static_cast<std::uint64_t>(device),
          CU_STREAM_PER_THREAD, false};
}

bool is_explicit(const Stream& stream) noexcept {
  return (stream.key.load(std::memory_order_relaxed) & default_stream) == 0;
}

// Of another context than the home of the words, it is ordered with the default streams of that one.
StreamOrder order_of(const Stream& stream) noexcept {
  const CUstream handle = stream.handle.load(std::memory_order_relaxed);
  if (handle == CU_STREAM_LEGACY) return StreamOrder::legacy;
  if (handle == CU_STREAM_PER_THREAD) return StreamOrder::blocking;
  if (!stream.is_blocking.load(std::memory_order_relaxed)) return StreamOrder::none;
  const int device = stream.device.load(std::memory_order_relaxed);
  const bool is_elsewhere =
      has_other_contexts() && stream.context.load(std::memory_order_relaxed) != context_of(device);
  return is_elsewhere ? StreamOrder::none : StreamOrder::blocking;
}

constinit std::atomic<bool> blocking_streams_are_marked{false};
constinit StreamList<most_streams> followed_own_streams{};

StreamOrder order_of_marked(const Stream& stream) noexcept {
  const StreamOrder order = order_of(stream);
  if (order == StreamOrder::blocking) blocking_streams_are_marked.store(true, std::memory_order_relaxed);
  return order;
}

Stream* find_stream(const StreamName& name) noexcept {
  if (name.key == 0) return nullptr;
  Stream* stream = streams.find(name.key);
  return stream != nullptr && stream->id.load(std::memory_order_acquire) != 0 ? stream : nullptr;
}

Stream* learn_stream(const StreamName& name) noexcept {
  return learn(name, false);
}

void learn_stream_of_nccl(CUstream stream) noexcept {
  learn(name_of(stream, false), true);
}

void nccl_makes_wait(CUstream stream) noexcept {
  const StreamName name = name_of(stream, false);
  Stream* known = name.is_explicit ? find_stream(name) : nullptr;
  if (known != nullptr) note_use(*known);
}

void release_stream(Stream& stream) noexcept {
  DeviceStreams& mine = list_of(stream);
  if (stream.used.exchange(false, std::memory_order_acq_rel)) mine.in_use.fetch_sub(1, std::memory_order_relaxed);
  stream.waited.store(0, std::memory_order_relaxed);
  stream.latest.store(0, std::memory_order_relaxed);
  stream.is_marked.store(false, std::memory_order_relaxed);
  stream.is_followed.store(false, std::memory_order_relaxed);
  forget_marks(stream);
  mine.first.remove(stream);
  mine.used.remove(stream);
  if (stream.handle.load(std::memory_order_relaxed) == CU_STREAM_PER_THREAD) followed_own_streams.remove(stream);
  Table::release(stream);
}

void release_all_streams(int device) noexcept {
  device_streams[device].made.store(0, std::memory_order_relaxed);
  device_streams[device].is_pool.store(false, std::memory_order_release);
}

std::span<Stream> all_streams() noexcept {
  return streams.entries;
}

void number_this_thread() noexcept {
  thread_number();
}

int device_of(CUstream stream, bool per_thread) noexcept {
  const Stream* known = several_devices() ? find_stream(name_of(stream, per_thread)) : nullptr;
  return known != nullptr ? known->device.load(std::memory_order_relaxed) : current_device();
}

void note_stream_made() noexcept {
  const int device = current_device();
  if (device >= 0) device_streams[device].made.fetch_add(1, std::memory_order_relaxed);
}

std::uint32_t streams_made(int device) noexcept {
  return device_streams[device].made.load(std::memory_order_relaxed);
}

void note_first_use(Stream& stream) noexcept {
  if (stream.used.exchange(true, std::memory_order_acq_rel)) return;
  DeviceStreams& mine = list_of(stream);
  mine.in_use.fetch_add(1, std::memory_order_relaxed);
  const bool is_asked = is_explicit(stream) && !stream.of_nccl.load(std::memory_order_relaxed);
  if (is_asked && !mine.used.add(stream)) note_full("streams of one device");
}

std::uint32_t streams_in_use(int device) noexcept {
  return device_streams[device].in_use.load(std::memory_order_relaxed);
}

int streams_to_ask(int device, Stream* (&found)[most_asked]) noexcept {
  int count = 0;
  const auto take = [&](Stream& stream) {
    if (stream.id.load(std::memory_order_acquire) == 0 || stream.device.load(std::memory_order_relaxed) != device) {
      return false;
    }
    if (count < most_asked) found[count] = &stream;
    return ++count > most_asked;
  };
  visit_asked_until(device, take);
  return count > most_asked ? -1 : count;
}

Stream* stream_to_ask(int device, StreamId id) noexcept {
  Stream* found = nullptr;
  const auto take = [&](Stream& stream) {
    if (stream.id.load(std::memory_order_acquire) == id) found = &stream;
    return found != nullptr;
  };
  visit_asked_until(device, take);
  Stream* legacy = found == nullptr ? find_stream(legacy_stream_of(device)) : nullptr;
  if (legacy != nullptr) take(*legacy);
  return found;
}

}  // namespace weft
