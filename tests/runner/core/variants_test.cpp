// A fill job with variants on one device: which of them is made ready, and what trace and summary say of it.
#include <gtest/gtest.h>

#include "tests/runner/core/job_with_variants.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using namespace testing;

TEST(JobVariants, TheFirstThatFitsIsMadeReady) {
  SimulatedJob job(Variables{{"WEFT_FILL", jobs(job_with(R"(["90000000", "4096", "2048"])"))}});
  const std::string said = job.open();
  EXPECT_EQ(said.find("observing only"), std::string::npos) << said;
  train(job, 60);
  job.close();
  const Lines lines = job_lines(job, 0);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].value("event", ""), "ready");
  EXPECT_EQ(lines[0].value("variant", ""), "4096");
  EXPECT_EQ(lines[0].value("why", ""), "90000000 does not fit in 64 MiB");
  const auto summary = record_of(job.trace(), "summary");
  EXPECT_EQ(summary["jobs"][0].value("variant", ""), "4096");
  EXPECT_GT(summary["jobs"][0].value("units", 0), 5) << summary;
}

TEST(JobVariants, TheBestIsMadeReadyWhereItFits) {
  SimulatedJob job(Variables{{"WEFT_FILL", jobs(job_with(R"(["4096", "2048"])"))}});
  job.open();
  train(job, 30);
  job.close();
  const Lines lines = job_lines(job, 0);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].value("variant", ""), "4096");
  EXPECT_EQ(lines[0].value("why", "-"), "");
}

TEST(JobVariants, WhereNoneFitsTheJobIsRefused) {
  SimulatedJob job(Variables{{"WEFT_FILL", jobs(job_with(R"(["90000000", "80000000"])"))}});
  const std::string said = job.open();
  EXPECT_NE(said.find("of the cap of 67108864 bytes in use"), std::string::npos) << said;
  EXPECT_NE(said.find("observing only"), std::string::npos) << said;
  train(job, 18);
  job.close();
  const Lines lines = job_lines(job, 0);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].value("event", ""), "refused");
  EXPECT_EQ(lines[0].value("variant", ""), "80000000") << "the last one that was tried";
}

TEST(JobVariants, OneThatFailsItsTrialGivesWay) {
  SimulatedJob job(Variables{{"WEFT_FILL", jobs(job_with(R"(["none", "4096"])"))}});
  const std::string said = job.open();
  EXPECT_EQ(said.find("observing only"), std::string::npos) << said;
  train(job, 18);
  job.close();
  ASSERT_EQ(job_lines(job, 0).size(), 1U);
  EXPECT_EQ(job_lines(job, 0)[0].value("variant", ""), "4096");
  const std::string why = job_lines(job, 0)[0].value("why", "");
  EXPECT_TRUE(why.starts_with("none cannot be run: ")) << why;
}

// It would hold the training up for longer than any quiet moment.
TEST(JobVariants, OneThatTakesLongToBeMadeReadyGivesWay) {
  SimulatedJob job(Variables{{"WEFT_FILL", jobs(job_with(R"(["4096,sleep11", "2048"])"))}, {"WEFT_LOG", "error"}});
  job.open();
  trains_until(job, 6ms, 60s, [] { return SimulatedJob::times_reserved == 1; });
  train(job, 30);
  job.close();
  const Lines lines = job_lines(job, 0);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].value("variant", ""), "2048");
  const std::string why = lines[0].value("why", "");
  EXPECT_NE(why.find("would have held the training up for 11 s"), std::string::npos) << why;
}

// 48 of 64 MiB are the first job's, which goes on for ever: the second one may have 16 of its 64.
TEST(JobVariants, ASmallerOneRunsBesideAJobThatHasTheMemory) {
  const std::string first = "[[job]]\nfill = \"" + copy_job("12,4096") + "\"\nmemory = \"48MiB\"\n";
  SimulatedJob job(Variables{{"WEFT_FILL", jobs(first + job_with(R"(["20000000", "2048"])", "memory = \"64MiB\""))}});
  job.open();
  trains_until(job, 6ms, 60s, [] { return SimulatedJob::times_reserved == 2; });
  train(job, 60);
  job.close();
  const Lines lines = job_lines(job, 1);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].value("event", ""), "ready");
  EXPECT_EQ(lines[0].value("variant", ""), "2048");
  EXPECT_EQ(lines[0].value("memory", 0U), 16U << 20);
}

}  // namespace
}  // namespace weft
