// Streams, groups and events of the main job; see streams.h.
#include "shim/main_job/streams.h"

#include <time.h>

#include "shim/main_job/capture.h"
#include "shim/markers.h"
#include "shim/notes.h"
#include "shim/process.h"
#include "shim/routing/real.h"
#include "shim/tables/handle_table.h"
#include "shim/tables/stream_list.h"

namespace weft {
namespace {

constexpr std::uint64_t kDefaultStream = std::uint64_t{1} << 63;  // no handle has this bit
constexpr std::uint32_t kStreams = 8192;                          // PyTorch makes 128 per device at once
constexpr std::uint32_t kGroups = 4096;
constexpr std::uint32_t kGroupStreams = 256;
constexpr std::uint32_t kUsedStreams = 256;

constinit HandleTable<Stream, kStreams> streams{};
constinit std::atomic<StreamId> last_stream{0};
constinit std::atomic<std::uint32_t> last_thread{0};

struct DeviceStreams {
  StreamList<kMostAsked> first;      // explicit ones, while there are few
  std::atomic<bool> is_pool;         // there were more than few
  StreamList<kUsedStreams> used;     // explicit ones that were seen in use
  StreamList<kGroupStreams> groups;  // those that groups were issued on
  std::atomic<std::uint32_t> made;
  std::atomic<std::uint32_t> in_use;  // explicit or not
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

struct Home {
  int device;
  CUcontext context;  // of an explicit stream
};

// The streams of a context other than the current one can be asked for their device only with it made current.
Home ask_home_of(const StreamName& name) noexcept {
  if (!name.is_explicit) return {static_cast<int>(name.key & 0xff), nullptr};
  CUcontext context = nullptr;
  if (real<Symbol::cuStreamGetCtx>()(name.handle, &context) != CUDA_SUCCESS) return {kNoDevice, nullptr};
  CUcontext current = nullptr;
  if (real<Symbol::cuCtxGetCurrent>()(&current) == CUDA_SUCCESS && current == context) {
    return {ask_current_device(), context};
  }
  CUcontext popped = nullptr;
  if (real<Symbol::cuCtxPushCurrent_v2>()(context) != CUDA_SUCCESS) return {kNoDevice, nullptr};
  const int device = ask_current_device();
  real<Symbol::cuCtxPopCurrent_v2>()(&popped);
  return {device, context};
}

std::uint32_t thread_number() noexcept {
  if (thread_state.number == 0) thread_state.number = last_thread.fetch_add(1, std::memory_order_relaxed) + 1;
  return thread_state.number;
}

std::uint64_t key_of(CUevent event) noexcept {
  return reinterpret_cast<std::uint64_t>(event);
}

bool is_explicit(const Stream& stream) noexcept {
  return (stream.key.load(std::memory_order_relaxed) & kDefaultStream) == 0;
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

int device_of(CUstream stream, bool per_thread) noexcept {
  const Stream* known = several_devices() ? find_stream(name_of(stream, per_thread)) : nullptr;
  return known != nullptr ? known->device.load(std::memory_order_relaxed) : current_device();
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

namespace {

Stream* learn(const StreamName& name, bool of_nccl) noexcept {
  if (Stream* known = find_stream(name)) return known;
  const Home home = name.key == 0 ? Home{kNoDevice, nullptr} : ask_home_of(name);
  if (home.device < 0 || home.device >= kMostDevices) {
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
  stream->context.store(home.context, std::memory_order_relaxed);
  stream->of_nccl.store(of_nccl, std::memory_order_relaxed);
  StreamId none = 0;
  stream->id.compare_exchange_strong(none, last_stream.fetch_add(1, std::memory_order_relaxed) + 1,
                                     std::memory_order_acq_rel);
  DeviceStreams& mine = device_streams[home.device];
  const bool is_asked = name.is_explicit && !of_nccl;
  if (is_asked && !mine.first.add(*stream)) mine.is_pool.store(true, std::memory_order_release);
  return stream;
}

}  // namespace

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

void note_first_use(Stream& stream) noexcept {
  if (stream.used.exchange(true, std::memory_order_acq_rel)) return;
  DeviceStreams& mine = device_streams[stream.device.load(std::memory_order_relaxed)];
  mine.in_use.fetch_add(1, std::memory_order_relaxed);
  const bool is_asked = is_explicit(stream) && !stream.of_nccl.load(std::memory_order_relaxed);
  if (is_asked && !mine.used.add(stream)) note_full("streams of one device");
}

std::uint32_t streams_in_use(int device) noexcept {
  return device_streams[device].in_use.load(std::memory_order_relaxed);
}

void note_stream_made() noexcept {
  const int device = current_device();
  if (device >= 0) device_streams[device].made.fetch_add(1, std::memory_order_relaxed);
}

std::uint32_t streams_made(int device) noexcept {
  return device_streams[device].made.load(std::memory_order_relaxed);
}

namespace {

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

int streams_to_ask(int device, Stream* (&found)[kMostAsked]) noexcept {
  int count = 0;
  const auto take = [&](Stream& stream) {
    if (stream.id.load(std::memory_order_acquire) == 0 || stream.device.load(std::memory_order_relaxed) != device) {
      return false;
    }
    if (count < kMostAsked) found[count] = &stream;
    return ++count > kMostAsked;
  };
  visit_asked_until(device, take);
  return count > kMostAsked ? -1 : count;
}

namespace {

constinit std::atomic<std::uint32_t> questions{0};

// A condition that holds once the counter is up holds until the answer: see wait_for_questions().
template <class Ask>
bool ask_undisturbed(Ask ask) noexcept {
  questions.fetch_add(1, std::memory_order_seq_cst);
  const bool answer = level() == Level::observe && !any_capture() && ask();
  questions.fetch_sub(1, std::memory_order_release);
  return answer;
}

bool is_dry(const Stream& stream, StreamId id) noexcept {
  const CUstream handle = stream.handle.load(std::memory_order_relaxed);
  return ask_undisturbed([&] {
    return stream.id.load(std::memory_order_seq_cst) == id && real<Symbol::cuStreamQuery>()(handle) == CUDA_SUCCESS;
  });
}

}  // namespace

bool is_dry(int device, StreamId id) noexcept {
  bool dry = false;
  const auto ask = [&](const Stream& stream) {
    if (stream.id.load(std::memory_order_acquire) != id) return false;
    dry = is_dry(stream, id);
    return true;
  };
  visit_asked_until(device, ask);
  return dry;
}

bool is_idle(int device) noexcept {
  for (const Stream& stream : streams.entries) {
    const StreamId id = stream.id.load(std::memory_order_acquire);
    if (id == 0 || stream.device.load(std::memory_order_relaxed) != device || !is_explicit(stream)) continue;
    if (!is_dry(stream, id)) return false;
  }
  return ask_undisturbed([] { return real<Symbol::cuStreamQuery>()(CU_STREAM_LEGACY) == CUDA_SUCCESS; });
}

bool mark_end(const GroupPlace& place) noexcept {
  Stream& stream = *place.stream;
  return ask_undisturbed([&] {
    const bool exists = stream.id.load(std::memory_order_seq_cst) == place.id;
    const StreamName here = name_of(stream.handle.load(std::memory_order_relaxed), true);
    return exists && here.key == stream.key.load(std::memory_order_relaxed) && enqueue_marker(stream, place.done);
  });
}

void wait_for_questions() noexcept {
  constexpr int kSpins = 1000;
  constexpr int kSleeps = 2000;  // counted, not timed: a process that is stopped for a while has not waited
  const timespec pause{0, 50'000};
  for (int turn = 0; turn < kSpins + kSleeps && questions.load(std::memory_order_seq_cst) != 0; ++turn) {
    if (turn >= kSpins) nanosleep(&pause, nullptr);
  }
}

namespace {

void forget(Stream& stream) noexcept {
  const StreamId id = stream.id.exchange(0, std::memory_order_seq_cst);
  if (id == 0) return;
  const int device = stream.device.load(std::memory_order_relaxed);
  DeviceStreams& mine = device_streams[device];
  if (stream.used.exchange(false, std::memory_order_acq_rel)) mine.in_use.fetch_sub(1, std::memory_order_relaxed);
  stream.group.store(0, std::memory_order_relaxed);
  stream.waited.store(0, std::memory_order_relaxed);
  stream.marker.store(0, std::memory_order_relaxed);
  mine.first.remove(stream);
  mine.used.remove(stream);
  mine.groups.remove(stream);
  HandleTable<Stream, kStreams>::release(stream);
  if (level() == Level::observe) note(EventKind::stream_destroyed, device, [id](Event& event) { event.stream = id; });
}

template <class Which>
void forget_all(Which which) noexcept {
  for (Stream& stream : streams.entries) {
    if (stream.id.load(std::memory_order_acquire) != 0 && which(stream)) forget(stream);
  }
  wait_for_questions();
}

}  // namespace

void forget_stream(CUstream handle) noexcept {
  const StreamName name = name_of(handle, false);
  Stream* stream = name.is_explicit ? find_stream(name) : nullptr;
  if (stream == nullptr) return;
  forget(*stream);
  wait_for_questions();
}

void forget_streams_of(CUcontext context) noexcept {
  forget_all([context](const Stream& stream) {
    return is_explicit(stream) && stream.context.load(std::memory_order_relaxed) == context;
  });
}

void forget_streams_of(int device) noexcept {
  forget_all([device](const Stream& stream) { return stream.device.load(std::memory_order_relaxed) == device; });
  device_streams[device].made.store(0, std::memory_order_relaxed);
  device_streams[device].is_pool.store(false, std::memory_order_release);
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

bool is_pending(const GroupPlace& place) noexcept {
  return place.stream != nullptr && !reached(place.device, place.done);
}

GroupId pending_group_of(Stream& stream) noexcept {
  GroupId group = stream.group.load(std::memory_order_acquire);
  if (group == 0 || is_pending(place_of(group))) return group;
  // Over: asked for once only.
  stream.group.compare_exchange_strong(group, 0, std::memory_order_acq_rel);
  return 0;
}

GroupId pending_group(int device) noexcept {
  GroupId pending = 0;
  device_streams[device].groups.visit_until([&pending](Stream& stream) {
    pending = pending_group_of(stream);
    return pending != 0;
  });
  return pending;
}

void note_group_stream(Stream& stream) noexcept {
  note_use(stream);
  DeviceStreams& mine = device_streams[stream.device.load(std::memory_order_relaxed)];
  if (!mine.groups.add(stream)) note_full("streams of one device with NCCL groups");
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
    if (is_pending(place_of(entry.group.load(std::memory_order_relaxed)))) continue;
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
