// Ranks of NCCL that share the first GPU, one process each: NCCL allows that when each claims to be another host, and
// connects them over sockets of the loopback device.
//
// Ranks is used on the main thread of the probe, Rank on that of each rank's process (a part of the probe). A rank that
// hangs is killed, with its group; NCCL is opened when it is needed, as the driver is.
#pragma once

#include <nccl.h>

#include <chrono>
#include <string>
#include <vector>

#include "children.h"
#include "gpu.h"

namespace probe {

struct Nccl {
#define PROBE_NCCL_FUNCTIONS(FUNCTION) \
  FUNCTION(ncclGetVersion)             \
  FUNCTION(ncclGetUniqueId)            \
  FUNCTION(ncclCommInitRank)           \
  FUNCTION(ncclGetErrorString)         \
  FUNCTION(ncclSend)                   \
  FUNCTION(ncclRecv)                   \
  FUNCTION(ncclAllReduce)              \
  FUNCTION(ncclCommAbort)
#define FUNCTION(name) decltype(&::name) name = nullptr;
  PROBE_NCCL_FUNCTIONS(FUNCTION)
#undef FUNCTION
};
// Throws Skipped where there is no libnccl.so.2.
const Nccl& nccl();
void check(ncclResult_t result, const char* file = __builtin_FILE(), int line = __builtin_LINE());

// Starts `count` ranks as parts {"rank", number, count, id, task}; `environment` comes on top of what NCCL needs.
class Ranks {
 public:
  Ranks(int count, const std::string& task, const Environment& environment = {});
  ~Ranks();  // kills those that still run
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  // The numbers that rank 0 printed. To be asked once. Where it was too slow since another rank had failed, that rank's
  // reason is thrown.
  std::vector<double> numbers_of_first();

 private:
  std::vector<Child> children_;
};

// For probes with ranks. Starting them may take long: a context each, and an NCCL of 200 MB from a cold disk. Only
// three experiments and the daemon's start and end fit into that.
inline constexpr std::chrono::milliseconds longest_probe_with_ranks{70'000};

// In a rank's process.
class Rank {
 public:
  explicit Rank(const std::vector<std::string>& part);
  void connect();  // waits for all ranks
  int number() const { return number_; }
  int count() const { return count_; }
  const std::string& task() const { return task_; }
  CUstream stream() const { return stream_; }
  CUdeviceptr buffer() const { return buffer_; }
  void send(std::size_t bytes, int to) const;
  void receive(std::size_t bytes, int from) const;
  void all_reduce(std::size_t bytes) const;
  void abort();  // ends what it waits for
  // For all but rank 0, when nothing is left to do: a rank that ended would be an error for the others. Does not
  // return.
  [[noreturn]] static void stay();

  static constexpr std::size_t buffer_bytes = std::size_t{8} << 20;

 private:
  int number_, count_;
  std::string id_, task_;
  CUstream stream_ = nullptr;
  CUdeviceptr buffer_ = 0;
  ncclComm_t communicator_ = nullptr;
};

// The daemon of the Multi-Process Service, for this probe alone: its own folder, ended with the object.
class Mps {
 public:
  Mps();
  ~Mps();
  Mps(const Mps&) = delete;
  Mps& operator=(const Mps&) = delete;
  bool runs() const { return runs_; }
  const std::string& why_not() const { return why_not_; }
  Environment environment() const;

 private:
  std::string folder_, why_not_;
  std::vector<Child> daemon_;
  bool runs_ = false;
};

}  // namespace probe
