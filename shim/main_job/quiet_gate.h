// A gate that the core holds shut while it makes calls of the driver that may wait for all work of the GPU and hold up
// the launches of all threads meanwhile: loading code, first launches, frees of pinned memory. Communication that began
// then could wait for a launch that waits for it, for ever.
//
// Threads of the main job go through around each launch of communication, in hooks; they wait while the gate is shut.
// The core shuts it at quiet moments, on a thread of the main job that is held up as well, until the calls are over.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "shim/process.h"

namespace weft {

// So long after it was shut it holds nobody any more: those calls come from a fill job that hangs.
inline constexpr std::chrono::seconds longest_shut{60};

extern std::atomic<std::uint32_t> threads_in_gate;  // between the two ends of a GatePass
extern std::atomic<std::uint32_t> times_shut;       // and not opened again

void wait_at_gate() noexcept;

inline void come_in() noexcept {
  // In this order, against that of shut_gate(): one of the two sees the other.
  threads_in_gate.fetch_add(1, std::memory_order_seq_cst);
  if (__builtin_expect(times_shut.load(std::memory_order_seq_cst) != 0, 0)) wait_at_gate();
}
inline void go_out() noexcept {
  threads_in_gate.fetch_sub(1, std::memory_order_release);
}

class GatePass {
 public:
  explicit GatePass(bool goes_through) noexcept : goes_through_(goes_through) {
    if (goes_through_) come_in();
  }
  ~GatePass() {
    if (goes_through_) go_out();
  }
  GatePass(const GatePass&) = delete;
  GatePass& operator=(const GatePass&) = delete;

 private:
  const bool goes_through_;
};

// Likewise for a launch that begins and ends in two calls.
inline void enter_gate() noexcept {
  ++thread_state.in_gate;
  come_in();
}
inline void leave_gate() noexcept {
  if (thread_state.in_gate == 0) return;
  --thread_state.in_gate;
  go_out();
}

// True: no thread is inside any more, and none comes in before the gate is opened, which must follow. False: a thread
// has not come out in time, and the gate is open. May be shut by several threads at once.
bool shut_gate() noexcept;
void open_gate() noexcept;

}  // namespace weft
