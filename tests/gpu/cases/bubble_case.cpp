// A main job in one process whose bubbles have exactly known lengths: compute kernels that take their time by the
// clock, and receives of the stand-in NCCL. It knows nothing of Weft; run_case.py runs it with and without, and
// compares.
//
// One thread. Each iteration: for every length a kernel of work, a receive of that length and the wait for it in one of
// five ways; then a collective, and the host waits. All memory is allocated before the communicator is used. Writes a
// JSON report: what the streams computed, and by the GPU's clock (moved to CLOCK_MONOTONIC) every idle time that there
// was and how late the next kernel came. The exit code is 77 when there is no device.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bubble_kernels.h"
#include "stand_in/stand_in.h"

namespace {

using Json = nlohmann::ordered_json;
using bubble_case::Stamp;
using bubble_case::word_count;

enum class Wait { event, early, in_stream, host, two_streams };

struct Options {
  Wait wait = Wait::event;
  std::vector<double> lengths{20, 35};  // ms
  double work = 3;                      // ms
  int iterations = 24;
  int shorten_at = 0;
  bool abort = false;
  std::string report;
};

[[noreturn]] void fail(const char* call, const char* why) {
  std::fprintf(stderr, "bubble_case: %s failed: %s\n", call, why);
  std::_Exit(1);
}
void check(cudaError_t result, const char* call) {
  if (result != cudaSuccess) fail(call, cudaGetErrorString(result));
}
void check(ncclResult_t result, const char* call) {
  if (result != ncclSuccess) fail(call, ncclGetErrorString(result));
}
#define CHECK(call) check((call), #call)

std::int64_t host_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

template <class T>
T* device_array(std::size_t count) {
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, count * sizeof(T)));
  CHECK(cudaMemset(memory, 0, count * sizeof(T)));
  return static_cast<T*>(memory);
}
template <class T>
T* pinned_array(std::size_t count) {
  void* memory = nullptr;
  CHECK(cudaMallocHost(&memory, count * sizeof(T)));
  return static_cast<T*>(memory);
}

class MainJob {
 public:
  explicit MainJob(const Options& options)
      : options_(options),
        streams_(options.wait == Wait::two_streams ? 2 : 1),
        stamps_per_stream_(options.lengths.size() + 1) {
    for (std::size_t s = 0; s < streams_; ++s) {
      CHECK(cudaStreamCreateWithFlags(&compute_[s], cudaStreamNonBlocking));
      data_[s] = device_array<std::uint32_t>(word_count);
    }
    CHECK(cudaStreamCreateWithFlags(&communication_, cudaStreamNonBlocking));
    for (cudaEvent_t* event : {&ready_[0], &ready_[1], &done_})
      CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    received_ = device_array<std::uint32_t>(word_count);
    const std::size_t stamps = static_cast<std::size_t>(options.iterations) * streams_ * stamps_per_stream_;
    stamps_ = device_array<Stamp>(stamps);
    host_stamps_.resize(stamps);
    clock_ = pinned_array<std::int64_t>(1);
    CHECK(cudaDeviceSynchronize());
    ncclUniqueId id;
    CHECK(ncclGetUniqueId(&id));
    CHECK(ncclCommInitRank(&communicator_, 2, id, 0));
  }

  void run() {
    offset_ = clock_offset();
    for (int i = 0; i < options_.iterations; ++i) {
      const std::int64_t start = host_clock();
      iterate(i);
      seconds_.push_back(1e-9 * static_cast<double>(host_clock() - start));
      std::size_t free = 0, total = 0;
      CHECK(cudaMemGetInfo(&free, &total));
      free_memory_.push_back(free);
    }
    offset_end_ = clock_offset();
    if (options_.abort) abort_a_receive();
    finish();
  }

  Json report() const;

 private:
  Stamp* stamp(int iteration, std::size_t stream, std::size_t number) const {
    return stamps_ + place(iteration, stream, number);
  }
  std::size_t place(int iteration, std::size_t stream, std::size_t number) const {
    return (static_cast<std::size_t>(iteration) * streams_ + stream) * stamps_per_stream_ + number;
  }
  double length_of(int iteration, std::size_t number) const {
    const bool shortened = options_.shorten_at > 0 && iteration >= options_.shorten_at;
    return options_.lengths[number] * (shortened ? 0.5 : 1.0);
  }

  // The GPU's clock subtracted from CLOCK_MONOTONIC: from the quickest of some questions.
  std::int64_t clock_offset() {
    std::int64_t best = 0, quickest = INT64_MAX;
    for (int i = 0; i < 20; ++i) {
      const std::int64_t before = host_clock();
      CHECK(bubble_case::read_clock(clock_, compute_[0]));
      CHECK(cudaStreamSynchronize(compute_[0]));
      const std::int64_t after = host_clock();
      if (after - before >= quickest) continue;
      quickest = after - before;
      best = before + (after - before) / 2 - *clock_;
    }
    return best;
  }

  void work(int iteration, std::size_t number) {
    for (std::size_t s = 0; s < streams_; ++s) {
      // The second stream works longer: the GPU idles only when both wait.
      const double milliseconds = options_.work * (s == 0 ? 1 : 2);
      CHECK(bubble_case::work(
          {data_[s], received_, stamp(iteration, s, number), static_cast<std::int64_t>(1e6 * milliseconds)},
          compute_[s]));
    }
  }

  // The communication stream goes on when the compute streams have come to here: what they read is overwritten.
  void communication_follows() {
    for (std::size_t s = 0; s < streams_; ++s) {
      CHECK(cudaEventRecord(ready_[s], compute_[s]));
      CHECK(cudaStreamWaitEvent(communication_, ready_[s], 0));
    }
  }
  void compute_follows() {
    CHECK(cudaEventRecord(done_, communication_));
    for (std::size_t s = 0; s < streams_; ++s) CHECK(cudaStreamWaitEvent(compute_[s], done_, 0));
  }
  void receive(int iteration, std::size_t number, cudaStream_t stream) {
    stand_in_next_receive(static_cast<std::int64_t>(1e6 * length_of(iteration, number)));
    // Of its own size each, so that the receives of one iteration are told apart.
    CHECK(ncclRecv(received_, static_cast<std::size_t>(word_count) - number, ncclUint32, 1, communicator_, stream));
  }

  void work_and_receive(int iteration, std::size_t number) {
    if (options_.wait == Wait::early) {  // posted before the work, which does not touch what is received
      communication_follows();
      receive(iteration, number, communication_);
      CHECK(bubble_case::work(
          {data_[0], data_[0], stamp(iteration, 0, number), static_cast<std::int64_t>(1e6 * options_.work)},
          compute_[0]));
      return compute_follows();
    }
    work(iteration, number);
    if (options_.wait == Wait::in_stream) return receive(iteration, number, compute_[0]);
    communication_follows();
    receive(iteration, number, communication_);
    if (options_.wait == Wait::host)
      CHECK(cudaDeviceSynchronize());
    else
      compute_follows();
  }

  void iterate(int iteration) {
    for (std::size_t number = 0; number < options_.lengths.size(); ++number) work_and_receive(iteration, number);
    work(iteration, options_.lengths.size());
    const cudaStream_t stream = options_.wait == Wait::in_stream ? compute_[0] : communication_;
    if (stream == communication_) communication_follows();
    CHECK(ncclAllReduce(received_, received_, 1, ncclUint32, ncclSum, communicator_, stream));
    if (stream == communication_) compute_follows();
    for (std::size_t s = 0; s < streams_; ++s) CHECK(cudaStreamSynchronize(compute_[s]));
  }

  // A peer that never sends: the main job gives the communicator up.
  void abort_a_receive() {
    stand_in_next_receive(8'000'000'000);
    const std::int64_t start = host_clock();
    CHECK(ncclRecv(received_, word_count, ncclUint32, 1, communicator_, communication_));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(ncclCommAbort(communicator_));
    communicator_ = nullptr;
    CHECK(cudaStreamSynchronize(communication_));
    abort_seconds_ = 1e-9 * static_cast<double>(host_clock() - start);
  }

  void finish() {
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host_stamps_.data(), stamps_, host_stamps_.size() * sizeof(Stamp), cudaMemcpyDeviceToHost));
    result_.resize(streams_ * word_count);
    for (std::size_t s = 0; s < streams_; ++s)
      CHECK(cudaMemcpy(result_.data() + s * word_count, data_[s], word_count * sizeof(std::uint32_t),
                       cudaMemcpyDeviceToHost));
    if (communicator_ != nullptr) CHECK(ncclCommDestroy(communicator_));
  }

  Options options_;
  std::size_t streams_;
  std::size_t stamps_per_stream_;
  cudaStream_t compute_[2] = {};
  cudaStream_t communication_ = nullptr;
  cudaEvent_t ready_[2] = {};
  cudaEvent_t done_ = nullptr;
  ncclComm_t communicator_ = nullptr;
  std::uint32_t* data_[2] = {};
  std::uint32_t* received_ = nullptr;
  Stamp* stamps_ = nullptr;
  std::int64_t* clock_ = nullptr;
  std::vector<Stamp> host_stamps_;
  std::vector<std::uint32_t> result_;
  std::vector<double> seconds_;
  std::vector<std::size_t> free_memory_;
  std::int64_t offset_ = 0, offset_end_ = 0;
  double abort_seconds_ = 0;
};

Json MainJob::report() const {
  const stand_in_record* records = nullptr;
  const std::size_t known = stand_in_records(&records),
                    expected = static_cast<std::size_t>(options_.iterations) * options_.lengths.size();
  if (known < expected) fail("the case", "receives are missing");
  Json bubbles = Json::array();
  for (int i = 0; i < options_.iterations; ++i) {
    // The two clocks drift apart; in between, linearly.
    const std::int64_t offset = offset_ + (offset_end_ - offset_) * i / options_.iterations;
    for (std::size_t number = 0; number < options_.lengths.size(); ++number) {
      const stand_in_record& record = records[static_cast<std::size_t>(i) * options_.lengths.size() + number];
      std::int64_t opened = 0, next = 0;
      for (std::size_t s = 0; s < streams_; ++s) {
        opened = std::max(opened, static_cast<std::int64_t>(host_stamps_[place(i, s, number)].end));
        next = std::max(next, static_cast<std::int64_t>(host_stamps_[place(i, s, number + 1)].last_start));
      }
      bubbles.push_back({{"iteration", i},
                         {"number", number},
                         {"asked_ns", static_cast<std::int64_t>(1e6 * length_of(i, number))},
                         {"received_ns", record.ended - record.started},
                         {"opened", opened + offset},
                         {"closed", record.ended + offset},
                         {"next_late_ns", next - record.ended}});
    }
  }
  std::uint64_t checksum = 14695981039346656037U;  // FNV-1a
  for (const std::uint32_t word : result_) checksum = (checksum ^ word) * 1099511628211U;
  cudaDeviceProp properties{};
  CHECK(cudaGetDeviceProperties(&properties, 0));
  const std::string name = properties.name;
  return {{"device", name},
          {"simulated", name.find("Simulated") != std::string::npos},
          {"checksum", std::to_string(checksum)},
          {"iteration_seconds", seconds_},
          {"free_memory", free_memory_},
          {"clock_drift_ns", offset_end_ - offset_},
          {"abort_seconds", options_.abort ? Json(abort_seconds_) : Json(nullptr)},
          {"bubbles", bubbles}};
}

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app("A main job with bubbles of exactly known length; see tests/gpu/cases/README.md", "bubble_case");
  const std::map<std::string, Wait> waits{{"event", Wait::event},
                                          {"early", Wait::early},
                                          {"in-stream", Wait::in_stream},
                                          {"host", Wait::host},
                                          {"two-streams", Wait::two_streams}};
  app.add_option("--wait", options.wait, "how compute waits: event, early, in-stream, host, two-streams")
      ->transform(CLI::CheckedTransformer(waits).description(""));
  app.add_option("--lengths", options.lengths, "of the receives of an iteration, in milliseconds")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--work", options.work, "length of each kernel of compute, in milliseconds")
      ->check(CLI::PositiveNumber);
  app.add_option("--iterations", options.iterations, "")->check(CLI::Range(1, 10000));
  app.add_option("--shorten-at", options.shorten_at, "from this iteration on every receive is half as long");
  app.add_flag("--abort", options.abort, "a last receive that never ends is aborted");
  app.add_option("--report", options.report, "file for the report")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "bubble_case: skipped: no CUDA device is here\n");
    return 77;
  }
  CHECK(cudaSetDevice(0));
  MainJob job(options);
  job.run();
  std::ofstream file(options.report);
  file << job.report().dump(1) << '\n';
  if (file.flush()) return 0;
  std::fprintf(stderr, "bubble_case: %s cannot be written\n", options.report.c_str());
  return 1;
}
