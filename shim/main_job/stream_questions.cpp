// Questions to streams; see stream_questions.h.
#include "shim/main_job/stream_questions.h"

#include <time.h>

#include <algorithm>

#include "shim/event_clock.h"
#include "shim/main_job/copies.h"
#include "shim/main_job/group_log.h"
#include "shim/main_job/launches.h"
#include "shim/main_job/streams.h"
#include "shim/main_job/unasked_launches.h"
#include "shim/main_job/waits.h"
#include "shim/routing/real.h"

namespace weft {

namespace {

constexpr Duration longest_wait = std::chrono::milliseconds(100);

// More than 0: the legacy stream is asked for those as well. Two answers that it is dry are needed: with the first one
// the detector may not have heard of the end yet.
constexpr std::uint8_t answers_needed = 2;
constinit std::atomic<std::uint8_t> ends_unseen[most_devices]{};

StreamAnswer query(const Stream& stream, StreamId id) noexcept {
  const CUstream handle = stream.handle.load(std::memory_order_relaxed);
  CUresult result = CUDA_ERROR_UNKNOWN;
  // One that has gone meanwhile has the id 0.
  ask_undisturbed([&] {
    if (id != 0 && stream.id.load(std::memory_order_seq_cst) == id) result = real<Symbol::cuStreamQuery>()(handle);
    return true;
  });
  if (result == CUDA_SUCCESS) return StreamAnswer::dry;
  return result == CUDA_ERROR_NOT_READY ? StreamAnswer::busy : StreamAnswer::unknown;
}

// The legacy stream answers for these as well.
bool any_blocking_one_copies(int device) noexcept {
  Stream* found[most_asked];
  const int count = streams_to_ask(device, found);
  return std::any_of(found, found + std::max(count, 0), [](const Stream* each) {
    const bool only_copies = is_copying(*each) && has_nothing_to_compute(*each);
    return only_copies && order_of(*each) == StreamOrder::blocking &&
           query(*each, each->id.load(std::memory_order_acquire)) == StreamAnswer::busy;
  });
}

// Also one that must not be asked.
const Stream* find_by_id(int device, StreamId id) noexcept {
  for (const Stream& stream : all_streams()) {
    const bool is_here = stream.device.load(std::memory_order_relaxed) == device;
    if (is_here && stream.id.load(std::memory_order_acquire) == id) return &stream;
  }
  return nullptr;
}

}  // namespace

Answer ask_stream(int device, StreamId id) noexcept {
  const Stream* stream = stream_to_ask(device, id);
  const Stream* counted = stream != nullptr ? stream : find_by_id(device, id);
  // Copies may be left, but nothing to compute.
  std::uint8_t unseen = ends_unseen[device].load(std::memory_order_relaxed);
  const bool answers_for_others = unseen != 0 && counted != nullptr && order_of(*counted) == StreamOrder::legacy;
  if (counted != nullptr && !answers_for_others && has_nothing_to_compute(*counted) &&
      counted->id.load(std::memory_order_relaxed) == id) {
    // Its last marker says what it has passed; waits behind that are not known.
    return {StreamAnswer::dry, 0, folded(launches_so_far(*counted))};
  }
  // One that was listed before the streams became a pool may be asked as before.
  if (stream == nullptr && counted != nullptr && is_explicit(*counted)) stream = counted;
  if (stream == nullptr) return {StreamAnswer::unknown, 0};
  // Launches that come meanwhile: dry may be so without them, busy may be so because of them.
  // A wait that it got may have been for something over, and never enqueued: only launches are behind it when it is
  // dry.
  const Ticket before = launched_before(*stream);
  const std::uint32_t launched = enqueued_before(*stream) == 0 ? 0 : folded(launches_so_far(*stream));
  const StreamAnswer answer = query(*stream, id);
  // Unless there was another such end meanwhile.
  if (answers_for_others && answer == StreamAnswer::dry)
    ends_unseen[device].compare_exchange_strong(unseen, static_cast<std::uint8_t>(unseen - 1),
                                                std::memory_order_relaxed);
  const StreamOrder order = order_of(*stream);
  if (answer == StreamAnswer::dry) return {answer, before, launched, order};
  if (answer == StreamAnswer::unknown) return {answer, 0};
  if (order == StreamOrder::legacy && any_blocking_one_copies(device)) return {StreamAnswer::unknown, 0};
  return {answer, enqueued_before(*stream), 0, order};
}

int list_streams_to_ask(int device, StreamId* ids, int most) noexcept {
  Stream* found[most_asked];
  const int count = streams_to_ask(device, found);
  const Stream* legacy = find_stream(legacy_stream_of(device));
  if (count < 0 || count + (legacy != nullptr ? 1 : 0) > most || may_have_unasked_launches(device)) return -1;
  int listed = 0;
  for (int index = 0; index < count; ++index) ids[listed++] = found[index]->id.load(std::memory_order_relaxed);
  if (legacy != nullptr) ids[listed++] = legacy->id.load(std::memory_order_relaxed);
  return listed;
}

bool nothing_is_enqueued(int device) noexcept {
  const auto has_nothing = [](const Stream& stream) {
    const StreamId id = stream.id.load(std::memory_order_acquire);
    return nothing_launched_behind_marker(stream) || query(stream, id) == StreamAnswer::dry;
  };
  Stream* found[most_asked];
  const int count = streams_to_ask(device, found);
  for (int index = 0; index < count; ++index) {
    if (!has_nothing(*found[index])) return false;
  }
  const Stream* legacy = find_stream(legacy_stream_of(device));
  return count >= 0 && (legacy == nullptr || has_nothing(*legacy)) && !may_have_unasked_launches(device);
}

namespace {

// Of those with markers; launches on others are unasked ones.
std::uint32_t launches_on_threads_own(int device) noexcept {
  std::uint32_t sum = 0;
  followed_own_streams.visit_until([&](const Stream& stream) {
    const bool is_here = stream.device.load(std::memory_order_relaxed) == device;
    if (is_here && stream.id.load(std::memory_order_acquire) != 0) sum += folded(launches_so_far(stream));
    return false;
  });
  return sum;
}

}  // namespace

bool launches_on(int device, std::uint32_t* launches) noexcept {
  return !host_waits_for_compute(device) && all_launches(device, launches);
}

bool all_launches(int device, std::uint32_t* launches) noexcept {
  Stream* found[most_asked];
  const int count = streams_to_ask(device, found);
  const bool all_counted = launches_are_counted.load(std::memory_order_relaxed) && !may_have_unasked_launches(device);
  if (count < 0 || !all_counted) return false;
  const Stream* legacy = find_stream(legacy_stream_of(device));
  std::uint32_t sum = legacy != nullptr ? folded(launches_so_far(*legacy)) : 0;
  for (int index = 0; index < count; ++index) sum += folded(launches_so_far(*found[index]));
  *launches = sum + launches_on_threads_own(device);
  return true;
}

void note_unseen_end(int device) noexcept {
  ends_unseen[device].store(answers_needed, std::memory_order_relaxed);
}

bool is_dry(const Stream& stream) noexcept {
  return query(stream, stream.id.load(std::memory_order_acquire)) == StreamAnswer::dry;
}

bool is_idle(int device) noexcept {
  for (const Stream& stream : all_streams()) {
    const StreamId id = stream.id.load(std::memory_order_acquire);
    if (id == 0 || stream.device.load(std::memory_order_relaxed) != device || !is_explicit(stream)) continue;
    if (query(stream, id) != StreamAnswer::dry) return false;
  }
  return ask_undisturbed([] { return real<Symbol::cuStreamQuery>()(CU_STREAM_LEGACY) == CUDA_SUCCESS; });
}

void wait_for_questions() noexcept {
  constexpr int spins = 1000;
  const std::atomic<std::uint32_t>& questions = present_page().questions;
  for (int spin = 0; spin < spins; ++spin) {
    if (questions.load(std::memory_order_seq_cst) == 0) return;
  }
  // By the clock: a sleep of 50 us takes twice that and more.
  const TimePoint deadline = MachineTime::time() + longest_wait;
  const timespec pause{0, 50'000};
  while (questions.load(std::memory_order_seq_cst) != 0 && MachineTime::time() < deadline) nanosleep(&pause, nullptr);
}

}  // namespace weft
