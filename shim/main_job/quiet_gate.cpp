// See quiet_gate.h.
#include "shim/main_job/quiet_gate.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "shim/event_clock.h"

namespace weft {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds look_every = std::chrono::microseconds(50);
// A launch takes less, unless NCCL waits for a peer.
constexpr nanoseconds longest_passage = std::chrono::microseconds(500);

constinit std::atomic<TimePoint> shut_since{};

// No cancellation point, and errno stays what it is: the program does not expect either in a launch.
void rest() noexcept {
  const int error = errno;
  const timespec time{0, look_every.count()};
  ::syscall(SYS_nanosleep, &time, nullptr);
  errno = error;
}

bool holds() noexcept {
  return times_shut.load(std::memory_order_seq_cst) != 0 &&
         MachineTime::time() - shut_since.load(std::memory_order_relaxed) < longest_shut;
}

}  // namespace

constinit std::atomic<std::uint32_t> threads_in_gate{0};
constinit std::atomic<std::uint32_t> times_shut{0};

// The thread is counted as inside when it comes, and when it goes on.
void wait_at_gate() noexcept {
  while (holds()) {
    go_out();
    rest();
    threads_in_gate.fetch_add(1, std::memory_order_seq_cst);
  }
}

bool shut_gate() noexcept {
  const TimePoint began = MachineTime::time();
  shut_since.store(began, std::memory_order_relaxed);
  times_shut.fetch_add(1, std::memory_order_seq_cst);
  while (threads_in_gate.load(std::memory_order_seq_cst) != 0) {
    if (MachineTime::time() - began >= longest_passage) return open_gate(), false;
    rest();
  }
  return true;
}

void open_gate() noexcept {
  times_shut.fetch_sub(1, std::memory_order_release);
}

}  // namespace weft
