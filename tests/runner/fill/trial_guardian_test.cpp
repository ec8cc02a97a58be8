// Who can see a trial's processes: nobody who waits for children, neither in the training process nor in a launcher
// that is a subreaper; and none of them outlives a training process that is killed. The probe is a shell script here.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "runner/fill/fill_trial.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// Waits on a condition for as long as a busy machine may need.
bool becomes_true(const std::function<bool()>& condition, std::chrono::seconds limit = 20s) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

class TrialGuardian : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "weft_guardian_" + std::to_string(::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  void TearDown() override {
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    fs::remove_all(folder_);
  }

  // A probe that runs `body`; $F in it is the folder of the test.
  std::string probe(const std::string& body) const {
    const std::string path = folder_ + "/probe.sh";
    std::ofstream(path) << "#!/bin/sh\nF='" << folder_ << "'\n" << body << "\n";
    ::chmod(path.c_str(), 0755);
    return path;
  }
  // A process number that the probe has written with `echo $$ >"$F/name.new"; mv "$F/name.new" "$F/name"`.
  pid_t process(const std::string& name) const {
    pid_t number = 0;
    EXPECT_TRUE(becomes_true([&] { return fs::exists(folder_ + "/" + name); }));
    std::ifstream(folder_ + "/" + name) >> number;
    return number;
  }
  static FillSettings settings() {
    FillSettings made;
    made.spec = {"job.so", ""};
    return made;
  }

  std::string folder_;
};

std::string fault_of_trial(const std::string& probe, const FillSettings& settings, Duration limit) {
  const std::atomic<bool> stop{false};
  const auto verdict = try_fill_job({probe, environment_variables()}, settings, limit, stop);
  return verdict ? verdict->fault : "stopped";
}

const std::string hang =
    "echo at init >&3; echo $$ >\"$F/probe.new\"; mv \"$F/probe.new\" \"$F/probe\"; exec sleep 600";

bool is_gone(pid_t process) {
  return ::kill(process, 0) != 0 && errno == ESRCH;
}

TEST_F(TrialGuardian, NoWaitInTheTrainingProcessSeesIt) {
  std::string verdict;
  std::thread trial([&] { verdict = fault_of_trial(probe(hang), settings(), 2s); });
  EXPECT_GT(process("probe"), 0);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | static_cast<int>(__WCLONE)), 0) << "the guardian should be the one child";
  trial.join();
  EXPECT_EQ(verdict, "fill job job.so hung in init: its trial took longer than 2 s");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), -1);
}

TEST_F(TrialGuardian, ALauncherThatIsASubreaperSeesTheRankOnly) {
  const std::string program = probe("exec 9>\"$F/done\"; echo ok >&3");
  const pid_t rank = ::fork();
  if (rank == 0) ::_exit(fault_of_trial(program, settings(), 20s).empty() ? 7 : 1);
  int status = 0;
  EXPECT_EQ(::waitpid(-1, &status, 0), rank);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_TRUE(fs::exists(folder_ + "/done"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), -1);
}

TEST_F(TrialGuardian, WithTheTrainingProcessGoesTheTrial) {
  const std::string program = probe(hang);
  const pid_t rank = ::fork();
  if (rank == 0) ::_exit(fault_of_trial(program, settings(), 600s).empty() ? 0 : 1);
  const pid_t tried = process("probe");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), 0) << "while the rank lives, nothing but the rank";
  ::kill(rank, SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  int seen = 0;
  EXPECT_TRUE(becomes_true([&] {
    for (pid_t child = 0; (child = ::waitpid(-1, nullptr, WNOHANG | __WALL)) > 0;) {
      ++seen;
      EXPECT_NE(child, tried) << "the probe was handed on";
    }
    return is_gone(tried) && is_gone(rank) && ::waitpid(-1, nullptr, WNOHANG | __WALL) == -1;
  }));
  RecordProperty("milliseconds", static_cast<int>((std::chrono::steady_clock::now() - killed) / 1ms));
  EXPECT_LE(seen, 2) << "the rank, and the guardian after it";
}

// As mpirun and torchrun do: all processes of the rank's group at once.
TEST_F(TrialGuardian, GoesWithTheGroupOfProcesses) {
  const std::string program = probe(hang);
  const pid_t rank = ::fork();
  if (rank == 0) {
    ::setpgid(0, 0);
    ::_exit(fault_of_trial(program, settings(), 600s).empty() ? 0 : 1);
  }
  const pid_t tried = process("probe");
  ::kill(-rank, SIGKILL);
  EXPECT_TRUE(becomes_true([&] {
    while (::waitpid(-1, nullptr, WNOHANG | __WALL) > 0) {
    }
    return is_gone(tried);
  }));
}

// An exec ends the thread that waits for the guardian, which has the memory and the descriptors of the old program.
TEST_F(TrialGuardian, GoesWhenTheTrainingProcessBecomesAnotherProgram) {
  const std::string program = probe(hang);
  const pid_t rank = ::fork();
  if (rank == 0) {
    std::thread([&] { fault_of_trial(program, settings(), 600s); }).detach();
    if (process("probe") > 0) ::execlp("sleep", "sleep", "600", nullptr);
    ::_exit(1);
  }
  const pid_t tried = process("probe");
  EXPECT_TRUE(becomes_true([&] { return is_gone(tried); }));
  EXPECT_FALSE(is_gone(rank));
  ::kill(rank, SIGKILL);
  EXPECT_EQ(::waitpid(rank, nullptr, 0), rank);
  while (::waitpid(-1, nullptr, __WALL) > 0) {
  }
}

TEST_F(TrialGuardian, LeavesNothingThatTheJobHasStarted) {
  const std::string program = probe(
      "setsid sh -c 'echo $$ >\"'$F'/other.new\"; mv \"'$F'/other.new\" \"'$F'/other\"; exec sleep 600' &\n"
      "while [ ! -e \"$F/other\" ]; do sleep 0.01; done; echo ok >&3");
  EXPECT_EQ(fault_of_trial(program, settings(), 20s), "");
  EXPECT_TRUE(is_gone(process("other")));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), -1);
}

}  // namespace
}  // namespace weft
