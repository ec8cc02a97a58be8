// Launches on default streams that nobody else can name; see unasked_launches.h.
#include "shim/main_job/unasked_launches.h"

#include <atomic>

#include "shim/main_job/devices.h"
#include "shim/process.h"

namespace weft {
namespace {

// In one word, so that a thread registers before a wait or after it: a number that each wait of the host counts up, and
// how many threads have registered since.
constexpr std::uint64_t next_period = std::uint64_t{1} << 32;

struct Unasked {
  std::atomic<std::uint64_t> period_and_count;
  std::atomic<std::uint32_t> waited_for;  // of earlier periods, until the wait is over
};
constinit Unasked unasked[most_devices]{};

// As a thread remembers that it has registered. 0: it has not.
std::uint32_t mark_of(std::uint64_t state, int device) noexcept {
  return static_cast<std::uint32_t>(state >> 32) << 8 | static_cast<std::uint32_t>(device + 1);
}

}  // namespace

void note_unasked_launch(int device) noexcept {
  if (device < 0) return;
  auto& state = unasked[device].period_and_count;
  if (thread_state.unasked_launch == mark_of(state.load(std::memory_order_acquire), device)) return;
  thread_state.unasked_launch = mark_of(state.fetch_add(1, std::memory_order_acq_rel), device);
}

void note_unasked_launch_for_good(int device) noexcept {
  constexpr std::uint32_t for_good = 1U << 31;
  if (device < 0 || (unasked[device].waited_for.load(std::memory_order_relaxed) & for_good) != 0) return;
  unasked[device].waited_for.fetch_or(for_good, std::memory_order_relaxed);
}

bool may_have_unasked_launches(int device) noexcept {
  const Unasked& here = unasked[device];
  return static_cast<std::uint32_t>(here.period_and_count.load(std::memory_order_acquire)) != 0 ||
         here.waited_for.load(std::memory_order_acquire) != 0;
}

void own_launches_are_known() noexcept {
  const std::uint32_t mark = thread_state.unasked_launch;
  if (mark == 0) return;
  thread_state.unasked_launch = 0;
  const int device = static_cast<int>(mark & 0xff) - 1;
  auto& state = unasked[device].period_and_count;
  std::uint64_t seen = state.load(std::memory_order_acquire);
  while (mark_of(seen, device) == mark && static_cast<std::uint32_t>(seen) != 0 &&
         !state.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel))
    continue;
}

std::uint32_t unasked_launches_before_wait(int device) noexcept {
  auto& [state, waited_for] = unasked[device];
  std::uint64_t seen = state.load(std::memory_order_acquire);
  const auto count = [&] { return static_cast<std::uint32_t>(seen); };
  while (count() != 0) {
    const std::uint32_t registered = count();
    waited_for.fetch_add(registered, std::memory_order_acq_rel);
    const std::uint64_t next = (seen & ~(next_period - 1)) + next_period;
    if (state.compare_exchange_strong(seen, next, std::memory_order_acq_rel)) return registered;
    waited_for.fetch_sub(registered, std::memory_order_acq_rel);
  }
  return 0;
}

void unasked_launches_waited_for(int device, std::uint32_t registered, bool succeeded) noexcept {
  auto& [state, waited_for] = unasked[device];
  if (!succeeded) state.fetch_add(registered, std::memory_order_acq_rel);
  waited_for.fetch_sub(registered, std::memory_order_acq_rel);
}

}  // namespace weft
