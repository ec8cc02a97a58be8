// Writes what ran on the GPUs of this process in the format of the simulator's log (sim/README.md), so that
// simgpu-truth reads runs on hardware and on the simulated GPU alike.
//
// Filled by cupti_truth.cpp on CUPTI's thread, written once at exit. Pure apart from the one function that writes;
// knows no CUPTI. A launch is known by its correlation number, and its thread only by another record, which may come
// later: so nothing is written before everything is known.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace measures {

class TruthLog {
 public:
  enum class Kind : std::uint8_t { kernel, host_to_device, device_to_host, within_device, set };

  struct Work {
    Kind kind = Kind::kernel;
    std::uint32_t name = 0;  // number that name() gave; kernels only
    std::uint32_t device = 0, stream = 0;
    std::uint32_t correlation = 0;      // of the call that launched it
    std::int64_t start = 0, end = 0;    // CLOCK_MONOTONIC, nanoseconds
    std::uint64_t blocks_or_bytes = 0;  // blocks of a kernel, bytes of the others
  };

  // The number of a kernel's name, mangled or not.
  std::uint32_t name(const char* kernel);
  void add(const Work& work) { work_.push_back(work); }
  // The call with this correlation number was made on a thread of that name.
  void call(std::uint32_t correlation, const std::string& thread) { threads_[correlation] = thread; }
  std::size_t size() const { return work_.size(); }

  // One file per device, gpu<device>.<process>.jsonl. False when one could not be written.
  bool write(const std::string& directory, std::int64_t process) const;

 private:
  std::vector<Work> work_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::unordered_map<std::uint32_t, std::string> threads_;
};

// "ncclDevKernel_SendRecv" from a mangled name with its parameters; an unmangled name stays.
std::string plain_kernel_name(const char* kernel);

}  // namespace measures
