// Whether a thread may look without sleep where the process has one processor, or several.
#include "runner/core/spin_share.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <limits>

namespace weft {
namespace {

// Restores what the process may run on.
struct SpinShare : ::testing::Test {
  cpu_set_t before{};
  void SetUp() override { ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0); }
  void TearDown() override { sched_setaffinity(0, sizeof before, &before); }
};

TEST_F(SpinShare, IsAsWantedWithSeveralProcessors) {
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one processor";
  EXPECT_EQ(spin_share(0.05), 0.05);
  EXPECT_EQ(spin_share(0), 0);
  EXPECT_EQ(spin_share(std::numeric_limits<double>::infinity()), 0) << "off";
}

TEST_F(SpinShare, IsNothingWithOneProcessor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int processor = 0; processor < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++processor)
    if (CPU_ISSET(processor, &before)) CPU_SET(processor, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(spin_share(0.05), 0);
}

TEST(ProcessorsOfQuota, AreWhatTheGroupMayUse) {
  EXPECT_EQ(processors_of_quota("150000 100000\n"), 1.5);
  EXPECT_EQ(processors_of_quota("400000\n 100000\n"), 4) << "version 1, two files";
  for (const char* without : {"max 100000\n", "-1\n 100000\n", "", " ", "100000", "0 0", "nonsense"})
    EXPECT_FALSE(processors_of_quota(without).has_value()) << without;
}

}  // namespace
}  // namespace weft
