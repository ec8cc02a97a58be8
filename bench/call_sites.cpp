// The price of call sites (WEFT_CALL_SITES) for the thread that calls NCCL: a call that is wanted by nobody, and one
// whose stack is read, at a depth of some 20 frames. Python's part is in call_sites.py.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "runner/core/exception_tables.h"
#include "runner/sites/call_samples.h"
#include "shim/main_job/call_sites.h"

namespace weft {
std::atomic<GroupId> calls_wanted_from[most_devices];
}  // namespace weft

namespace {

constexpr int depth = 16;

const weft::StackReader& reader() {
  static weft::StackReader loaded;
  static const bool is_loaded = [] {
    weft::find_exception_tables_without_lock();
    return loaded.load("").empty();
  }();
  if (!is_loaded) std::abort();
  return loaded;
}

template <class Function>
[[gnu::noinline]] void at_depth(int frames, const Function& function) {
  if (frames == 0)
    function();
  else
    at_depth(frames - 1, function);
  benchmark::ClobberMemory();  // so that this is no tail call
}

// All that a group costs while none is wanted.
void not_wanted(benchmark::State& state) {
  weft::GroupId group = 0;
  for (auto _ : state) benchmark::DoNotOptimize(weft::is_call_wanted(0, ++group));
}
BENCHMARK(not_wanted);

void native_stack(benchmark::State& state) {
  const auto stack = std::make_unique<weft::CallStack>();
  at_depth(depth, [&] {
    for (auto _ : state) reader().read(*stack);
  });
  state.counters["frames"] = stack->frames;
}
BENCHMARK(native_stack);

// The first one of a thread.
void first_native_stack(benchmark::State& state) {
  for (auto _ : state) {
    std::thread([&] {
      const auto stack = std::make_unique<weft::CallStack>();
      const auto begin = std::chrono::steady_clock::now();
      at_depth(depth, [&] { reader().read(*stack); });
      state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }).join();
  }
}
BENCHMARK(first_native_stack)->UseManualTime()->Iterations(50);

}  // namespace
