// See quiet_gate.h.
#include "shim/main_job/quiet_gate.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace weft {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds look_every = std::chrono::microseconds(50);
constexpr nanoseconds longest_passage =
    std::chrono::microseconds(500);  // a launch takes less, unless NCCL waits for a peer

constinit std::atomic<std::int64_t> shut_since{0};  // of the monotonic clock, in ns

std::int64_t clock_now() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// No cancellation point, and errno stays what it is: the program does not expect either in a launch.
void rest() noexcept {
  const int error = errno;
  const timespec time{0, look_every.count()};
  ::syscall(SYS_nanosleep, &time, nullptr);
  errno = error;
}

bool holds() noexcept {
  return times_shut.load(std::memory_order_seq_cst) != 0 &&
         clock_now() - shut_since.load(std::memory_order_relaxed) < nanoseconds(longest_shut).count();
}

}  // namespace

constinit std::atomic<std::uint32_t> threads_in_gate{0};
constinit std::atomic<std::uint32_t> times_shut{0};

// The thread is counted as inside when it comes, and when it goes on.
void wait_at_gate() noexcept {
  while (holds()) {
    threads_in_gate.fetch_sub(1, std::memory_order_release);
    rest();
    threads_in_gate.fetch_add(1, std::memory_order_seq_cst);
  }
}

bool shut_gate() noexcept {
  shut_since.store(clock_now(), std::memory_order_relaxed);
  times_shut.fetch_add(1, std::memory_order_seq_cst);
  const std::int64_t deadline = clock_now() + longest_passage.count();
  while (threads_in_gate.load(std::memory_order_seq_cst) != 0) {
    if (clock_now() >= deadline) return open_gate(), false;
    rest();
  }
  return true;
}

void open_gate() noexcept {
  times_shut.fetch_sub(1, std::memory_order_release);
}

}  // namespace weft
