// Progress files: what is written is read again, and what is not ours or not whole is refused and left alone.
#include "runner/fill/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>

#include "runner/core/driver.h"
#include "tests/trace/temporary_directory.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

Progress bytes(std::size_t count) {
  Progress progress(count);
  for (std::size_t index = 0; index < count; ++index) progress[index] = static_cast<std::byte>(index * 7);
  return progress;
}

std::string refusal_of(const std::string& path, const std::string& job) {
  try {
    read_progress(path, job);
  } catch (const SetUpError& error) {
    return error.what();
  }
  return "none";
}

struct Checkpoint : ::testing::Test {
  test::TemporaryDirectory directory;
  std::string path = progress_path(directory / "a/b", 3, std::nullopt);
};

TEST_F(Checkpoint, NamesHaveTheRankAndADeviceWhereOneIsGiven) {
  EXPECT_EQ(progress_path("d", 3, std::nullopt), "d/rank3.progress");
  EXPECT_EQ(progress_path("d", 3, 1), "d/rank3.device1.progress");
  EXPECT_EQ(progress_path("d", 3, std::nullopt, "tune"), "d/rank3.tune.progress");
  EXPECT_EQ(progress_path("d", 3, 1, "tune"), "d/rank3.device1.tune.progress");
}

TEST_F(Checkpoint, WhatIsWrittenIsReadAgain) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{200'000}}) {
    ASSERT_EQ(write_progress(path, "job", bytes(size), 10s), "");
    EXPECT_EQ(read_progress(path, "job"), bytes(size));
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory / "a/b"), {}), 1) << "nothing else stays";
}

TEST_F(Checkpoint, OneAtATimeMayHaveIt) {
  auto first = std::make_unique<ProgressClaim>(path);
  EXPECT_TRUE(first->granted());
  EXPECT_FALSE(ProgressClaim(path).granted());
  EXPECT_TRUE(ProgressClaim(progress_path(directory / "a/b", 4, std::nullopt)).granted());
  first.reset();
  EXPECT_TRUE(ProgressClaim(path).granted());
}

TEST_F(Checkpoint, AProcessThatWasForkedMeanwhileDoesNotHoldTheFile) {
  auto first = std::make_unique<ProgressClaim>(path);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  ASSERT_GT(child, 0);
  first.reset();
  EXPECT_TRUE(ProgressClaim(path).granted());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

// It is known at the start: a week later would be too late.
TEST_F(Checkpoint, AFolderThatCannotBeWrittenRefusesNobodyAndSaysWhy) {
  std::ofstream(directory / "file") << "a file";
  for (const auto& [folder, why] : {std::pair{std::string("/proc/weft"), "No such file or directory"},
                                    {directory / "file", "Not a directory"},
                                    {directory / "file/below", "Not a directory"}}) {
    const ProgressClaim claim(progress_path(folder, 0, std::nullopt));
    EXPECT_TRUE(claim.granted());
    EXPECT_EQ(claim.fault(), why);
  }
  EXPECT_EQ(ProgressClaim(path).fault(), "");
}

TEST_F(Checkpoint, ALockThatCannotBeOpenedIsAFaultWhereTheFolderCannotBeWritten) {
  std::filesystem::create_directories(path + ".lock");
  EXPECT_EQ(ProgressClaim(path).fault(), "Is a directory");
  std::filesystem::remove(path + ".lock");
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::ofstream(path + ".lock") << "";
  std::filesystem::permissions(path + ".lock", std::filesystem::perms::none);
  EXPECT_EQ(ProgressClaim(path).fault(), "") << "the progress beside it can be replaced";
  std::filesystem::permissions(directory / "a/b",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_EQ(ProgressClaim(path).fault(), "Permission denied");
  std::filesystem::permissions(directory / "a/b", std::filesystem::perms::owner_all);
}

TEST_F(Checkpoint, NoFileIsNoProgress) {
  EXPECT_EQ(read_progress(path, "job"), std::nullopt);
}

TEST_F(Checkpoint, AnotherJobsProgressIsRefused) {
  ASSERT_EQ(write_progress(path, "job", bytes(9), 10s), "");
  EXPECT_EQ(refusal_of(path, "jo"),
            "the progress in " + path + " (WEFT_CHECKPOINT) is damaged or not that of fill job jo");
}

TEST_F(Checkpoint, EveryFileThatBreaksOffIsRefused) {
  ASSERT_EQ(write_progress(path, "job", bytes(9), 10s), "");
  const std::string whole = test::read_file(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, length);
    EXPECT_NE(refusal_of(path, "job"), "none") << length;
  }
  std::ofstream(path, std::ios::binary) << whole << 'x';
  EXPECT_NE(refusal_of(path, "job"), "none") << "longer";
}

TEST_F(Checkpoint, ADirectoryThatCannotBeMadeIsOneLine) {
  std::ofstream(directory / "a") << "a file";
  EXPECT_EQ(write_progress(path, "job", bytes(9), 10s),
            "the progress of the fill job cannot be written to " + path + ": Not a directory");
}

}  // namespace
}  // namespace weft
