// See quiet_gate.h.
#include "shim/main_job/quiet_gate.h"

#include <time.h>

namespace weft {
namespace {

using std::chrono::microseconds;

constexpr microseconds look_every{50};
constexpr microseconds longest_passage{500};  // a launch takes less, unless NCCL waits for a peer

void rest() noexcept {
  timespec time{0, std::chrono::nanoseconds(look_every).count()};
  ::nanosleep(&time, nullptr);
}

}  // namespace

constinit std::atomic<std::uint32_t> threads_in_gate{0};
constinit std::atomic<std::uint32_t> times_shut{0};

// The thread is counted as inside when it comes, and when it goes on.
void wait_at_gate() noexcept {
  for (auto waited = microseconds{0}; waited < longest_wait_at_gate; waited += look_every) {
    threads_in_gate.fetch_sub(1, std::memory_order_release);
    rest();
    threads_in_gate.fetch_add(1, std::memory_order_seq_cst);
    if (times_shut.load(std::memory_order_seq_cst) == 0) return;
  }
}

bool shut_gate() noexcept {
  times_shut.fetch_add(1, std::memory_order_seq_cst);
  for (auto waited = microseconds{0}; threads_in_gate.load(std::memory_order_seq_cst) != 0; waited += look_every) {
    if (waited >= longest_passage) return open_gate(), false;
    rest();
  }
  return true;
}

void open_gate() noexcept {
  times_shut.fetch_sub(1, std::memory_order_release);
}

}  // namespace weft
