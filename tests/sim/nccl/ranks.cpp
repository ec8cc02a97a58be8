// Starting, watching and ending the processes of a scenario.
#include "ranks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace ranks {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds patience(45);
constexpr const char* flag = "--rank-of";

std::map<std::string, Scenario>& scenarios() {
  static std::map<std::string, Scenario> all;
  return all;
}

std::string hex(const void* data, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<const unsigned char*>(data)[i]);
    text += digits;
  }
  return text;
}

void unhex(const char* text, void* data, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    const char digits[3] = {text[2 * i], text[2 * i + 1], 0};
    static_cast<unsigned char*>(data)[i] = static_cast<unsigned char>(std::strtoul(digits, nullptr, 16));
  }
}

struct Child {
  pid_t process = -1;
  bool ended = false;
  int status = 0;
};

Child start(const std::string& scenario, int rank, const Options& options, const std::string& id, int shared,
            const std::string& log) {
  std::vector<std::string> arguments = {
      "/proc/self/exe",      flag, scenario, std::to_string(rank), std::to_string(options.count), id,
      std::to_string(shared)};
  Child child;
  const pid_t parent = getpid();
  child.process = fork();
  if (child.process != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(3);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  if (!log.empty()) setenv("SIMGPU_LOG", log.c_str(), 1);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv("/proc/self/exe", pointers.data());
  _exit(4);
}

bool as_expected(const Child& child, bool to_be_killed) {
  if (to_be_killed) return WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGKILL;
  return WIFEXITED(child.status) && WEXITSTATUS(child.status) == 0;
}

// Collects the children until all have ended, one went wrong, or time is up.
bool watch(std::vector<Child>& children, int killed) {
  const auto deadline = steady_clock::now() + patience;
  size_t left = children.size();
  while (left > 0 && steady_clock::now() < deadline) {
    for (size_t rank = 0; rank < children.size(); ++rank) {
      Child& child = children[rank];
      // A killed rank stays a zombie until the others have ended: they have to notice it all the same.
      if (child.ended || (static_cast<int>(rank) == killed && left > 1)) continue;
      if (waitpid(child.process, &child.status, WNOHANG) != child.process) continue;
      child.ended = true;
      --left;
      if (!as_expected(child, static_cast<int>(rank) == killed)) {
        ADD_FAILURE() << "rank " << rank << " ended with status " << child.status;
        return false;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(left, 0u) << "the deadline has passed";
  return left == 0;
}

std::string read_log(const std::string& folder, pid_t process) {
  std::stringstream all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().find("." + std::to_string(process) + ".") == std::string::npos) continue;
    all << std::ifstream(entry.path()).rdbuf();
  }
  return all.str();
}

}  // namespace

Registration::Registration(const char* name, Scenario scenario) {
  scenarios()[name] = scenario;
}

Outcome run(const std::string& scenario, const Options& options) {
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const int shared = memfd_create("ranks", 0);
  EXPECT_EQ(ftruncate(shared, sizeof(Shared)), 0);
  std::string log;
  if (options.log) {
    char folder[] = "/tmp/sim_nccl.XXXXXX";
    log = mkdtemp(folder);
  }
  std::vector<Child> children;
  for (int rank = 0; rank < options.count; ++rank) {
    children.push_back(start(scenario, rank, options, hex(&id, sizeof id), shared, log));
  }
  Outcome outcome;
  outcome.finished = watch(children, options.killed);
  for (Child& child : children) {
    if (child.ended) continue;
    kill(child.process, SIGKILL);
    waitpid(child.process, &child.status, 0);
  }
  close(shared);
  if (options.log) {
    for (const Child& child : children) outcome.logs.push_back(read_log(log, child.process));
    std::filesystem::remove_all(log);
  }
  return outcome;
}

bool is_rank(int argc, char** argv, int* exit_code) {
  if (argc != 7 || std::strcmp(argv[1], flag) != 0) return false;
  Rank self;
  self.rank = std::atoi(argv[3]);
  self.count = std::atoi(argv[4]);
  unhex(argv[5], &self.id, sizeof self.id);
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, std::atoi(argv[6]), 0);
  if (memory == MAP_FAILED) std::abort();
  self.shared = static_cast<Shared*>(memory);
  self.shared->process[self.rank].store(getpid());
  CUDA(cuInit(0));
  CUDA(cuDevicePrimaryCtxRetain(&self.context, 0));
  CUDA(cuCtxSetCurrent(self.context));
  scenarios().at(argv[2])(self);
  *exit_code = 0;
  return true;
}

void failed(const char* file, int line, const char* what, long long got) {
  std::fprintf(stderr, "%s:%d: %s does not hold (got %lld; NCCL says: %s)\n", file, line, what, got,
               ncclGetLastError(nullptr));
  std::_Exit(1);
}

void Rank::wait_for(int index, int value) const {
  const auto deadline = steady_clock::now() + patience;
  while (shared->steps[index].load() < value) {
    CHECK(steady_clock::now() < deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

ncclComm_t Rank::communicator() const {
  ncclComm_t made = nullptr;
  NCCL(ncclCommInitRank(&made, count, id, rank));
  return made;
}

CUstream stream() {
  CUstream made = nullptr;
  CUDA(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
  return made;
}

}  // namespace ranks

#ifdef __SANITIZE_ADDRESS__
// The driver keeps its objects in mapped memory, where the leak checker does not look for pointers.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libcuda.so.1\n";
}
#endif

int main(int argc, char** argv) {
  int exit_code = 0;
  if (ranks::is_rank(argc, argv, &exit_code)) return exit_code;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
