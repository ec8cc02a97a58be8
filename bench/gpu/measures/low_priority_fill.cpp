// low_priority_fill.so: the baseline "low-priority stream". Preloaded into a training process, it runs a fill job all
// the time on a stream of the lowest priority, without looking at bubbles.
//
// Set by frontier.py: BASELINE_FILL (the job, as in WEFT_FILL) and BASELINE_REPORT (folder of the report). A thread is
// started at load; it waits until the program itself has made a device's primary context, so launchers and shells stay
// as they are.
#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "continuous_fill.h"

namespace {

std::atomic<bool> stop{false};  // never set: the thread ends with the process

// The driver, once the program has loaded it and made a context; the device is left in `device`.
void* wait_for_context(int& device) {
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
    void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver == nullptr) continue;
    const auto count_devices = reinterpret_cast<decltype(&::cuDeviceGetCount)>(::dlsym(driver, "cuDeviceGetCount"));
    const auto get_state =
        reinterpret_cast<decltype(&::cuDevicePrimaryCtxGetState)>(::dlsym(driver, "cuDevicePrimaryCtxGetState"));
    int devices = 0;
    // Before the program's own cuInit this fails, and the handle is given back.
    if (count_devices(&devices) == CUDA_SUCCESS) {
      for (device = 0; device < devices; ++device) {
        unsigned flags = 0;
        int active = 0;
        if (get_state(device, &flags, &active) == CUDA_SUCCESS && active != 0) return driver;
      }
    }
    ::dlclose(driver);
  }
}

void fill_for_ever(const std::string& job, const std::string& directory) {
  measures::ContinuousFill fill;
  void* const driver = wait_for_context(fill.device);
  fill.job = job;
  fill.report = directory + "/units." + std::to_string(::getpid());
  fill.memory = std::uint64_t{256} << 20U;
  const std::string error = measures::run(fill, driver, stop);
  if (!error.empty()) std::fprintf(stderr, "low_priority_fill: %s\n", error.c_str());
}

__attribute__((constructor)) void start() {
  const char* const job = std::getenv("BASELINE_FILL");
  const char* const directory = std::getenv("BASELINE_REPORT");
  if (job != nullptr && directory != nullptr)
    std::thread(&fill_for_ever, std::string(job), std::string(directory)).detach();
}

}  // namespace
