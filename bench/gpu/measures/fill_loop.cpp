// fill_loop: runs a fill job all the time in a process of its own, for the baselines "time slicing" and "MPS", and for
// what a unit takes on the idle GPU.
//
//   fill_loop JOB REPORT SECONDS [DEVICE] [MEMORY_BYTES]
//
// Started by frontier.py and mps.py. Single thread; ends SECONDS after its first unit began, at SIGTERM, or when its
// parent does.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "continuous_fill.h"

namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // set by a signal handler

void request_stop(int) {
  stop.store(true);
}

}  // namespace

int main(int count, char** values) {
  if (count < 4) {
    std::fprintf(stderr, "usage: fill_loop JOB REPORT SECONDS [DEVICE] [MEMORY_BYTES]\n");
    return 2;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  std::signal(SIGTERM, &request_stop);
  std::signal(SIGALRM, &request_stop);
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  const auto initialise =
      driver == nullptr ? nullptr : reinterpret_cast<decltype(&::cuInit)>(::dlsym(driver, "cuInit"));
  if (initialise == nullptr || initialise(0) != CUDA_SUCCESS) {
    std::fprintf(stderr, "fill_loop: there is no GPU\n");
    return 77;
  }
  measures::ContinuousFill fill;
  fill.job = values[1];
  fill.report = values[2];
  fill.device = count > 4 ? std::atoi(values[4]) : 0;
  fill.memory = count > 5 ? std::strtoull(values[5], nullptr, 10) : std::uint64_t{256} << 20U;
  const auto seconds = static_cast<unsigned>(std::atoi(values[3]));
  const std::string error = measures::run(fill, driver, stop, [seconds] { ::alarm(seconds); });
  if (!error.empty()) std::fprintf(stderr, "fill_loop: %s\n", error.c_str());
  return error.empty() ? 0 : 1;
}
