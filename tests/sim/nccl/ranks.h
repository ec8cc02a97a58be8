// Runs a scenario in several processes, one per rank, each with a simulated GPU of its own: the test program starts
// itself again. Everything has a deadline; when it passes, or when one rank fails, all are killed.
#ifndef TESTS_SIM_NCCL_RANKS_H
#define TESTS_SIM_NCCL_RANKS_H

#include <cuda.h>
#include <nccl.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ranks {

// Memory shared by the ranks of one run, zero at first.
struct Shared {
  std::atomic<int> steps[16];
  std::atomic<int> process[16];
  char bytes[NCCL_UNIQUE_ID_BYTES];  // from one rank to the others, ordered by a step
};

// One rank's process.
struct Rank {
  int rank = 0;
  int count = 0;
  ncclUniqueId id{};
  Shared* shared = nullptr;
  CUcontext context = nullptr;

  // Waits, with the deadline of the run, until somebody has made step `index` at least `value`.
  void wait_for(int index, int value) const;
  void tell(int index, int value = 1) const { shared->steps[index].store(value); }

  ncclComm_t communicator() const;  // of all ranks
};

using Scenario = void (*)(Rank&);
struct Registration {
  Registration(const char* name, Scenario scenario);
};

// The result of a run.
struct Outcome {
  bool finished = false;          // no deadline passed and every rank ended as it should
  std::vector<std::string> logs;  // by rank: what the simulated GPU wrote, one JSON object per line
};

struct Options {
  int count = 2;
  std::map<std::string, std::string> environment = {};
  int killed = -1;  // a rank that ends by SIGKILL
  bool log = false;
};
Outcome run(const std::string& scenario, const Options& options);

// In main(): runs the scenario when this process is a rank; otherwise returns false.
bool is_rank(int argc, char** argv, int* exit_code);

[[noreturn]] void failed(const char* file, int line, const char* what, long long got);

// A buffer on the device, which the host can read and write.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t size, T value = T{}) : size_(size) {
    if (cuMemAlloc(&memory_, std::max<size_t>(1, size) * sizeof(T)) != CUDA_SUCCESS) std::abort();
    std::fill(begin(), end(), value);
  }
  ~Buffer() { cuMemFree(memory_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() const { return reinterpret_cast<T*>(memory_); }
  T* begin() const { return data(); }
  T* end() const { return data() + size_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) const { return data()[i]; }

 private:
  CUdeviceptr memory_ = 0;
  size_t size_;
};

CUstream stream();  // a new non-blocking one

}  // namespace ranks

#define SCENARIO(name)                                                          \
  static void scenario_##name(ranks::Rank& self);                               \
  static const ranks::Registration registration_##name(#name, scenario_##name); \
  static void scenario_##name([[maybe_unused]] ranks::Rank& self)

// In a rank: ends the process with a message when the condition does not hold.
#define CHECK(condition) \
  if (!(condition)) ranks::failed(__FILE__, __LINE__, #condition, 0)
#define CHECK_EQ(a, b)                       \
  if (const auto got_ = (a); !(got_ == (b))) \
  ranks::failed(__FILE__, __LINE__, #a " == " #b, static_cast<long long>(got_))
#define NCCL(call) CHECK_EQ(call, ncclSuccess)
#define CUDA(call) CHECK_EQ(call, CUDA_SUCCESS)

#endif
