// The trial process: its verdict, its bounds, and that the main job hears nothing of it. The probe is a shell script
// here.
#include "runner/fill/fill_trial.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

std::string fault_of(const std::string& path, const std::string& transcript, bool timed_out, Duration limit) {
  return verdict_of(path, transcript, timed_out, limit).fault;
}

std::string fault_of_trial(const std::string& probe, const FillSettings& settings, Duration limit) {
  const std::atomic<bool> stop{false};
  const auto verdict = try_fill_job({probe, environment_variables()}, settings, limit, stop);
  return verdict ? verdict->fault : "stopped";
}

TEST(Verdict, IsReadFromTheLines) {
  EXPECT_EQ(fault_of("j.so", "at init\nok\n", false, 30s), "");
  EXPECT_EQ(fault_of("j.so", "at init\nfailed fill job j.so: no\n", false, 30s), "fill job j.so: no");
  EXPECT_EQ(fault_of("j.so", "at init\n", false, 30s), "fill job j.so crashed in init (in a trial process)");
  EXPECT_EQ(fault_of("j.so", "", false, 30s), "fill job j.so crashed before init (in a trial process)");
  EXPECT_EQ(fault_of("j.so", "at init\nat record_unit\n", true, 30s),
            "fill job j.so hung in record_unit: its trial took longer than 30 s");
  EXPECT_EQ(fault_of("j.so", "at init\nfai", false, 30s), "fill job j.so crashed in init (in a trial process)");
}

// A context that cannot be made, or a loader that lacks memory, is the fault of one rank or GPU.
TEST(Verdict, IsLocalWhereTheJobWasNotReached) {
  EXPECT_TRUE(verdict_of("j.so", "failed fill job j.so: creating a context failed\n", false, 30s).is_local);
  EXPECT_TRUE(verdict_of("j.so", "", false, 30s).is_local);
  EXPECT_FALSE(verdict_of("j.so", "at init\n", false, 30s).is_local);
  EXPECT_FALSE(verdict_of("j.so", "at init\nfailed fill job j.so: no\n", false, 30s).is_local);
  EXPECT_FALSE(verdict_of("j.so", "", true, 30s).is_local);
  EXPECT_FALSE(verdict_of("j.so", "at init\nok\n", false, 30s).is_local);
}

TEST(Verdict, SaysHowLongTheJobTookToBeReady) {
  EXPECT_EQ(verdict_of("j.so", "at init\nprepared 1500\nok\n", false, 30s).preparation, Duration(1500));
  EXPECT_EQ(verdict_of("j.so", "at init\nprepared 1500\nok\n", false, 30s).movable, 0U);
  EXPECT_EQ(verdict_of("j.so", "at init\nmovable 12884901888\nok\n", false, 30s).movable, std::uint64_t{12} << 30);
  EXPECT_EQ(verdict_of("j.so", "ok\n", false, 30s).preparation, Duration::zero());
}

TEST(Verdict, SaysWhatTheMachineHasAnswered) {
  EXPECT_EQ(verdict_of("j.so", "found uph\nat init\nok\n", false, 30s).found, "uph");
  EXPECT_EQ(verdict_of("j.so", "at init\nok\n", false, 30s).found, "");
}

TEST(Verdict, SaysWhetherTheJobLackedMemory) {
  EXPECT_TRUE(verdict_of("j.so", "at init\nlacks memory\nfailed fill job j.so: no\n", false, 30s).lacks_memory);
  EXPECT_FALSE(verdict_of("j.so", "at init\nfailed fill job j.so: no\n", false, 30s).lacks_memory);
}

std::string script(const std::string& body) {
  const std::string path = ::testing::TempDir() + "probe_" + std::to_string(::getpid()) + ".sh";
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  ::chmod(path.c_str(), 0755);
  return path;
}

// A probe that is content when all of these are among its arguments.
std::string asked(const std::vector<std::string>& wanted) {
  std::string body = "n=0\nfor argument; do\n  case $argument in\n";
  for (const std::string& one : wanted) body += "    '" + one + "') n=$((n + 1)) ;;\n";
  return script(body + "  esac\ndone\n[ $n = " + std::to_string(wanted.size()) + " ] && echo ok >&3");
}

FillSettings settings() {
  FillSettings made;
  made.spec = {"/some where/j.so", "a b"};
  made.memory = 77;
  made.unit.confine = {Confine::green, 12, 3};
  return made;
}

TEST(Trial, PassesWhatTheProbeNeeds) {
  FillSettings passed = settings();
  passed.feed = {"", "/in put.npy", "/results.npy", "/weights.safetensors", "a b"};
  EXPECT_EQ(fault_of_trial(asked({"memory=77", "max_blocks=12", "path=/some where/j.so", "arguments=a b",
                                  "input=/in put.npy", "results=/results.npy", "weights=/weights.safetensors"}),
                           passed, 20s),
            "");
}

TEST(Trial, SaysWhichGpuTheNumberStandsFor) {
  FillSettings of_gpu = settings();
  of_gpu.uuid = "00ff";
  EXPECT_EQ(fault_of_trial(asked({"uuid=00ff"}), of_gpu, 20s), "");
}

TEST(Trial, SaysHowTheJobMayBeConfined) {
  EXPECT_EQ(fault_of_trial(asked({"max_blocks=12", "reserved=3", "confine=green"}), settings(), 20s), "");
}

TEST(Trial, AsksTheMachineWhereThatIsWanted) {
  FillSettings asking = settings();
  asking.asks_machine = true;
  EXPECT_EQ(fault_of_trial(asked({"one_queue=keep", "stream=plain"}), asking, 20s), "");
  EXPECT_EQ(fault_of_trial(asked({"one_queue="}), settings(), 20s), "");
  asking.wish = OneQueue::above;
  EXPECT_EQ(fault_of_trial(asked({"one_queue=above"}), asking, 20s), "");
  FillSettings of_green_context = settings();
  of_green_context.lane.stream = FillStream::green_context;
  EXPECT_EQ(fault_of_trial(asked({"one_queue=", "stream=green_context"}), of_green_context, 20s), "");
}

TEST(Trial, TurnsWeftOffInTheProbe) {
  ::setenv("WEFT", "fill", 1);
  EXPECT_EQ(fault_of_trial(script("[ \"$WEFT\" = off ] && echo ok >&3"), settings(), 20s), "");
  ::unsetenv("WEFT");
}

TEST(Trial, KeepsOtherPreloads) {
  ::setenv("LD_PRELOAD", "/none/libother.so:/x/libweft.so", 1);
  EXPECT_EQ(fault_of_trial(script("[ \"$LD_PRELOAD\" = /none/libother.so ] && echo ok >&3"), settings(), 20s), "");
  ::unsetenv("LD_PRELOAD");
}

TEST(Trial, ACrashIsACrash) {
  EXPECT_EQ(fault_of_trial(script("echo at init >&3; kill -SEGV $$"), settings(), 20s),
            "fill job /some where/j.so crashed in init (in a trial process)");
}

TEST(Trial, AHangIsEnded) {
  const std::string text = fault_of_trial(script("echo at init >&3; exec sleep 600"), settings(), 1s);
  EXPECT_EQ(text, "fill job /some where/j.so hung in init: its trial took longer than 1 s");
}

TEST(Trial, WhatItPrintsGoesNowhere) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(fault_of_trial(script("echo out; echo err >&2; echo ok >&3"), settings(), 20s), "");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// The main job may change its environment while the trial begins.
TEST(Trial, HasTheEnvironmentThatWasReadBefore) {
  const ProbeProgram probe{script("[ \"$COLOUR\" = red ] && echo ok >&3"),
                           {{"COLOUR", "red"}, {"PATH", "/bin:/usr/bin"}}};
  ::setenv("COLOUR", "blue", 1);
  const std::atomic<bool> stop{false};
  EXPECT_EQ(try_fill_job(probe, settings(), 20s, stop)->fault, "");
  ::unsetenv("COLOUR");
}

// Where the main job has closed all descriptors meanwhile, and has files of its own there.
TEST(Trial, ClosesNoFileOfTheMainJob) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "it closes a descriptor of another thread, which ThreadSanitizer takes for a race";
#endif
  std::vector<int> closed;
  const std::string path = script("touch \"$0.runs\"; while [ -e \"$0.runs\" ]; do sleep 0.01; done; echo ok >&3");
  std::string said;
  std::thread trial([&] { said = fault_of_trial(path, settings(), 60s); });
  while (!std::filesystem::exists(path + ".runs")) std::this_thread::sleep_for(5ms);
  for (int descriptor = 4; descriptor < 64; ++descriptor) {
    char target[64] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    if (::readlink(link.c_str(), target, sizeof target - 1) < 0 || std::strstr(target, "weft-trial") == nullptr)
      continue;
    ::close(descriptor);
    EXPECT_EQ(::dup2(0, descriptor), descriptor);
    closed.push_back(descriptor);
  }
  std::filesystem::remove(path + ".runs");
  trial.join();
  EXPECT_EQ(closed.size(), 1U);
  for (const int descriptor : closed) EXPECT_EQ(::close(descriptor), 0) << "was closed by the trial";
}

TEST(Trial, AMissingProbeIsSaid) {
  EXPECT_EQ(fault_of_trial("/nowhere/probe", settings(), 20s),
            "the fill job cannot be tried: /nowhere/probe does not start");
}

TEST(Trial, EndsWhenItIsStopped) {
  const std::atomic<bool> stop{true};
  EXPECT_EQ(try_fill_job({script("exec sleep 600"), environment_variables()}, settings(), 600s, stop), std::nullopt);
}

volatile std::sig_atomic_t children_heard = 0;

TEST(Trial, TheMainJobHearsNoChild) {
  struct sigaction handler {};
  struct sigaction before {};
  handler.sa_handler = [](int) { children_heard = children_heard + 1; };
  ::sigaction(SIGCHLD, &handler, &before);
  EXPECT_EQ(fault_of_trial(script("echo ok >&3"), settings(), 20s), "");
  ::sigaction(SIGCHLD, &before, nullptr);
  EXPECT_EQ(children_heard, 0);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), -1);
}

}  // namespace
}  // namespace weft
