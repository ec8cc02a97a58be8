// Who waits; see waits.h.
#include "shim/main_job/waits.h"

#include <algorithm>
#include <iterator>

#include "shim/activate.h"
#include "shim/main_job/capture.h"
#include "shim/main_job/copies.h"
#include "shim/main_job/devices.h"
#include "shim/main_job/event_places.h"
#include "shim/main_job/graph_events.h"
#include "shim/main_job/group_log.h"
#include "shim/main_job/launches.h"
#include "shim/main_job/marker_room.h"
#include "shim/main_job/noted_graphs.h"
#include "shim/main_job/streams.h"
#include "shim/main_job/unasked_launches.h"
#include "shim/markers.h"
#include "shim/notes.h"
#include "shim/process.h"

namespace weft {
namespace {

void note_host_wait(EventKind kind, const HostWait& wait) noexcept {
  note(kind, wait.device, [&](Event& event) { event.stream = wait.stream; });
}

HostWait begin_wait(int device, StreamId stream) noexcept {
  HostWait wait;
  wait.device = device;
  wait.stream = stream;
  note_host_wait(EventKind::host_wait_begun, wait);
  return wait;
}

[[gnu::noinline]] HostWait begin_stream_wait(int device, const StreamName& name) noexcept {
  Stream* stream = learn_stream(name);
  return stream == nullptr ? HostWait{} : begin_wait(device, stream->id.load(std::memory_order_relaxed));
}

// For which device, by the low digits of the thread's number: a store is cheaper than a locked count, and of two
// threads with one place the wait of one may be forgotten.
constexpr std::int8_t waits_for_none = 0;  // else the device plus one
static_assert(most_devices < 127);
constinit std::atomic<std::int8_t> waiting_threads[64]{};

void set_waiting(std::int8_t device) noexcept {
  waiting_threads[thread_state.number % std::size(waiting_threads)].store(device, std::memory_order_relaxed);
}

[[gnu::always_inline]] inline HostWait count_wait(int device) noexcept {
  if (device < 0) return {};
  if (thread_state.number == 0) number_this_thread();
  set_waiting(static_cast<std::int8_t>(device + 1));
  HostWait wait;
  wait.device = HostWait::counted;
  return wait;
}

// Only of default streams and whole devices: others can be asked.
[[gnu::noinline]] void make_proof(HostWait& wait, Stream* stream) noexcept {
  wait.is_proof = true;
  wait.dry = stream;
  wait.launched = stream != nullptr ? launches_so_far(*stream) : 0;
  wait.of_own_stream = false;
  wait.of_unasked = 0;
  wait.unasked_on = no_device;
}

[[gnu::noinline]] void take_proof(const HostWait& wait, bool succeeded) noexcept {
  if (wait.dry != nullptr && succeeded) stream_was_dry(*wait.dry, wait.launched);
  if (wait.of_own_stream && succeeded) own_launches_are_known();
  if (wait.of_unasked != 0) unasked_launches_waited_for(wait.unasked_on, wait.of_unasked, succeeded);
}

constinit std::atomic<Ticket> legacy_used[most_devices]{};

// No marker tells of it: all that is known is when it was enqueued.
void waits_for_compute(CUstream stream, bool per_thread) noexcept {
  Stream* waiting = find_stream(name_of(stream, per_thread));
  if (waiting == nullptr) return;
  note_wait_without_marker(*waiting);
  used_without_marker(*waiting);
}

}  // namespace

// Once for each ticket: more of it says nothing new.
void note_legacy_used(const Stream& legacy) noexcept {
  const int device = legacy.device.load(std::memory_order_relaxed);
  const Ticket newest = newest_ticket(device).load(std::memory_order_relaxed);
  if (legacy_used[device].load(std::memory_order_relaxed) == newest) return;
  legacy_used[device].store(newest, std::memory_order_relaxed);
  if (!blocking_streams_are_marked.load(std::memory_order_relaxed) || pending_group(device) == 0) return;
  note(EventKind::legacy_used, device, [&](Event& event) {
    event.stream = legacy.id.load(std::memory_order_relaxed);
    event.order = StreamOrder::legacy;
    event.ticket = newest;
  });
}

Ticket legacy_used_at(int device) noexcept {
  return legacy_used[device].load(std::memory_order_relaxed);
}

// Two markers, one on either side of the wait, tell when the stream is at it. The one ahead is enqueued here.
StreamWait begin_noted_wait(Stream& stream, const EventPlace& place, InGraph in_graph) noexcept {
  const int device = stream.device.load(std::memory_order_relaxed);
  if (!has_room_or_notes(stream)) return note_wait_without_marker(stream), StreamWait{};
  const LaunchCount launched = launches_so_far(stream);
  const Ticket reached = reserve_ticket(device);
  const Ticket passed = reached == 0 ? 0 : reserve_ticket(device);
  if (passed == 0 || !enqueue_marker(stream, reached)) {
    write_ticket_from_host(device, reached);
    write_ticket_from_host(device, passed);
    if (may_mark(device)) note_lost();
    return {};
  }
  stream.latest.store(passed, std::memory_order_relaxed);
  count_marks(stream, passed);
  const bool nothing_before = nothing_launched_since_marker(stream, launched);
  note(EventKind::wait_issued, device, [&](Event& event) {
    event.nothing_launched = nothing_before;
    event.in_graph = in_graph;
    event.stream = stream.id.load(std::memory_order_relaxed);
    event.order = order_of_marked(stream);
    event.ticket = reached;
    event.done_ticket = passed;
    // A stream of another device is none that this device's detector knows.
    if (place.device == device) event.awaited = {place.stream, place.ticket, place.copies};
  });
  // Two that nobody knows need not be the same.
  return {place.stream == 0 || place.copies ? 0 : packed(place), passed, device};
}

void event_recorded(CUevent event, CUstream stream, bool per_thread) noexcept {
  Stream* known = find_stream(name_of(stream, per_thread));
  if (any_noted_graph()) event_moves(event, known == nullptr ? 0 : known->id.load(std::memory_order_relaxed));
  if (known == nullptr || is_capturing(*known)) return forget_event(event);
  note_use(*known);
  used_without_marker(*known);
  const int device = known->device.load(std::memory_order_relaxed);
  if (is_held_back(*known)) return map_event(event, {0, device, newest_ticket(device).load(std::memory_order_relaxed)});
  Ticket latest = known->latest.load(std::memory_order_relaxed);
  if (is_copying(*known) && (latest == 0 || reached(device, latest)))
    return map_event(event, {0, device, newest_ticket(device).load(std::memory_order_relaxed), true});
  if (latest == 0) return forget_event(event);
  const EventPlace place{known->id.load(std::memory_order_relaxed), device, latest, is_copying(*known)};
  const bool has_room = place.stream < most_placed_streams;
  if (is_ahead(place) && has_room) return map_event(event, place);
  if (!has_room) note_lost();
  // Reached: asked for once only.
  known->latest.compare_exchange_strong(latest, 0, std::memory_order_relaxed);
  forget_event(event);
}

namespace {

// Also next to a capture of another thread, which forbids questions.
bool has_happened(CUevent event) noexcept {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (real<Symbol::cuThreadExchangeStreamCaptureMode>()(&mode) != CUDA_SUCCESS) return false;
  const bool happened = real<Symbol::cuEventQuery>()(event) == CUDA_SUCCESS;
  real<Symbol::cuThreadExchangeStreamCaptureMode>()(&mode);
  return happened;
}

// A copy of the stream that waits. No marker says when the one that it waits for is over.
void waits_for_copy(CUstream stream, bool per_thread, CUevent event) noexcept {
  Stream* waiting = learn_stream(name_of(stream, per_thread));
  if (waiting == nullptr || is_capturing(*waiting)) return;
  note_use(*waiting);
  if (has_happened(event))
    forget_event(event);
  else
    note_wait_for_copy(*waiting);
  note_wait_without_marker(*waiting);
  used_without_marker(*waiting);
}

}  // namespace

StreamWait stream_waits(CUstream stream, bool per_thread, CUevent event) noexcept {
  const EventPlace place = place_of_event(event);
  const bool stands_for_nothing = place.ticket == 0 && !place.copies;  // most do: no call is spent on these
  if (!stands_for_nothing && is_copy(place)) return waits_for_copy(stream, per_thread, event), StreamWait{};
  if (stands_for_nothing || !is_ahead(place)) return waits_for_compute(stream, per_thread), StreamWait{};
  Stream* waiting = learn_stream(name_of(stream, per_thread));
  if (waiting == nullptr || waiting->id.load(std::memory_order_relaxed) == place.stream) return {};
  note_use(*waiting);
  // It waits for this place already, or will by then; but the wait stands in its hardware queue.
  if (!place.copies && waiting->waited.load(std::memory_order_relaxed) == packed(place))
    return note_wait_without_marker(*waiting), used_without_marker(*waiting), StreamWait{};
  return is_capturing(*waiting) ? StreamWait{} : begin_noted_wait(*waiting, place, InGraph::no);
}

// Its end is marked, and events behind it stand for that. Nothing is said about its cause. The word may never be
// written: few are marked at a time, so that a host that enqueues many is not held up, and its ticket is in nobody's
// way.
StreamWait stream_waits_for_memory(CUstream stream, bool per_thread) noexcept {
  Stream* waiting = learn_stream(name_of(stream, per_thread));
  if (waiting == nullptr) return {};
  note_use(*waiting);
  const int device = waiting->device.load(std::memory_order_relaxed);
  if (is_capturing(*waiting)) return {};
  if (!may_park_ticket(device)) return note_wait_without_marker(*waiting), StreamWait{};
  StreamWait wait = begin_noted_wait(*waiting, {0, no_device, 0}, InGraph::no);
  park_ticket(device, wait.passed);
  return wait;
}

namespace {

template <class AskGreen>
int ask_device(CUcontext context, AskGreen make) noexcept {
  if (!several_devices()) return current_device();
  if (context == nullptr && make(&context) != CUDA_SUCCESS) return no_device;
  if (real<Symbol::cuCtxPushCurrent_v2>()(context) != CUDA_SUCCESS) return no_device;
  const int device = ask_current_device();
  real<Symbol::cuCtxPopCurrent_v2>()(&context);
  return device;
}

}  // namespace

void stream_waits_now(CUstream stream, bool per_thread, const StreamWait& wait, bool made) noexcept {
  Stream* waiting = find_stream(name_of(stream, per_thread));
  // Destroyed by another thread just now, or the wait has made it a part of a capture.
  if (waiting == nullptr || is_capturing(*waiting)) return write_ticket_from_host(wait.device, wait.passed);
  if (!enqueue_marker(*waiting, wait.passed)) {
    write_ticket_from_host(wait.device, wait.passed);
    return note_lost();
  }
  if (made) waiting->waited.store(wait.place, std::memory_order_relaxed);
  set_next_launch_noted(*waiting, made);
}

int device_of(CUcontext context) noexcept {
  return ask_device(context, [](CUcontext*) { return CUDA_ERROR_INVALID_CONTEXT; });
}

int device_of(CUgreenCtx context) noexcept {
  const auto convert = real<Symbol::cuCtxFromGreenCtx>();
  return ask_device(
      nullptr, [=](CUcontext* made) { return convert == nullptr ? CUDA_ERROR_NOT_SUPPORTED : convert(made, context); });
}

void context_recorded(int device, CUevent event) noexcept {
  if (device < 0 || device >= most_devices) return note_lost(), forget_event(event);
  EventPlace place{};
  const int ahead = places_ahead(device, &place);
  if (ahead == 0) return forget_event(event);
  if (ahead > 1) place = {every_stream, device, newest_ticket(device).load(std::memory_order_relaxed)};
  map_event(event, place);
}

void context_waits(int device, CUevent event) noexcept {
  EventPlace place = place_of_event(event);
  if (!is_ahead(place)) return;
  if (place.stream == 0) place.stream = every_stream;
  if (device < 0 || place.device != device) return note_lost();
  note(EventKind::context_waits, device, [&](Event& noted) {
    noted.awaited = {place.stream, place.ticket};
    noted.ticket = newest_ticket(device).load(std::memory_order_relaxed);
  });
}

HostWait host_waits_for_stream(CUstream stream, bool per_thread) noexcept {
  const StreamName name = name_of(stream, per_thread);
  Stream* known = find_stream(name);
  if (known != nullptr) note_use(*known);
  const int device = known != nullptr ? known->device.load(std::memory_order_relaxed) : current_device();
  const bool is_counted = device < 0 || pending_group(device) == 0;
  HostWait wait = is_counted ? count_wait(device) : begin_stream_wait(device, name);
  if (__builtin_expect(!name.is_explicit, 0)) {
    make_proof(wait, known);
    wait.of_own_stream = name.handle == CU_STREAM_PER_THREAD;
  }
  return wait;
}

HostWait host_waits_for_event(CUevent event) noexcept {
  const EventPlace place = place_of_event(event);
  if (is_ahead(place)) return begin_wait(place.device, place.stream == every_stream ? 0 : place.stream);
  const int device = current_device();
  return device < 0 || pending_group(device) == 0 ? count_wait(device) : begin_wait(device, 0);
}

HostWait host_waits_for_device() noexcept {
  const int device = current_device();
  if (device < 0) return {};
  HostWait wait = pending_group(device) == 0 ? count_wait(device) : begin_wait(device, 0);
  if (has_other_contexts()) return wait;  // it is for one of them
  make_proof(wait, find_stream(legacy_stream_of(device)));
  wait.of_unasked = unasked_launches_before_wait(device);
  wait.unasked_on = device;
  return wait;
}

constinit std::atomic<bool> quiet_moments_wanted{false};

void offer_quiet_moment() noexcept {
  const int device = current_device();
  if (device < 0 || level() != Level::observe) return;
  CoreCall inside;
  core()->quiet_moment(device);
}

void note_wait_over(const HostWait& wait, CUresult result) noexcept {
  if (wait.is_proof) take_proof(wait, result == CUDA_SUCCESS);
  if (wait.device != HostWait::counted) return note_host_wait(EventKind::host_wait_ended, wait);
  set_waiting(waits_for_none);
}

bool host_waits_for_compute(int device) noexcept {
  return std::any_of(
      std::begin(waiting_threads), std::end(waiting_threads),
      [=](const std::atomic<std::int8_t>& waits) { return waits.load(std::memory_order_relaxed) == device + 1; });
}

}  // namespace weft
