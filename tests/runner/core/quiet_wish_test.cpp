// Wishes for quiet moments of two devices, each of which has a thread of the training in it.
#include "runner/core/quiet_wish.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "shim/seam/ring.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

std::atomic<bool> is_told{false}, takes_back{false};

// The word that nobody wishes any takes its time.
void want(bool wanted) {
  if (!wanted) {
    takes_back = true;
    std::this_thread::sleep_for(200ms);
  }
  is_told = wanted;
}

TEST(QuietWish, TheHooksHearLastOfTheLatest) {
  const auto ring = std::make_unique<EventRing>();
  std::atomic<std::uint32_t> times_given_back{0};
  ShimServices shim{};
  shim.ring = ring.get();
  shim.times_given_back = &times_given_back;
  shim.want_quiet_moments = &want;
  CoreContext core(shim, Options{}, "");
  QuietWish of_one(core), of_another(core);
  of_one.set(true);
  std::thread other([&] { of_one.set(false); });
  while (!takes_back) std::this_thread::yield();
  of_another.set(true);
  other.join();
  EXPECT_TRUE(is_told);
  of_another.set(false);
  EXPECT_FALSE(is_told);
}

}  // namespace
}  // namespace weft
