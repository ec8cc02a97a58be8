// Fill jobs whose memory went back to the training because it left less than WEFT_HEADROOM free: when they go on, with
// which state, and what trace and summary say of it. The device has 128 MiB and the reservation 64; of the 64 MiB that
// are left the training is to have 32, and 40 once jobs have rested.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

#include "runner/fill/checkpoint.h"
#include "tests/runner/core/job_with_variants.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using namespace testing;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

Variables variables(const std::string& fill, const Variables& more = {}) {
  Variables all{{"WEFT_FILL", fill},
                {"SIMGPU_MEMORY", "128MiB"},
                {"WEFT_HEADROOM", "32MiB"},
                {"WEFT_SLOWDOWN_BUDGET", "off"},
                {"WEFT_LOG", "info"}};
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}

// The training's memory, of which it has yet to say that it was taken.
class Taken {
 public:
  Taken(SimulatedJob& job, std::size_t bytes) : job_(job) {
    EXPECT_EQ(job.function<decltype(&::cuMemAlloc_v2)>("cuMemAlloc_v2")(&memory_, bytes), CUDA_SUCCESS);
  }
  ~Taken() { EXPECT_EQ(job_.function<decltype(&::cuMemFree_v2)>("cuMemFree_v2")(memory_), CUDA_SUCCESS); }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

 private:
  SimulatedJob& job_;
  CUdeviceptr memory_ = 0;
};

// Takes so much that all of the reservation goes back.
void gives_back(SimulatedJob& job, std::size_t bytes = 36 * mebibyte, std::size_t reserved = 64 * mebibyte) {
  const std::size_t free = testing::free_memory(job);
  const Taken taken(job, bytes);
  for (int turn = 0; turn < 1000 && testing::free_memory(job) + bytes == free; ++turn) {
    job.core.memory_taken(0);
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(testing::free_memory(job) + bytes, free + reserved);
}

void trains_until_reserved(SimulatedJob& job, int times) {
  trains_until(job, 6ms, 60s, [times] { return SimulatedJob::times_reserved == times; });
}

std::string said_until_reserved(SimulatedJob& job, int times) {
  ::testing::internal::CaptureStderr();
  trains_until_reserved(job, times);
  return ::testing::internal::GetCapturedStderr();
}

std::vector<std::int64_t> times(const Lines& lines) {
  std::vector<std::int64_t> all;
  for (const auto& line : lines) all.push_back(line.value("time", std::int64_t{0}));
  return all;
}

const std::string why_memory_goes = "less device memory was left to the training than the 32 MiB of WEFT_HEADROOM";

TEST(Rest, OneGoesOnWithItsStateWhenThereIsMemoryAgain) {
  SimulatedJob job(variables(copy_job("12,4096")));
  const std::size_t before = testing::free_memory(job);
  job.open();
  train(job, 60);
  ::testing::internal::CaptureStderr();
  gives_back(job);
  EXPECT_EQ(testing::free_memory(job), before);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "weft: warning: rank 0: fill job copy rests: " + why_memory_goes +
                "; it goes on when there is more, after 2 s at the earliest\n");
  const std::string said = said_until_reserved(job, 2);
  EXPECT_NE(said.find("takes up "), std::string::npos) << "without a file, too: " << said;
  EXPECT_EQ(said.find("takes up 0 units"), std::string::npos) << said;
  EXPECT_NE(said.find("filling goes on, after a rest; the training stood for "), std::string::npos) << said;
  EXPECT_EQ(before - testing::free_memory(job), 64 * mebibyte);
  const auto units = [&] { return record_of(job.trace(), "summary")["jobs"][0]; };
  train(job, 60);
  job.close();
  EXPECT_EQ(testing::free_memory(job), before);
  const Lines lines = job_lines(job, 0);
  ASSERT_EQ(events(lines), (Events{"ready ", "withdrawn ", "ready "}));
  EXPECT_EQ(lines[1].value("why", ""), why_memory_goes);
  EXPECT_GE(times(lines)[2] - times(lines)[1], std::chrono::nanoseconds(2s).count());
  EXPECT_GT(lines[2].value("held", 0), 0);
  EXPECT_GT(units().value("units", 0), 10);
  EXPECT_EQ(units().value("units_wrong", 1), 0);
  EXPECT_EQ(record_of(job.trace(), "summary").value("filling_stopped", true), false);
  EXPECT_EQ(count_of(job.log("weft-dispatch"), "hazard"), 0U);
}

// Units count once, however often the job rested, and the file has them all.
TEST(Rest, EachTimeItRestsLongerAndNoUnitIsLostOrCountedTwice) {
  const std::string directory = ::testing::TempDir() + "weft_rest_" + std::to_string(::getpid());
  SimulatedJob job(variables(copy_job("4,4096"), {{"WEFT_CHECKPOINT", directory}}));
  job.open();
  for (int time = 1; time <= 2; ++time) {
    train(job, 30);
    gives_back(job);
    trains_until_reserved(job, time + 1);
  }
  train(job, 30);
  job.close();
  const Lines lines = job_lines(job, 0);
  ASSERT_EQ(events(lines), (Events{"ready ", "withdrawn ", "ready ", "withdrawn ", "ready "}));
  EXPECT_GE(times(lines)[4] - times(lines)[3], std::chrono::nanoseconds(4s).count());
  const auto progress = read_progress(progress_path(directory, 0, std::nullopt), "copy");
  std::uint64_t kept = 0;
  ASSERT_TRUE(progress && progress->size() == sizeof kept);
  std::memcpy(&kept, progress->data(), sizeof kept);
  EXPECT_GT(kept, 0U);
  EXPECT_EQ(kept, record_of(job.trace(), "summary").value("fill_units", 0U));
  std::filesystem::remove_all(directory);
}

TEST(Rest, OneThatCannotTellItsStateBeginsAnewAndItsUnitsCount) {
  SimulatedJob job(variables(copy_job("4,4096,unsaved")));
  job.open();
  train(job, 30);
  gives_back(job);
  trains_until_reserved(job, 2);
  train(job, 30);
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)), (Events{"ready ", "withdrawn ", "ready "}));
  const auto summary = record_of(job.trace(), "summary");
  EXPECT_GT(summary.value("fill_units", 0), 10) << summary;
  EXPECT_EQ(summary.value("filling_stopped", true), false) << summary;
}

// 36 MiB beside the reservation are enough to begin with, and too few after a rest.
TEST(Rest, WithTooLittleMemoryItRestsToTheEndAndSaysSo) {
  SimulatedJob job(variables(copy_job("12,4096")));
  job.open();
  train(job, 30);
  gives_back(job);
  const Taken taken(job, 28 * mebibyte);
  const auto until = std::chrono::steady_clock::now() + 4s;
  trains_until(job, 6ms, 60s, [&] { return std::chrono::steady_clock::now() > until; });
  EXPECT_EQ(SimulatedJob::times_reserved, 1);
  const std::string said = job.close();
  const std::string why =
      "fill job copy was not run again after its memory went back to the training: the GPU had less left than its 64 "
      "MiB and the 40 MiB that stay free beside it (WEFT_HEADROOM and a quarter)";
  EXPECT_NE(said.find("weft: warning: rank 0: " + why), std::string::npos) << said;
  EXPECT_NE(said.find("rank 0: filling was stopped: " + why), std::string::npos) << said;
  EXPECT_EQ(events(job_lines(job, 0)), (Events{"ready ", "withdrawn ", "refused "}));
  EXPECT_EQ(record_of(job.trace(), "summary").value("reason", ""), why);
}

TEST(Rest, UnderASmallBudgetItRestsToTheEndAndSaysSo) {
  SimulatedJob job(variables(copy_job("12,4096"), {{"WEFT_SLOWDOWN_BUDGET", "0.001%"}}));
  job.open();
  train(job, 30);
  gives_back(job);
  const auto until = std::chrono::steady_clock::now() + 4s;
  trains_until(job, 6ms, 60s, [&] { return std::chrono::steady_clock::now() > until; });
  EXPECT_EQ(SimulatedJob::times_reserved, 1);
  const std::string said = job.close();
  EXPECT_NE(said.find("to make it ready again would have cost more than WEFT_SLOWDOWN_BUDGET"), std::string::npos)
      << said;
}

TEST(Rest, WhereTheTrainingEndsSoonItSaysSo) {
  SimulatedJob job(variables(copy_job("12,4096")));
  const std::size_t before = testing::free_memory(job);
  job.open();
  train(job, 30);
  gives_back(job);
  const std::string said = job.close();
  EXPECT_NE(said.find("no quiet moment of the training came later than 2 s after that"), std::string::npos) << said;
  EXPECT_EQ(testing::free_memory(job), before);
}

TEST(Rest, AJobThatHasLostItsStateIsNotRunAgain) {
  SimulatedJob job(variables(copy_job("12,4096,badsave")));
  job.open();
  train(job, 30);
  gives_back(job);
  ::testing::internal::CaptureStderr();
  for (int turn = 0; turn < 500 && job.quiet_moments_wanted; ++turn) {
    four_iterations(job, 0us);
    job.core.quiet_moment(0);
  }
  train(job, 6);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("fill job copy is not run again: its progress could not be taken before its memory went"),
            std::string::npos)
      << said;
  EXPECT_EQ(SimulatedJob::times_reserved, 1);
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)), (Events{"ready ", "withdrawn ", "refused "}));
  EXPECT_EQ(record_of(job.trace(), "summary").value("filling_stopped", false), true);
}

// Nothing is held, so nothing ends; but the training has just shown that it is short of memory.
TEST(Rest, AnAllocationThatFailsMeanwhileMakesItLonger) {
  SimulatedJob job(variables(copy_job("12,4096")));
  job.open();
  train(job, 30);
  gives_back(job);
  std::this_thread::sleep_for(1500ms);
  EXPECT_FALSE(job.core.rescue_memory(0));
  trains_until_reserved(job, 2);
  job.close();
  const Lines lines = job_lines(job, 0);
  ASSERT_EQ(events(lines), (Events{"ready ", "withdrawn ", "ready "}));
  EXPECT_GE(times(lines)[2] - times(lines)[1], std::chrono::nanoseconds(3400ms).count());
}

TEST(Rest, AnAllocationThatFailsBeforeTheMemoryIsBackEndsFilling) {
  SimulatedJob job(variables(copy_job("12,4096")));
  const std::size_t before = testing::free_memory(job);
  job.open();
  train(job, 30);
  {
    const Taken taken(job, 36 * mebibyte);
    job.begin_group();
    EXPECT_GT(job.core.memory_taken(0), 0U);
    EXPECT_EQ(before - testing::free_memory(job), 100 * mebibyte) << "freed next to a group";
    EXPECT_FALSE(job.core.rescue_memory(0)) << "the driver waits for the group";
    job.end_group();
  }
  EXPECT_TRUE(testing::rescued_soon(job));
  EXPECT_EQ(testing::free_memory(job), before);
  EXPECT_TRUE(testing::no_quiet_moment_is_wanted(job, 20s));
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)), (Events{"ready ", "withdrawn ", "refused "}));
  EXPECT_EQ(record_of(job.trace(), "summary").value("reason", ""),
            "the training needed the memory of the reservation (WEFT_MEMORY)");
}

// And no allocation comes after that.
TEST(Rest, WhereFillingEndsBeforeTheMemoryIsBackItGoesAllTheSame) {
  SimulatedJob job(variables(copy_job("12,4096")));
  const std::size_t before = testing::free_memory(job);
  job.open();
  train(job, 30);
  const Taken taken(job, 36 * mebibyte);
  job.begin_group();
  EXPECT_GT(job.core.memory_taken(0), 0U);
  EXPECT_FALSE(job.core.rescue_memory(0)) << "the driver waits for the group";
  EXPECT_EQ(before - testing::free_memory(job), 100 * mebibyte);
  job.end_group();
  trains_until(job, 0us, 60s, [&] { return before - testing::free_memory(job) == 36 * mebibyte; });
  EXPECT_TRUE(testing::no_quiet_moment_is_wanted(job, 20s));
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)), (Events{"ready ", "withdrawn ", "refused "}));
}

// An allocation next to a group is the last one; what remains is done when the host has waited for the GPU.
TEST(Rest, MemoryThatCouldNotGoBackAtOnceDoesSoAtAQuietMoment) {
  SimulatedJob job(variables(copy_job("12,4096")));
  const std::size_t before = testing::free_memory(job);
  job.open();
  train(job, 30);
  const Taken taken(job, 36 * mebibyte);
  job.begin_group();
  EXPECT_GT(job.core.memory_taken(0), 0U);
  EXPECT_EQ(before - testing::free_memory(job), 100 * mebibyte);
  job.end_group();
  trains_until(job, 0us, 60s, [&] { return before - testing::free_memory(job) == 36 * mebibyte; });
  job.close();
}

// Ends of slices that are not told until they may be.
struct HeldEnd {
  CUstream stream;
  CUdeviceptr address;
  std::uint32_t value;
};
std::atomic<bool> ends_are_held{false};
std::mutex held_mutex;
std::vector<HeldEnd> held_ends;
thread_local bool is_of_training = false;
decltype(&::cuStreamWriteValue32_v2) real_write = nullptr;
CUresult held_write(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  if (is_of_training || !ends_are_held) return real_write(stream, address, value, flags);
  const std::lock_guard lock(held_mutex);
  held_ends.push_back({stream, address, value});
  return CUDA_SUCCESS;
}

// Nothing follows it, so its end is the end of all.
TEST(Rest, ASliceThatDoesNotEndIsWaitedFor) {
  SimulatedJob job(variables(copy_job("12,4096")));
  is_of_training = true;
  real_write = job.function<decltype(&::cuStreamWriteValue32_v2)>("cuStreamWriteValue32_v2");
  SimulatedJob::replaced["cuStreamWriteValue32_v2"] = reinterpret_cast<void*>(&held_write);
  const std::size_t before = testing::free_memory(job);
  job.open();
  train(job, 30);
  ends_are_held = true;
  const auto holds_one = [] {
    const std::lock_guard lock(held_mutex);
    return !held_ends.empty();
  };
  for (int turn = 0; turn < 100 && !holds_one(); ++turn) train(job, 3);
  ASSERT_TRUE(holds_one());
  {
    const Taken taken(job, 36 * mebibyte);
    EXPECT_GT(job.core.memory_taken(0), 0U);
    EXPECT_GT(job.core.memory_taken(0), 0U);
    EXPECT_EQ(before - testing::free_memory(job), 100 * mebibyte) << "freed next to a slice";
    ends_are_held = false;
    for (const HeldEnd& end : held_ends)
      EXPECT_EQ(real_write(end.stream, end.address, end.value, CU_STREAM_WRITE_VALUE_DEFAULT), CUDA_SUCCESS);
    for (int turn = 0; turn < 1000 && before - testing::free_memory(job) != 36 * mebibyte; ++turn) {
      job.core.memory_taken(0);
      std::this_thread::sleep_for(10ms);
    }
    EXPECT_EQ(before - testing::free_memory(job), 36 * mebibyte);
  }
  trains_until_reserved(job, 2);
  train(job, 30);
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)), (Events{"ready ", "withdrawn ", "ready "}));
  EXPECT_EQ(record_of(job.trace(), "summary").value("fill_units_wrong", 1), 0);
}

// Which takes 300 ms here.
TEST(Rest, AnAllocationDoesNotWaitForTheState) {
  SimulatedJob job(variables(copy_job("4,4096,slowsave")));
  job.open();
  train(job, 30);
  {
    const Taken taken(job, 36 * mebibyte);
    const auto began = std::chrono::steady_clock::now();
    EXPECT_GT(job.core.memory_taken(0), 0U);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 250ms);
    EXPECT_TRUE(copy_job_saves());
  }
  trains_until_reserved(job, 2);
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)), (Events{"ready ", "withdrawn ", "ready "}));
}

// Which takes 2 s here: longer than a rescue waits for the driver.
TEST(Rest, AnAllocationThatFailsMeanwhileWaitsForTheState) {
  SimulatedJob job(variables(copy_job("4,4096,slowsave2")));
  const std::size_t before = testing::free_memory(job);
  job.open();
  train(job, 30);
  {
    const Taken taken(job, 36 * mebibyte);
    for (int turn = 0; turn < 100 && !copy_job_saves(); ++turn) EXPECT_GT(job.core.memory_taken(0), 0U);
    ASSERT_TRUE(copy_job_saves());
    EXPECT_TRUE(job.core.rescue_memory(0));
    EXPECT_FALSE(copy_job_saves());
    EXPECT_EQ(before - testing::free_memory(job), 36 * mebibyte);
  }
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)), (Events{"ready ", "withdrawn ", "refused "}));
}

// It has ended, and keeps its progress: save() takes 2 s here.
TEST(Rest, AnAllocationDoesNotWaitForTheProgressOfOneThatHasEnded) {
  const std::string directory = ::testing::TempDir() + "weft_rest_" + std::to_string(::getpid());
  const std::string text = "[[job]]\nfill = \"" + copy_job("4,4096,slowsave2") + "\"\nunits = 3\n";
  SimulatedJob job(variables(jobs(text), {{"WEFT_CHECKPOINT", directory}}));
  const std::size_t before = testing::free_memory(job);
  job.open();
  for (int rounds = 0; rounds < 100 && events(job_lines(job, 0)).size() < 2; ++rounds) train(job, 30);
  ASSERT_EQ(events(job_lines(job, 0)), (Events{"ready ", "done "}));
  {
    const Taken taken(job, 36 * mebibyte);
    const auto began = std::chrono::steady_clock::now();
    for (int turn = 0; turn < 10 && !copy_job_saves(); ++turn) EXPECT_GT(job.core.memory_taken(0), 0U);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 1500ms);
    EXPECT_TRUE(copy_job_saves());
    trains_until(job, 0us, 60s, [&] { return before - testing::free_memory(job) == 36 * mebibyte; });
  }
  job.close();
  EXPECT_TRUE(read_progress(progress_path(directory, 0, std::nullopt), "copy"));
  std::filesystem::remove_all(directory);
}

TEST(Rest, OneThatDoesNotSayItsStateIsToldOfOnce) {
  SimulatedJob job(variables(copy_job("4,4096,slowsave8")));
  const std::size_t before = testing::free_memory(job);
  job.open();
  train(job, 30);
  const Taken taken(job, 36 * mebibyte);
  ::testing::internal::CaptureStderr();
  EXPECT_GT(job.core.memory_taken(0), 0U);
  trains_until(job, 0us, 60s, [&] { return before - testing::free_memory(job) == 36 * mebibyte; });
  const std::string said = ::testing::internal::GetCapturedStderr();
  const std::string line =
      "weft: warning: rank 0: device memory of fill jobs, 64 MiB, has not gone back to the training for 5 s: a fill "
      "job has not said its progress yet (save() of weft/fill.h)\n";
  EXPECT_TRUE(said.find(line) != std::string::npos && said.find(line) == said.rfind(line)) << said;
  job.close();
}

// It has all memory, and may not go on.
TEST(Rest, OneThatRestsToTheEndKeepsNoOtherOneFromItsTurn) {
  const std::string text = "[[job]]\nfill = \"" + copy_job("12,4096") + "\"\nunits = 1000000\nmemory = \"64MiB\"\n" +
                           "[[job]]\nfill = \"" + copy_job("6,4096") + "\"\nmemory = \"32MiB\"\n";
  SimulatedJob job(variables(jobs(text), {{"WEFT_SLOWDOWN_BUDGET", "0.001%"}}));
  job.open();
  train(job, 30);
  gives_back(job);
  trains_until_reserved(job, 2);
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)), (Events{"ready ", "withdrawn ", "refused "}));
  EXPECT_EQ(events(job_lines(job, 1)), Events{"ready "});
}

// Another thread allocates while the job is made ready, for a second.
TEST(Rest, WhatIsTakenWhileItIsMadeReadyMakesItRestAgain) {
  SimulatedJob job(variables(copy_job("12,4096,stand1")));
  const std::size_t before = testing::free_memory(job);
  job.open();
  train(job, 30);
  gives_back(job);
  std::atomic<bool> is_ready{false};
  std::thread other([&] {
    job.use_context();
    while (before - testing::free_memory(job) < 64 * mebibyte) std::this_thread::sleep_for(1ms);
    EXPECT_FALSE(is_ready);
    const Taken taken(job, 36 * mebibyte);
    EXPECT_GT(job.core.memory_taken(0), 0U) << "it is not made to wait";
    EXPECT_FALSE(is_ready);
    for (int turn = 0; turn < 3000 && before - testing::free_memory(job) != 36 * mebibyte; ++turn) {
      job.core.memory_taken(0);
      std::this_thread::sleep_for(10ms);
    }
    EXPECT_EQ(before - testing::free_memory(job), 36 * mebibyte);
  });
  trains_until_reserved(job, 2);
  is_ready = true;
  other.join();
  trains_until_reserved(job, 3);
  train(job, 30);
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)), (Events{"ready ", "withdrawn ", "ready ", "withdrawn ", "ready "}));
}

// For its progress, which takes 300 ms: the memory stays until the job has said all.
TEST(Rest, OneThatIsBeingAskedForItsProgressIsWaitedFor) {
  const std::string directory = ::testing::TempDir() + "weft_rest_" + std::to_string(::getpid());
  SimulatedJob job(
      variables(copy_job("4,4096,slowsave"), {{"WEFT_CHECKPOINT", directory}, {"WEFT_CHECKPOINT_EVERY", "1s"}}));
  job.open();
  trains_until(job, 0us, 60s, copy_job_saves);
  gives_back(job);
  EXPECT_FALSE(copy_job_saves());
  const std::string said = said_until_reserved(job, 2);
  EXPECT_NE(said.find("takes up "), std::string::npos) << said;
  EXPECT_EQ(said.find("takes up 0 units"), std::string::npos) << said;
  train(job, 30);
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)), (Events{"ready ", "withdrawn ", "ready "}));
  EXPECT_EQ(record_of(job.trace(), "summary").value("fill_units_wrong", 1), 0);
  std::filesystem::remove_all(directory);
}

TEST(Rest, OnlyJobsThatRunAreWithdrawnAndGoOn) {
  const std::string text =
      "[[job]]\nfill = \"" + copy_job("12,4096") + "\"\nunits = 3\n[[job]]\nfill = \"" + copy_job("6,4096") + "\"\n";
  SimulatedJob job(variables(jobs(text)));
  const std::size_t before = testing::free_memory(job);
  job.open();
  for (int rounds = 0; rounds < 100 && events(job_lines(job, 0)).size() < 2; ++rounds) train(job, 30);
  gives_back(job);
  trains_until_reserved(job, 3);
  EXPECT_EQ(before - testing::free_memory(job), 32 * mebibyte);
  train(job, 60);
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)), (Events{"ready ", "done "}));
  EXPECT_EQ(events(job_lines(job, 1)), (Events{"ready ", "withdrawn ", "ready "}));
  const auto summary = record_of(job.trace(), "summary");
  EXPECT_EQ(summary["jobs"][0].value("units", 0), 3) << summary;
  EXPECT_EQ(summary.value("filling_stopped", true), false) << summary;
}

TEST(Rest, TwoJobsBothGoOn) {
  SimulatedJob job(variables(copy_job("12,4096") + ";" + copy_job("6,4096")));
  const std::size_t before = testing::free_memory(job);
  job.open();
  train(job, 30);
  gives_back(job);
  trains_until_reserved(job, 4);
  EXPECT_EQ(before - testing::free_memory(job), 64 * mebibyte);
  train(job, 60);
  job.close();
  for (const int number : {0, 1}) EXPECT_EQ(events(job_lines(job, number)), (Events{"ready ", "withdrawn ", "ready "}));
  const auto summary = record_of(job.trace(), "summary");
  for (const auto& of_job : summary["jobs"]) EXPECT_GT(of_job.value("slices", 0), 5) << summary;
  EXPECT_EQ(summary.value("fill_units_wrong", 1), 0) << summary;
}

// Beside WEFT_HEADROOM and a quarter of it are 2 MiB: too few for 3 MB.
TEST(Rest, AJobWithVariantsGoesOnWithOneThatFits) {
  SimulatedJob job(variables(jobs(job_with(R"(["1500000", "4096"])", "memory = \"4MiB\""))));
  const std::size_t before = testing::free_memory(job);
  job.open();
  train(job, 30);
  gives_back(job, before - 34 * mebibyte, 4 * mebibyte);
  const Taken taken(job, before - 42 * mebibyte);
  trains_until_reserved(job, 2);
  train(job, 30);
  job.close();
  const Lines lines = job_lines(job, 0);
  EXPECT_EQ(events(lines), (Events{"ready 1500000", "withdrawn 1500000", "ready 4096"}));
  EXPECT_EQ(lines.back().value("memory", 0U), 2 * mebibyte);
}

TEST(Rest, AContextThatClosesMeanwhileTakesAllWithIt) {
  SimulatedJob job(variables(copy_job("12,4096"), {{"WEFT_LOG", "error"}}));
  job.open();
  train(job, 30);
  gives_back(job);
  job.core.context_closing(0);
  job.reset_device();
  EXPECT_EQ(events(job_lines(job, 0)), (Events{"ready ", "withdrawn ", "refused "}));
}

}  // namespace
}  // namespace weft
