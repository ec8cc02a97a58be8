// The test core; see test_core.h.
#include "tests/shim/fake/test_core.h"

#include <pthread.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "shim/seam/ring.h"

namespace {

constexpr std::uint32_t word_count = 512;
std::atomic<std::uint32_t> words[2][word_count];
weft::MarkerEvent marker_events[word_count];
TestCore state{};
std::mutex state_mutex;

// Holds every opening up until TEST_CORE_MEETS of them are under way at the same time.
void meet() {
  const char* wanted = std::getenv("TEST_CORE_MEETS");
  if (wanted == nullptr) return;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (state.opened < std::atoi(wanted)) {
    if (std::chrono::steady_clock::now() > limit) {
      state.alone = true;
      return;
    }
    std::this_thread::yield();
  }
}

void note_cancellation() {
  int before = PTHREAD_CANCEL_DISABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  if (before == PTHREAD_CANCEL_ENABLE) state.cancellable = true;
  pthread_setcancelstate(before, nullptr);
}

void give_events(int device) {
  using Create = int (*)(void** event, unsigned flags);
  const auto create = reinterpret_cast<Create>(state.shim->real_driver_symbol("cuEventCreate"));
  for (weft::MarkerEvent& place : marker_events) create(&place.event, 0);
  state.events = marker_events;
  state.shim->set_marker_words(device, {words[device], 0, word_count, marker_events});
}

void opened(const weft::CommunicatorInfo& communicator) {
  note_cancellation();
  ++state.opened;
  meet();
  const std::lock_guard lock(state_mutex);
  state.last_opened = communicator;
  const auto device = static_cast<std::size_t>(communicator.device);
  if (state.words[device] != nullptr) return;
  for (auto& word : words[device]) word = 0;
  state.words[device] = words[device];
  if (std::getenv("TEST_CORE_MARKS_BY_EVENTS") != nullptr) return give_events(communicator.device);
  const bool writable = std::getenv("TEST_CORE_FORBIDS_MARKERS") == nullptr;
  state.shim->set_marker_words(
      communicator.device, {words[device], writable ? reinterpret_cast<std::uint64_t>(words[device]) : 0, word_count});
}

void closing(weft::CommunicatorId communicator) {
  note_cancellation();
  ++state.closed;
  state.last_closed = communicator;
}

bool rescue(int device) {
  note_cancellation();
  ++state.rescues;
  state.last_rescued = device;
  if (state.given_back_by_another_thread) ++*state.shim->times_given_back;
  return state.rescue_answer;
}

std::uint64_t taken(int device) {
  note_cancellation();
  ++state.looks;
  state.last_looked_at = device;
  return state.allowed;
}

void context_closing(int device) {
  note_cancellation();
  ++state.contexts_closed;
  state.words[device] = nullptr;
}

void quiet_moment(int device) {
  note_cancellation();
  if (device == 0) ++state.quiet_moments;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) bool weft_core_start(const weft::ShimServices* shim,
                                                                       weft::CoreServices* core) {
  if (std::getenv("TEST_CORE_REFUSES") != nullptr || std::strcmp(shim->build_id, WEFT_BUILD_ID) != 0) return false;
  state.shim = shim;
  state.word_count = word_count;
  core->communicator_opened = opened;
  core->communicator_closing = closing;
  core->rescue_memory = rescue;
  core->memory_taken = taken;
  core->context_closing = context_closing;
  core->quiet_moment = quiet_moment;
  return true;
}

TestCore* test_core() {
  return &state;
}
bool test_core_pop(weft::Event* event) {
  return state.shim->ring->pop(*event);
}
