// The gate in front of communication: shut, nobody is inside and nobody comes in; and who is inside keeps it open.
#include "shim/main_job/quiet_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace weft {
namespace {

TEST(QuietGate, IsNotShutWhileAThreadIsInside) {
  {
    const GatePass pass(true);
    EXPECT_FALSE(shut_gate());
    EXPECT_EQ(times_shut, 0U) << "it is open again";
  }
  ASSERT_TRUE(shut_gate());
  open_gate();
}

TEST(QuietGate, APassThatDoesNotGoThroughKeepsNobodyOut) {
  const GatePass pass(false);
  ASSERT_TRUE(shut_gate());
  open_gate();
}

TEST(QuietGate, AThreadThatComesWhileItIsShutWaitsUntilItIsOpen) {
  ASSERT_TRUE(shut_gate());
  ASSERT_TRUE(shut_gate()) << "by a second thread";
  std::atomic<bool> came{false}, passed{false};
  std::thread other([&] {
    came = true;
    const GatePass pass(true);
    passed = true;
  });
  while (!came) std::this_thread::yield();
  open_gate();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(passed) << "one of two has opened it";
  open_gate();
  other.join();
  EXPECT_TRUE(passed);
  EXPECT_EQ(threads_in_gate, 0U);
}

// This is its use: whatever the threads do, nothing is launched meanwhile.
TEST(QuietGate, NobodyLaunchesWhileItIsShut) {
  constexpr int threads = 4, times = 200;
  std::atomic<bool> shut{false}, over{false};
  std::atomic<int> launches{0}, launches_while_shut{0};
  std::latch all_run{threads + 1};
  std::vector<std::thread> launching;
  for (int i = 0; i < threads; ++i)
    launching.emplace_back([&] {
      all_run.arrive_and_wait();
      do {
        {
          const GatePass pass(true);
          launches_while_shut += shut ? 1 : 0;
          ++launches;
        }
        std::this_thread::yield();
      } while (!over);
    });
  all_run.arrive_and_wait();
  int was_shut = 0;
  while (was_shut < times) {
    if (!shut_gate()) continue;
    shut = true;
    const int before = launches;
    std::this_thread::yield();
    launches_while_shut += launches - before;
    shut = false;
    open_gate();
    ++was_shut;
  }
  over = true;
  for (std::thread& thread : launching) thread.join();
  EXPECT_EQ(launches_while_shut, 0);
  EXPECT_GE(launches, threads);
}

}  // namespace
}  // namespace weft
