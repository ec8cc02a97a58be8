// The guardian of a trial: a small process between the training process and the fill probe, so that nobody who waits
// for children ever sees the probe.
//
// An exec makes any child an ordinary one, which every wait() of its parent returns; and a process without a parent
// goes to the nearest subreaper or to PID 1, which may be the launcher. So the probe's parent is the guardian: a clone
// of the training process without exit signal, which only a wait with __WCLONE or __WALL returns. It never execs, sees
// the probe to its end, and ends last.
//
// start_guardian() is called on a thread of the core. Everything behind it runs in the guardian, which shares memory
// and descriptors with the training process and has neither a thread-local storage nor a C library of its own: system
// calls only, no function of libc, no errno.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft {

enum class ProbeEnd : std::uint32_t {
  none,         // it runs, or the guardian was ended from outside
  ended,        // by itself
  overdue,      // ended by the guardian after the deadline
  stopped,      // ended by the guardian when it was asked to, or because the training process or its thread is gone
  not_started,  // exec failed
};

// Written before start_guardian(), except for what is marked as an answer.
struct GuardianTask {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  int transcript = -1;               // becomes descriptor 3 of the probe
  std::int64_t deadline = 0;         // nanoseconds of CLOCK_MONOTONIC
  pid_t rank = 0;                    // the training process
  std::byte* probe_stack = nullptr;  // its end, for the moments before the exec

  std::atomic<bool> stop{false};              // set by the training process at any time
  std::atomic<ProbeEnd> end{ProbeEnd::none};  // answer
  std::atomic<int> process{0};  // answer: the guardian while it lives, then 0, with a futex call by the kernel
};

// Process number of the guardian, or -errno. `stack` is the end of its stack. All must stay until `process` is 0.
long start_guardian(GuardianTask& task, std::byte* stack);

}  // namespace weft
