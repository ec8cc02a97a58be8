// The price of a marker on a blocked stream of the simulated GPU.
// It must stay well below what the shim itself costs, or measurements on the simulator say nothing about the shim.
#include <benchmark/benchmark.h>
#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr int batch = 4096;

void check(CUresult result) {
  if (result != CUDA_SUCCESS) std::abort();
}

// A stream that waits for a word, which release() writes.
class BlockedStream {
 public:
  BlockedStream() {
    static const bool ready = [] {
      CUcontext context = nullptr;
      check(cuInit(0));
      check(cuDevicePrimaryCtxRetain(&context, 0));
      check(cuCtxSetCurrent(context));
      return true;
    }();
    static_cast<void>(ready);
    void* memory = nullptr;
    check(cuMemHostAlloc(&memory, 4096, 0));
    words_ = new (memory) std::atomic<uint32_t>[4] {};
    check(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    check(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING));
  }
  ~BlockedStream() {
    cuStreamDestroy(stream_);
    cuEventDestroy(event_);
    cuMemFreeHost(words_);
  }
  void block() {
    words_[0] = 0;
    check(cuStreamWaitValue32(stream_, address(0), 1, CU_STREAM_WAIT_VALUE_EQ));
  }
  void release() {
    words_[0] = 1;
    check(cuStreamSynchronize(stream_));
  }
  CUdeviceptr address(int index) const { return reinterpret_cast<CUdeviceptr>(words_ + index); }
  CUstream stream() const { return stream_; }
  CUevent event() const { return event_; }

 private:
  std::atomic<uint32_t>* words_ = nullptr;
  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
};

template <class Call>
void enqueue(benchmark::State& state, Call call) {
  BlockedStream blocked;
  for (int warm = 0; warm < 2; ++warm) {  // fills the pools
    blocked.block();
    for (int count = 0; count < batch; ++count) call(blocked);
    blocked.release();
  }
  blocked.block();
  int count = 0;
  for (auto _ : state) {
    call(blocked);
    if (++count < batch) continue;
    state.PauseTiming();
    blocked.release();
    blocked.block();
    count = 0;
    state.ResumeTiming();
  }
  blocked.release();
}

void write_value(benchmark::State& state) {
  enqueue(state, [](BlockedStream& to) { check(cuStreamWriteValue32(to.stream(), to.address(1), 1, 0)); });
}
BENCHMARK(write_value);

void event_record(benchmark::State& state) {
  enqueue(state, [](BlockedStream& to) { check(cuEventRecord(to.event(), to.stream())); });
}
BENCHMARK(event_record);

void event_query(benchmark::State& state) {
  BlockedStream blocked;
  blocked.block();
  check(cuEventRecord(blocked.event(), blocked.stream()));
  for (auto _ : state) benchmark::DoNotOptimize(cuEventQuery(blocked.event()));
  blocked.release();
}
BENCHMARK(event_query);

}  // namespace
