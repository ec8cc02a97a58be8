// See process.h.
#include "process.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace trainer {
namespace {

using namespace std::chrono_literals;

struct Names {
  const char *rank, *ranks, *local_rank;
};
constexpr std::array launchers{
    Names{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    Names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    Names{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    Names{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

int number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

volatile std::sig_atomic_t stop_requested = 0;
void request_stop(int) {
  stop_requested = 1;
}

pid_t start_rank(int rank, int ranks, const std::string& rendezvous, char** argv) {
  const pid_t launcher = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a rank that waits in NCCL would spin without end without its launcher
  if (getppid() != launcher) _exit(1);
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
  setenv("TRAINER_RENDEZVOUS", rendezvous.c_str(), 1);
  execv("/proc/self/exe", argv);
  std::perror("trainer: cannot start a rank");
  _exit(1);
}

// Waits until a child ends or a stop was requested. Returns the child, or -1 after a signal.
pid_t wait_for_one(int* status) {
  while (stop_requested == 0) {
    const pid_t child = waitpid(-1, status, WNOHANG);
    if (child != 0) return child;
    std::this_thread::sleep_for(5ms);
  }
  return -1;
}

}  // namespace

std::string rendezvous_file() {
  if (const char* file = std::getenv("TRAINER_RENDEZVOUS")) return file;
  std::string job = std::to_string(getppid());
  for (const char* name : {"TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "SLURM_JOB_ID"})
    if (const char* id = std::getenv(name)) job = id;
  if (const char* port = std::getenv("MASTER_PORT")) job += std::string("-") + port;
  for (char& c : job)
    if (c == '/') c = '_';
  return (std::filesystem::temp_directory_path() / ("trainer-" + std::to_string(getuid()) + "-" + job)).string();
}

Place place_of_this_process() {
  for (const Names& names : launchers) {
    if (std::getenv(names.rank) == nullptr) continue;
    const int rank = number(names.rank, 0);
    return {rank, number(names.ranks, 1), number(names.local_rank, rank)};
  }
  return {};
}

std::vector<std::byte> share_from_rank_0(const Place& place, std::vector<std::byte> bytes) {
  const std::filesystem::path file = rendezvous_file();
  if (place.rank == 0) {
    const std::filesystem::path unfinished = file.string() + ".new";
    std::ofstream(unfinished, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    std::filesystem::rename(unfinished, file);
    return bytes;
  }
  const auto give_up = std::chrono::steady_clock::now() + 60s;
  while (!std::filesystem::exists(file)) {
    if (std::chrono::steady_clock::now() > give_up)
      throw std::runtime_error("rank 0 has not appeared in a minute (waiting for " + file.string() + ")");
    std::this_thread::sleep_for(5ms);
  }
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

int launch(int ranks, char** argv) {
  std::string directory = (std::filesystem::temp_directory_path() / "trainer-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) {
    std::perror("trainer: no directory for temporary files");
    return 1;
  }
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) children.push_back(start_rank(rank, ranks, directory + "/id", argv));
  int result = 0;
  std::size_t left = children.size();
  while (left > 0 && result == 0) {
    int status = 0;
    const pid_t child = wait_for_one(&status);
    if (child > 0) --left;
    if (child < 0)
      result = 130;
    else if (WIFSIGNALED(status))
      result = 128 + WTERMSIG(status);
    else
      result = WEXITSTATUS(status);
  }
  if (left > 0) {
    for (const pid_t child : children) kill(child, SIGKILL);
    while (waitpid(-1, nullptr, 0) > 0) {
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return result;
}

}  // namespace trainer
