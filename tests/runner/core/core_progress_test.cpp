// The core on the simulated driver, the progress of a fill job, from one run to the next; held against the simulator's
// own log.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "runner/fill/checkpoint.h"
#include "tests/runner/core/simulated_job.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::copy_job;
using testing::SimulatedJob;
using testing::Variables;

// Units done in all runs, as the copy job's progress says.
std::uint64_t units_kept(const std::string& directory) {
  const auto progress = read_progress(progress_path(directory, 0, std::nullopt), "copy");
  std::uint64_t units = 0;
  EXPECT_TRUE(progress && progress->size() == sizeof units);
  if (progress) std::memcpy(&units, progress->data(), sizeof units);
  return units;
}

std::uint64_t units_done(const SimulatedJob& job) {
  std::uint64_t units = 0;
  for (const auto& record : job.trace())
    if (record.value("type", "") == "summary") units += record.value("fill_units", 0U);
  return units;
}

TEST(CoreOnSimulator, ProgressGoesFromOneRunToTheNext) {
  const std::string directory = ::testing::TempDir() + "weft_progress_" + std::to_string(::getpid());
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("4,4096")}, {"WEFT_CHECKPOINT", directory}, {"WEFT_LOG", "error"}});
  job.open();
  train(job);
  job.close();
  const std::uint64_t first = units_kept(directory);
  EXPECT_GT(first, 0U);
  EXPECT_EQ(first, units_done(job));
  job.core.communicator_opened({2, 0, 0, 2});
  EXPECT_TRUE(job.core.rescue_memory(0)) << "progress is kept although the memory is gone";
  job.core.communicator_closing(2);
  EXPECT_EQ(units_kept(directory), first);
  EXPECT_EQ(units_done(job), first);
  std::filesystem::remove_all(directory);
}

// A training that is killed after that has lost no more than the units since.
TEST(CoreOnSimulator, ProgressIsKeptWhileItRuns) {
  const std::string directory = ::testing::TempDir() + "weft_progress_" + std::to_string(::getpid());
  const std::string path = progress_path(directory, 0, std::nullopt);
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("4,4096")},
                             {"WEFT_CHECKPOINT", directory},
                             {"WEFT_CHECKPOINT_EVERY", "1s"},
                             {"WEFT_LOG", "error"}});
  job.open();
  const auto trains_until = [&](auto is_so) {
    for (int rounds = 0; rounds < 200 && !is_so(); ++rounds) {
      train(job);
      job.core.quiet_moment(0);
    }
    EXPECT_TRUE(is_so());
  };
  trains_until([&] { return std::filesystem::exists(path); });
  const std::uint64_t first = units_kept(directory);
  EXPECT_GT(first, 0U);
  trains_until([&] { return units_kept(directory) > first; });
  job.close();
  EXPECT_EQ(units_kept(directory), units_done(job));
  std::filesystem::remove_all(directory);
}

TEST(CoreOnSimulator, AJobWithNothingToKeepIsAskedOnce) {
  const std::string directory = ::testing::TempDir() + "weft_progress_" + std::to_string(::getpid());
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("4,4096,unsaved")}, {"WEFT_CHECKPOINT", directory}});
  job.open();
  EXPECT_TRUE(job.core.rescue_memory(0));
  job.close();
  EXPECT_FALSE(std::filesystem::exists(progress_path(directory, 0, std::nullopt)));
  std::filesystem::remove_all(directory);
}

// A week of fill work would be lost at the end otherwise.
TEST(CoreOnSimulator, AFolderThatCannotBeWrittenIsSaidAtTheStartAndFillingGoesOn) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("4,4096")}, {"WEFT_CHECKPOINT", "/etc/passwd/x"}});
  const std::string said = job.open();
  EXPECT_NE(said.find("the progress of the fill job cannot be kept in /etc/passwd/x/rank0.progress (WEFT_CHECKPOINT): "
                      "Not a directory\n"),
            std::string::npos)
      << said;
  train(job);
  job.close();
  EXPECT_GT(units_done(job), 0U);
}

TEST(CoreOnSimulator, ProgressOfAnotherJobIsNotTouched) {
  const std::string directory = ::testing::TempDir() + "weft_progress_" + std::to_string(::getpid());
  const std::string path = progress_path(directory, 0, std::nullopt);
  ASSERT_EQ(write_progress(path, "another", Progress(3), 10s), "");
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("4,4096")}, {"WEFT_CHECKPOINT", directory}});
  const std::string said = job.open();
  EXPECT_NE(said.find("not that of fill job copy; observing only\n"), std::string::npos) << said;
  job.close();
  EXPECT_EQ(read_progress(path, "another"), Progress(3));
  std::filesystem::remove_all(directory);
}

// Without a launcher many processes may be rank 0.
TEST(CoreOnSimulator, ProgressThatAnotherProcessKeepsIsNotTouchedAndFillingGoesOn) {
  const std::string directory = ::testing::TempDir() + "weft_progress_" + std::to_string(::getpid());
  const std::string path = progress_path(directory, 0, std::nullopt);
  ASSERT_EQ(write_progress(path, "copy", Progress(3), 10s), "");
  const ProgressClaim other(path);
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("4,4096")}, {"WEFT_CHECKPOINT", directory}});
  const std::string said = job.open();
  EXPECT_NE(said.find("rank 0: the progress of the fill job begins anew and is not kept: another process"),
            std::string::npos)
      << said;
  train(job);
  job.close();
  EXPECT_GT(units_done(job), 0U);
  EXPECT_EQ(read_progress(path, "copy"), Progress(3));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace weft
