// Streams, groups and events of the main job; see streams.h.
#include "shim/streams.h"

#include "shim/handle_table.h"
#include "shim/markers.h"
#include "shim/notes.h"
#include "shim/process.h"
#include "shim/real.h"

namespace weft {
namespace {

constexpr std::uint64_t kDefaultStream = std::uint64_t{1} << 63;  // no handle has this bit
constexpr std::uint32_t kStreams = 1024;
constexpr std::uint32_t kGroups = 4096;
constexpr std::uint32_t kGroupStreams = 16;

constinit HandleTable<Stream, kStreams> streams{};
constinit std::atomic<StreamId> last_stream{0};
constinit std::atomic<std::uint32_t> last_thread{0};

struct DeviceStreams {
  std::atomic<Stream*> explicit_streams[kStreamsPerDevice];
  std::atomic<Stream*> group_streams[kGroupStreams];
  std::atomic<std::uint32_t> group_streams_used;  // places from here on have never been taken
};
constinit DeviceStreams device_streams[kMostDevices]{};

constexpr int kNoDevice = -1;
constexpr int kSeveralDevices = -2;
constinit std::atomic<int> only_device{kNoDevice};

struct Group {
  std::atomic<GroupId> id;
  std::atomic<Stream*> stream;
  std::atomic<StreamId> stream_id;
  std::atomic<std::int32_t> device;
  std::atomic<Ticket> done;
};
constinit Group groups[kGroups]{};

struct MappedEvent {
  std::atomic<std::uint64_t> key;
  std::atomic<GroupId> group;
};
constexpr std::uint32_t kEventSets = 4096;
constexpr std::uint32_t kEventWays = 4;
alignas(64) constinit MappedEvent events[kEventSets][kEventWays]{};  // a set is a cache line
constinit std::atomic<std::uint32_t> next_victim{0};

int ask_current_device() noexcept {
  CUdevice device = 0;
  return real<Symbol::cuCtxGetDevice>()(&device) == CUDA_SUCCESS && device < kMostDevices ? device : kNoDevice;
}

// The streams of a context other than the current one can be asked for their device only with it made current.
int ask_device_of(const StreamName& name) noexcept {
  if (!name.is_explicit) return static_cast<int>(name.key & 0xff);
  CUcontext context = nullptr;
  if (real<Symbol::cuStreamGetCtx>()(name.handle, &context) != CUDA_SUCCESS) return kNoDevice;
  CUcontext current = nullptr;
  if (real<Symbol::cuCtxGetCurrent>()(&current) == CUDA_SUCCESS && current == context) return ask_current_device();
  if (real<Symbol::cuCtxPushCurrent_v2>()(context) != CUDA_SUCCESS) return kNoDevice;
  const int device = ask_current_device();
  real<Symbol::cuCtxPopCurrent_v2>()(&context);
  return device;
}

std::uint32_t thread_number() noexcept {
  if (thread_state.number == 0) thread_state.number = last_thread.fetch_add(1, std::memory_order_relaxed) + 1;
  return thread_state.number;
}

// The place it has or gets; `slots`: there is none left.
template <std::uint32_t slots>
std::uint32_t remember(std::atomic<Stream*> (&list)[slots], Stream& stream) noexcept {
  for (std::uint32_t index = 0; index < slots; ++index) {
    Stream* there = list[index].load(std::memory_order_acquire);
    if (there == &stream) return index;
    if (there == nullptr &&
        (list[index].compare_exchange_strong(there, &stream, std::memory_order_acq_rel) || there == &stream)) {
      return index;
    }
  }
  return slots;
}

template <std::uint32_t slots>
void forget(std::atomic<Stream*> (&list)[slots], Stream& stream) noexcept {
  for (auto& place : list) {
    Stream* there = &stream;
    place.compare_exchange_strong(there, nullptr, std::memory_order_acq_rel);
  }
}

std::uint64_t key_of(CUevent event) noexcept {
  return reinterpret_cast<std::uint64_t>(event);
}

MappedEvent (&set_of(CUevent event) noexcept)[kEventWays] {
  return events[((key_of(event) * 0x9e3779b97f4a7c15u) >> 40) % kEventSets];
}

}  // namespace

bool several_devices() noexcept {
  return only_device.load(std::memory_order_relaxed) == kSeveralDevices;
}

void note_device(int device) noexcept {
  int known = kNoDevice;
  if (!only_device.compare_exchange_strong(known, device, std::memory_order_relaxed) && known != device) {
    only_device.store(kSeveralDevices, std::memory_order_relaxed);
  }
}

int current_device() noexcept {
  const int known = only_device.load(std::memory_order_relaxed);
  return known >= 0 ? known : ask_current_device();
}

StreamName legacy_stream_of(int device) noexcept {
  return {kDefaultStream | static_cast<std::uint64_t>(device), CU_STREAM_LEGACY, false};
}

StreamName name_of(CUstream stream, bool per_thread) noexcept {
  if (stream != nullptr && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD) {
    return {reinterpret_cast<std::uint64_t>(stream), stream, true};
  }
  const int device = current_device();
  if (device < 0) return {0, nullptr, false};
  const bool thread_stream = stream == CU_STREAM_PER_THREAD || (stream == nullptr && per_thread);
  if (!thread_stream) return legacy_stream_of(device);
  return {kDefaultStream | static_cast<std::uint64_t>(thread_number()) << 8 | static_cast<std::uint64_t>(device),
          CU_STREAM_PER_THREAD, false};
}

Stream* find_stream(const StreamName& name) noexcept {
  if (name.key == 0) return nullptr;
  Stream* stream = streams.find(name.key);
  return stream != nullptr && stream->id.load(std::memory_order_acquire) != 0 ? stream : nullptr;
}

Stream* learn_stream(const StreamName& name) noexcept {
  if (Stream* known = find_stream(name)) return known;
  const int device = name.key == 0 ? kNoDevice : ask_device_of(name);
  Stream* stream = device < 0 || device >= kMostDevices ? nullptr : streams.claim(name.key);
  if (stream == nullptr) {
    note_lost();
    return nullptr;
  }
  note_device(device);
  stream->device.store(device, std::memory_order_relaxed);
  stream->handle.store(name.handle, std::memory_order_relaxed);
  StreamId none = 0;
  stream->id.compare_exchange_strong(none, last_stream.fetch_add(1, std::memory_order_relaxed) + 1,
                                     std::memory_order_acq_rel);
  if (name.is_explicit && remember(device_streams[device].explicit_streams, *stream) == kStreamsPerDevice) note_lost();
  return stream;
}

void forget_stream(CUstream handle) noexcept {
  const StreamName name = name_of(handle, false);
  Stream* stream = name.is_explicit ? find_stream(name) : nullptr;
  if (stream == nullptr) return;
  Event event = event_of(EventKind::stream_destroyed, stream->device.load(std::memory_order_relaxed));
  event.stream = stream->id.exchange(0, std::memory_order_acq_rel);
  stream->group.store(0, std::memory_order_relaxed);
  stream->waited.store(0, std::memory_order_relaxed);
  stream->marker.store(0, std::memory_order_relaxed);
  forget(device_streams[event.device].explicit_streams, *stream);
  forget(device_streams[event.device].group_streams, *stream);
  HandleTable<Stream, kStreams>::release(*stream);
  if (level() == Level::observe && event.stream != 0) note(event);
}

Stream* explicit_stream(int device, std::uint32_t index) noexcept {
  return device_streams[device].explicit_streams[index].load(std::memory_order_acquire);
}

void remember_group(GroupId group, Stream& stream, Ticket done) noexcept {
  Group& place = groups[group % kGroups];
  place.id.store(0, std::memory_order_release);
  place.stream.store(&stream, std::memory_order_relaxed);
  place.stream_id.store(stream.id.load(std::memory_order_relaxed), std::memory_order_relaxed);
  place.device.store(stream.device.load(std::memory_order_relaxed), std::memory_order_relaxed);
  place.done.store(done, std::memory_order_relaxed);
  place.id.store(group, std::memory_order_release);
  stream.group.store(group, std::memory_order_release);
}

GroupPlace place_of(GroupId group) noexcept {
  const Group& place = groups[group % kGroups];
  if (group == 0 || place.id.load(std::memory_order_acquire) != group) return {};
  const GroupPlace found{place.stream.load(std::memory_order_relaxed), place.stream_id.load(std::memory_order_relaxed),
                         place.device.load(std::memory_order_relaxed), place.done.load(std::memory_order_relaxed)};
  std::atomic_thread_fence(std::memory_order_acquire);
  return place.id.load(std::memory_order_relaxed) == group ? found : GroupPlace{};
}

bool is_pending(GroupId group) noexcept {
  const GroupPlace place = place_of(group);
  return place.stream != nullptr && !reached(place.device, place.done);
}

GroupId pending_group_of(Stream& stream) noexcept {
  GroupId group = stream.group.load(std::memory_order_acquire);
  if (group == 0 || is_pending(group)) return group;
  // Over: asked for once only.
  stream.group.compare_exchange_strong(group, 0, std::memory_order_acq_rel);
  return 0;
}

GroupId pending_group(int device) noexcept {
  DeviceStreams& mine = device_streams[device];
  const std::uint32_t used = mine.group_streams_used.load(std::memory_order_acquire);
  for (std::uint32_t index = 0; index < used; ++index) {
    Stream* stream = mine.group_streams[index].load(std::memory_order_acquire);
    const GroupId group = stream == nullptr ? 0 : pending_group_of(*stream);
    if (group != 0) return group;
  }
  return 0;
}

void note_group_stream(Stream& stream) noexcept {
  DeviceStreams& mine = device_streams[stream.device.load(std::memory_order_relaxed)];
  const std::uint32_t place = remember(mine.group_streams, stream);
  if (place == kGroupStreams) return note_lost();
  std::uint32_t used = mine.group_streams_used.load(std::memory_order_relaxed);
  while (used <= place && !mine.group_streams_used.compare_exchange_weak(used, place + 1, std::memory_order_acq_rel))
    continue;
}

void map_event(CUevent event, GroupId group) noexcept {
  MappedEvent(&set)[kEventWays] = set_of(event);
  for (MappedEvent& entry : set) {
    if (entry.key.load(std::memory_order_relaxed) != key_of(event)) continue;
    if (entry.group.load(std::memory_order_relaxed) != group) entry.group.store(group, std::memory_order_release);
    return;
  }
  if (group == 0) return;
  for (MappedEvent& entry : set) {
    std::uint64_t key = entry.key.load(std::memory_order_relaxed);
    if (is_pending(entry.group.load(std::memory_order_relaxed))) continue;
    if (!entry.key.compare_exchange_strong(key, key_of(event), std::memory_order_acq_rel)) continue;
    entry.group.store(group, std::memory_order_release);
    return;
  }
  note_lost();
  MappedEvent& victim = set[next_victim.fetch_add(1, std::memory_order_relaxed) % kEventWays];
  victim.group.store(0, std::memory_order_relaxed);
  victim.key.store(key_of(event), std::memory_order_release);
  victim.group.store(group, std::memory_order_release);
}

GroupId group_of_event(CUevent event) noexcept {
  for (const MappedEvent& entry : set_of(event)) {
    if (entry.key.load(std::memory_order_acquire) == key_of(event)) return entry.group.load(std::memory_order_acquire);
  }
  return 0;
}

}  // namespace weft
