// One trial for the ranks of a node: real processes that share a verdict through a file. The probe is a shell script.
#include "runner/fill/shared_trial.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "runner/clock.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr Duration patience = 30s;  // of a test on a busy machine

class SharedTrialTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "weft_shared_trial_" + std::to_string(::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_ + "/run");
    ::setenv("XDG_RUNTIME_DIR", (folder_ + "/run").c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A probe that leaves a line in the file "trials" and goes on with `body`; $F in it is the folder of the test.
  std::string probe(const std::string& body) const {
    const std::string path = folder_ + "/probe.sh";
    std::ofstream(path) << "#!/bin/sh\nF='" << folder_ << "'\necho trial >>\"$F/trials\"\n" << body << "\n";
    ::chmod(path.c_str(), 0755);
    return path;
  }
  long trials() const {
    std::ifstream file(folder_ + "/trials");
    return std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n');
  }
  fs::path shared_folder() const { return folder_ + "/run/weft-" + std::to_string(::geteuid()) + "-trials"; }
  long shared_files() const { return std::distance(fs::directory_iterator(shared_folder()), fs::directory_iterator()); }

  // Another rank: its exit code is what `body` returns.
  static pid_t rank(const std::function<int()>& body) {
    // A thread of an earlier trial that ends just now may hold locks of a sanitizer, which the child would wait for.
    wait_at_most(std::chrono::seconds(1), [] {
      return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator()) == 1;
    });
    const pid_t process = ::fork();
    if (process == 0) ::_exit(body());
    return process;
  }
  static int exit_code(pid_t process) {
    int status = 0;
    ::waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  static inline std::atomic<std::uint32_t> given_back{0};
  static std::shared_ptr<SharedTrial> begin(const std::string& program, const std::string& key = "key",
                                            Duration limit = 20s) {
    FillSettings settings;
    settings.spec = {"job.so", ""};
    auto trial = std::make_shared<SharedTrial>(program, environment_variables(), settings, key, limit, given_back);
    trial->start();
    return trial;
  }
  static std::string fault(const SharedTrial& trial) {
    return wait_at_most(patience, [&] { return trial.has_verdict(); }) ? trial.verdict()->fault : "no verdict came";
  }

  std::string folder_;
};

TEST_F(SharedTrialTest, RanksShareOneTrial) {
  const std::string program = probe("sleep 0.3; echo at init >&3; echo 'failed fill job job.so: of no use' >&3");
  std::vector<pid_t> ranks;
  for (int count = 0; count < 4; ++count)
    ranks.push_back(rank([&] { return fault(*begin(program)) == "fill job job.so: of no use" ? 0 : 1; }));
  for (const pid_t process : ranks) EXPECT_EQ(exit_code(process), 0);
  EXPECT_EQ(trials(), 1);
}

TEST_F(SharedTrialTest, ARankThatComesLaterTakesTheVerdict) {
  const std::string program = probe("echo prepared 1500 >&3; echo ok >&3");
  const auto trial = begin(program);
  EXPECT_EQ(fault(*trial), "");
  const pid_t later = rank([&] {
    const auto other = begin(program);
    return fault(*other).empty() && other->verdict()->preparation == Duration(1500) ? 0 : 1;
  });
  EXPECT_EQ(exit_code(later), 0);
  EXPECT_EQ(trials(), 1);
}

// A GPU without room, a limit of this process: the next rank may well be able to try.
TEST_F(SharedTrialTest, AFaultOfOneRankIsNotShared) {
  const std::string program =
      probe("[ $(wc -l <\"$F/trials\") -gt 1 ] && { echo ok >&3; exit; }; echo 'failed no room' >&3");
  const auto trial = begin(program);
  EXPECT_EQ(fault(*trial), "no room");
  EXPECT_EQ(exit_code(rank([&] { return fault(*begin(program)).empty() ? 0 : 1; })), 0);
  EXPECT_EQ(trials(), 2);
}

TEST_F(SharedTrialTest, GivesWayToAMainJobThatLacksMemory) {
  const auto trial = begin(probe("exec sleep 600"), "key", 600s);
  ASSERT_TRUE(wait_at_most(patience, [&] { return trials() == 1; }));
  EXPECT_TRUE(trial->runs_on(0));
  EXPECT_FALSE(trial->runs_on(1));
  trial->give_way();
  EXPECT_TRUE(wait_at_most(patience, [&] { return !trial->runs_on(0); }));
  EXPECT_EQ(fault(*trial), "memory of the GPU ran short during the trial of the fill job");
  EXPECT_TRUE(trial->verdict()->is_local);
}

TEST_F(SharedTrialTest, ALaterJobTriesAnew) {
  const std::string program = probe("echo ok >&3");
  for (int job = 1; job <= 3; ++job) {
    EXPECT_EQ(exit_code(rank([&] { return fault(*begin(program)).empty() ? 0 : 1; })), 0);
    EXPECT_EQ(trials(), job);
  }
}

TEST_F(SharedTrialTest, AnotherSubjectIsAnotherTrial) {
  const std::string program = probe("echo ok >&3");
  const auto one = begin(program, "one"), other = begin(program, "other");
  EXPECT_EQ(fault(*one), "");
  EXPECT_EQ(fault(*other), "");
  EXPECT_EQ(trials(), 2);
}

TEST_F(SharedTrialTest, WhenTheRankThatTriesIsKilledAnotherOneGoesOn) {
  const std::string program =
      probe("[ $(wc -l <\"$F/trials\") -gt 1 ] && { echo ok >&3; exit; }; touch \"$F/hangs\"; exec sleep 600");
  const pid_t first = rank([&] { return fault(*begin(program, "key", 600s)).empty() ? 0 : 1; });
  ASSERT_TRUE(wait_at_most(patience, [&] { return fs::exists(folder_ + "/hangs"); }));
  const auto trial = begin(program, "key", 600s);
  EXPECT_FALSE(wait_at_most(200ms, [&] { return trial->has_verdict(); }));
  EXPECT_EQ(trials(), 1);
  ::kill(first, SIGKILL);
  EXPECT_EQ(exit_code(first), -1);
  EXPECT_EQ(fault(*trial), "");
  EXPECT_EQ(trials(), 2);
}

TEST_F(SharedTrialTest, AStoppedTrialLeavesItToOthers) {
  const std::string program = probe("[ $(wc -l <\"$F/trials\") -gt 1 ] && { echo ok >&3; exit; }; exec sleep 600");
  const auto trial = begin(program, "key", 600s);
  ASSERT_TRUE(wait_at_most(patience, [&] { return trials() == 1; }));
  trial->stop();
  EXPECT_TRUE(wait_at_most(patience, [&] { return !trial->has_thread(); }));
  EXPECT_FALSE(trial->has_verdict());
  EXPECT_EQ(exit_code(rank([&] { return fault(*begin(program)).empty() ? 0 : 1; })), 0);
}

TEST_F(SharedTrialTest, KnowsHowOldTheTrialIs) {
  const std::string program = probe("exec sleep 600");
  const pid_t first = rank([&] { return fault(*begin(program, "key", 600s)).empty() ? 0 : 1; });
  ASSERT_TRUE(wait_at_most(patience, [&] { return trials() == 1; }));
  const TimePoint began = now();
  std::this_thread::sleep_for(100ms);
  const auto trial = begin(program, "key", 600s);
  EXPECT_TRUE(wait_at_most(patience, [&] { return trial->started() <= began; }));
  ::kill(first, SIGKILL);
  exit_code(first);
  trial->stop();
  EXPECT_TRUE(wait_at_most(patience, [&] { return !trial->has_thread(); }));
}

TEST_F(SharedTrialTest, ARankThatTakesOverMakesNobodyWaitAnew) {
  const std::string program = probe("exec sleep 600");
  const pid_t first = rank([&] { return fault(*begin(program, "key", 600s)).empty() ? 0 : 1; });
  ASSERT_TRUE(wait_at_most(patience, [&] { return trials() == 1; }));
  const TimePoint began = now();
  std::this_thread::sleep_for(100ms);
  const auto second = begin(program, "key", 600s);
  ASSERT_TRUE(wait_at_most(patience, [&] { return second->started() <= began; }));
  ::kill(first, SIGKILL);
  exit_code(first);
  ASSERT_TRUE(wait_at_most(patience, [&] { return trials() == 2; }));
  EXPECT_LE(second->started(), began);
  const auto third = begin(program, "key", 600s);
  EXPECT_TRUE(wait_at_most(patience, [&] { return third->started() <= began; }));
  for (const auto& trial : {second, third}) {
    trial->stop();
    EXPECT_TRUE(wait_at_most(patience, [&] { return !trial->has_thread(); }));
  }
}

TEST_F(SharedTrialTest, FilesOfEarlierJobsGo) {
  const std::string program = probe("echo ok >&3");
  for (int job = 0; job < 5; ++job)
    EXPECT_EQ(exit_code(rank([&] { return fault(*begin(program, std::to_string(job))).empty() ? 0 : 1; })), 0);
  EXPECT_EQ(shared_files(), 1);
  // Those of a living job stay.
  const auto living = begin(program, "living");
  EXPECT_EQ(fault(*living), "");
  EXPECT_EQ(exit_code(rank([&] { return fault(*begin(program, "next")).empty() ? 0 : 1; })), 0);
  EXPECT_TRUE(fs::exists(shared_folder() / "living"));
  EXPECT_EQ(shared_files(), 2);
}

TEST_F(SharedTrialTest, AFolderThatOthersMayWriteToIsNotUsed) {
  fs::create_directories(shared_folder());
  ::chmod(shared_folder().c_str(), 0777);
  ::setenv("TMPDIR", (folder_ + "/other").c_str(), 1);
  fs::create_directories(folder_ + "/other");
  const auto trial = begin(probe("echo ok >&3"));
  EXPECT_EQ(fault(*trial), "");
  EXPECT_EQ(shared_files(), 0);
  EXPECT_TRUE(fs::exists(folder_ + "/other/weft-" + std::to_string(::geteuid()) + "-trials/key"));
  ::unsetenv("TMPDIR");
}

TEST_F(SharedTrialTest, ALinkInPlaceOfTheFileIsNotFollowed) {
  fs::create_directories(shared_folder());
  ::chmod(shared_folder().c_str(), 0700);
  std::ofstream(folder_ + "/precious") << "precious";
  fs::create_symlink(folder_ + "/precious", shared_folder() / "key");
  ::setenv("TMPDIR", folder_.c_str(), 1);
  const auto trial = begin(probe("echo ok >&3"));
  EXPECT_EQ(fault(*trial), "");
  EXPECT_EQ(fs::file_size(folder_ + "/precious"), 8U);
  ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace weft
