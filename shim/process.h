// Permission of the hooks to act in this process, and the calls that this thread is in the middle of.
//
// Read by every hook before anything else, on any thread: a few nanoseconds, no call. The words lie in a page that the
// kernel clears in a child of fork(), so a child is a pass-through without being told.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>

#include "detector/time.h"

struct CUstream_st;

namespace weft {

enum class Level : std::uint32_t {
  pass = 0,     // every hook is its real function: WEFT=off, a forked child, turned off, or nothing looked up yet
  routed = 1,   // CUDA or NCCL is in use: streams and communicators are learned, nothing is recorded
  observe = 2,  // the core runs: groups, waits and markers are recorded
};

struct ProcessPage {
  std::atomic<std::uint32_t> level;
  std::atomic<std::uint32_t> questions;  // to streams that are being asked now, see main_job/stream_questions.h
};

[[gnu::visibility(
    "hidden")]] extern ProcessPage* process_page;  // before the first lookup of a hooked name: a page of zeroes

[[gnu::always_inline]] inline ProcessPage& present_page() noexcept {
  return *__atomic_load_n(&process_page, __ATOMIC_ACQUIRE);
}

[[gnu::always_inline]] inline Level level() noexcept {
  return static_cast<Level>(present_page().level.load(std::memory_order_relaxed));
}

struct OpenGroup;
struct Stream;

// At most 64 bytes: it takes from the surplus of static TLS that other libraries need.
struct ThreadState {
  OpenGroup* group;              // what the open NCCL group holds so far
  TimePoint last_event;          // that this thread has noted
  std::uint32_t group_depth;     // ncclGroupStart minus ncclGroupEnd
  std::uint32_t inside_nccl;     // depth of hooked NCCL calls
  std::uint32_t inside_core;     // depth of calls into the core; never zero on its own threads
  std::uint32_t unload_refused;  // not 0: unloading of code is answered without a call
  std::uint32_t settling;        // depth of settle_library() (routing/real.h)
  std::uint32_t unasked_launch;  // see main_job/unasked_launches.h
  Stream* launched_on;           // the stream of the last launch, see main_job/launches.h; nullptr: none
  std::uint32_t launches;        // of this thread
  std::uint32_t in_gate;         // launches that have begun and not ended, see main_job/quiet_gate.h
  std::uint32_t ranges;          // the place of its NVTX ranges, from 1; 0: none yet. See main_job/ranges.h
  std::uint32_t number;  // counts the threads that launch or use a per-thread default stream; 0: not yet counted
};

[[gnu::visibility("hidden")]] extern constinit thread_local ThreadState thread_state
    __attribute__((tls_model("initial-exec")));

// WEFT=off in the environment. Read when a hooked name is first looked up, never before.
bool switched_off() noexcept;

// Makes the page and goes from pass to routed, once, unless switched off.
void start_routing() noexcept;

void set_level(Level level) noexcept;

// One line on stderr, "weft: warning: " in front; by write(2).
void say(std::initializer_list<const char*> parts) noexcept;
inline void say(const char* text, const char* more = "") noexcept {
  say({text, more});
}

// Counts a depth up for the length of a scope.
class Depth {
 public:
  explicit Depth(std::uint32_t& count) noexcept : count_(count) { ++count_; }
  ~Depth() { --count_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  std::uint32_t& count_;
};

// For a call into the core: its own calls are not noted, and a thread that is cancelled meanwhile goes only
// when it is back, because the core cannot be unwound.
class CoreCall {
 public:
  CoreCall() noexcept : inside_(thread_state.inside_core) { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~CoreCall() { pthread_setcancelstate(before_, nullptr); }
  CoreCall(const CoreCall&) = delete;
  CoreCall& operator=(const CoreCall&) = delete;

 private:
  Depth inside_;
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace weft
