// The core on the simulated driver: memory that a fill job has marked goes to the host while the training is short of
// memory, and comes back; held against the simulator's memory and the job's own check.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "tests/runner/core/simulated_job.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::copy_job;
using testing::count_of;
using testing::free_memory;
using testing::record_of;
using testing::SimulatedJob;
using testing::Variables;

constexpr std::size_t mib = std::size_t{1} << 20;

// Long enough for a copy of what is marked.
#ifdef __SANITIZE_THREAD__
constexpr std::chrono::microseconds bubble = 60ms;
#else
constexpr std::chrono::microseconds bubble = 6ms;
#endif

// Of 128 MiB the reservation has 64, of which the job has marked 4. 64 are left, of which 32 have to stay so.
struct MarkedMemoryTest : ::testing::Test {
  void open(const Variables& more = {}) {
    Variables variables = more;
    variables.insert({{"WEFT_FILL", copy_job("1,4194304,marked")},
                      {"SIMGPU_MEMORY", "128MiB"},
                      {"WEFT_HEADROOM", "32MiB"},
                      {"WEFT_SLOWDOWN_BUDGET", "off"},
                      {"WEFT_LOG", "error"}});
    job.emplace(variables);
    job->open();
    trains(36);
  }
  // A test that gives up has not come to it.
  void TearDown() override {
    if (HasFatalFailure()) job->close();
  }
  void trains(int microbatches) { testing::train(*job, microbatches, bubble); }
  void take(std::size_t bytes) {
    ASSERT_EQ(job->function<decltype(&::cuMemAlloc_v2)>("cuMemAlloc_v2")(&memory, bytes), CUDA_SUCCESS);
    job->core.memory_taken(0);
  }
  void give_back() { ASSERT_EQ(job->function<decltype(&::cuMemFree_v2)>("cuMemFree_v2")(memory), CUDA_SUCCESS); }
  // Training goes on until then.
  bool reached(const std::function<bool()>& done) {
    for (int turn = 0; turn < 600 && !done(); ++turn) {
      trains(1);
      job->core.quiet_moment(0);
    }
    return done();
  }
  // Launches of slices while the memory was on the host.
  std::size_t slices_without_memory(const std::vector<nlohmann::json>& trace) const {
    std::uint64_t left = 0, came_back = UINT64_MAX;
    for (const auto& record : trace)
      if (record.value("type", "") == "memory" && record["event"] == "left") left = record["time"];
    for (const auto& record : trace)
      if (record.value("type", "") == "memory" && record["event"] == "came_back") came_back = record["time"];
    return static_cast<std::size_t>(std::ranges::count_if(trace, [&](const auto& record) {
      return record.value("type", "") == "slice" && record["launched"] > left && record["launched"] < came_back;
    }));
  }
  std::size_t units_after_return(const std::vector<nlohmann::json>& trace) const {
    const auto back = std::ranges::find_if(trace, [](const auto& record) {
      return record.value("type", "") == "memory" && record["event"] == "came_back";
    });
    return static_cast<std::size_t>(std::count_if(back, trace.end(), [](const auto& record) {
      return record.value("type", "") == "slice" && record["unit_done"] == true;
    }));
  }
  std::uint64_t moved(const std::vector<nlohmann::json>& trace, const std::string& way) const {
    std::uint64_t bytes = 0;
    for (const auto& record : trace)
      if (record.value("type", "") == "move" && record["way"] == way) bytes += record["bytes"].get<std::uint64_t>();
    return bytes;
  }

  std::optional<SimulatedJob> job;
  CUdeviceptr memory = 0;
};

TEST_F(MarkedMemoryTest, LeavesWhileTheTrainingIsShortOfMemoryAndComesBack) {
  open();
  take(34 * mib);
  EXPECT_EQ(free_memory(*job), 30 * mib) << "nothing goes before its content has been copied, in bubbles";
  EXPECT_TRUE(reached([&] { return free_memory(*job) == 34 * mib; }));
  trains(12);
  EXPECT_EQ(free_memory(*job), 34 * mib) << "there is too little for it to come back";
  give_back();
  EXPECT_TRUE(reached([&] { return free_memory(*job) == 64 * mib; }));
  EXPECT_TRUE(reached([&] { return !job->quiet_moments_wanted; })) << "it is back, and nothing more is to be done";
  trains(36);
  job->close();
  const auto trace = job->trace();
  EXPECT_EQ(moved(trace, "to_host"), 4 * mib);
  EXPECT_EQ(moved(trace, "to_device"), 4 * mib);
  EXPECT_EQ(slices_without_memory(trace), 0U);
  const auto summary = record_of(trace, "summary");
  EXPECT_EQ(summary.value("filling_stopped", true), false) << summary;
  EXPECT_EQ(summary.value("fill_units_wrong", -1), 0) << summary;
  EXPECT_GT(units_after_return(trace), 0U) << summary;
  EXPECT_GT(summary.value("moved", 0.0), 0.0) << summary;
  for (const auto& record : trace)
    EXPECT_FALSE(record.value("type", "") == "move" && record["bubble"] == 0) << "only in bubbles: " << record;
}

TEST_F(MarkedMemoryTest, IsNotEnoughWhereTheTrainingLacksMore) {
  open();
  take(40 * mib);  // 24 are left, and with what is marked 28
  trains(12);
  job->close();
  EXPECT_EQ(count_of(job->trace(), "move"), 0U);
}

TEST_F(MarkedMemoryTest, ARescueTakesAllWhileSomeOfItIsOnTheHost) {
  open();
  take(34 * mib);
  ASSERT_TRUE(reached([&] { return free_memory(*job) == 34 * mib; }));
  EXPECT_TRUE(testing::rescued_soon(*job));
  EXPECT_EQ(free_memory(*job), 94 * mib);
  give_back();
  trains(12);
  job->core.quiet_moment(0);
  EXPECT_EQ(free_memory(*job), 128 * mib) << "nothing comes back after that";
  EXPECT_FALSE(job->quiet_moments_wanted);
  job->close();
  EXPECT_EQ(record_of(job->trace(), "summary").value("filling_stopped", false), true);
}

TEST_F(MarkedMemoryTest, TheTrainingMayEndWhileItIsOnTheHost) {
  open();
  take(34 * mib);
  ASSERT_TRUE(reached([&] { return free_memory(*job) == 34 * mib; }));
  job->close();
  EXPECT_EQ(free_memory(*job), 94 * mib);
  EXPECT_EQ(record_of(job->trace(), "summary").value("filling_stopped", true), false);
}

// Without an iteration that is known nothing could be charged to the budget, so that some are run first.
TEST_F(MarkedMemoryTest, IsAlsoCopiedBesideTheTrainingsWorkWhereThatIsAllowed) {
  open({{"WEFT_SLACK_COPIES", "on"}, {"WEFT_SLOWDOWN_BUDGET", "100%"}});
  take(34 * mib);
  EXPECT_TRUE(reached([&] { return free_memory(*job) == 34 * mib; }));
  job->close();
  std::size_t beside = 0;
  for (const auto& record : job->trace())
    if (record.value("type", "") == "move" && record["bubble"] == 0) ++beside;
  EXPECT_GT(beside, 0U);
}

}  // namespace
}  // namespace weft
