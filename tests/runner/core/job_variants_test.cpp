// Which variant of a job is in its turn after faults, and what is said of the others. Pure.
#include "runner/core/job_variants.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

JobVariants three_variants() {
  JobPlan plan;
  plan.spec = "job.so";
  plan.memory = 64U << 20;
  plan.variants = {"a", "b", "c"};
  return JobVariants(plan);
}
constexpr std::uint64_t all = 64U << 20;

TEST(VariantsInTurn, AFaultThatPassesTakesNoneOutUnlessItComesAgainAndAgain) {
  JobVariants variants = three_variants();
  for (int time = 0; time < 3; ++time) {
    ASSERT_TRUE(variants.choose(all));
    EXPECT_EQ(variants.name(), "a") << time;
    EXPECT_TRUE(variants.failed("the probe was ended", JobVariants::Fault::passing));
    EXPECT_EQ(variants.why(), "");
  }
  EXPECT_TRUE(variants.failed("the probe was ended", JobVariants::Fault::passing));
  ASSERT_TRUE(variants.choose(all));
  EXPECT_EQ(variants.name(), "b");
  EXPECT_EQ(variants.why(), "a cannot be run: the probe was ended");
}

TEST(VariantsInTurn, SaysOfEachBetterOneWhyItDoesNotRun) {
  JobVariants variants = three_variants();
  ASSERT_TRUE(variants.choose(all));
  EXPECT_TRUE(variants.failed("its kernel is too large", JobVariants::Fault::cannot_run));
  ASSERT_TRUE(variants.choose(all));
  EXPECT_TRUE(variants.failed("no memory", JobVariants::Fault::lacks_memory));
  ASSERT_TRUE(variants.choose(2 * all));
  EXPECT_EQ(variants.name(), "c");
  EXPECT_EQ(variants.why(), "b does not fit in 64 MiB; a cannot be run: its kernel is too large");
  variants.began(TimePoint(1s));
  EXPECT_EQ(variants.why(), "b does not fit in 64 MiB; a cannot be run: its kernel is too large");
}

}  // namespace
}  // namespace weft
