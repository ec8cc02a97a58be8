// Cost of a Session: of each event, of each look, and of each decision, less what the clock itself takes. The events
// are those of one rank of a pipeline in virtual time. After the first iterations it must not allocate: the benchmark
// counts.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <vector>

#include "tests/runner/policy/rank_of_pipeline.h"

namespace {

std::atomic<std::uint64_t> allocations{0};

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using weft::testing::fill_view;

// The time that the two readings around something take by themselves.
Clock::duration clock_alone() {
  constexpr int times = 4096;
  Clock::duration sum{};
  for (int i = 0; i < times; ++i) {
    const Clock::time_point begin = Clock::now();
    sum += Clock::now() - begin;
  }
  return sum / times;
}

enum class Part { observe, look, decide };

// Each run takes all events, a look for each; the first fifth teaches.
void run(benchmark::State& state, weft::pipeline::Schedule schedule, Part part) {
  const std::vector<weft::Event> events = weft::testing::events_of_rank(schedule, 8);
  const std::size_t taught = events.size() / 5;
  std::uint64_t allocated = 0, decisions = 0;
  for (auto _ : state) {
    weft::testing::NoSink sink;
    weft::SessionOptions options;
    options.fills = true;
    options.slowdown_budget = 0.01;
    options.dark = true;
    weft::Session session(options, sink);
    Clock::duration spent{};
    const Clock::duration clock = clock_alone();
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (i == taught) allocated = allocations.load();
      const weft::TimePoint now = events[i].time + 1us;
      const Clock::time_point begin = Clock::now();
      session.observe(events[i]);
      session.looked(now);
      const Clock::time_point observed = Clock::now();
      if (i >= taught && part == Part::observe) spent += observed - begin - clock;
      const weft::FillView seen = fill_view(now, 0);
      const Clock::time_point looks = Clock::now();
      session.look(now, seen);
      if (i >= taught && part == Part::look) spent += Clock::now() - looks - clock;
      if (part != Part::decide || !session.bubble_is_open()) continue;
      const weft::FillView alone = fill_view(now, 0), behind = fill_view(now, 1);
      const Clock::time_point asked = Clock::now();
      for (int again = 0; again < 8; ++again) {
        benchmark::DoNotOptimize(session.decide(now, alone));
        benchmark::DoNotOptimize(session.decide(now, behind));
      }
      if (i >= taught) spent += Clock::now() - asked - clock, decisions += 16;
    }
    allocated = allocations.load() - allocated;
    state.SetIterationTime(std::chrono::duration<double>(spent).count());
  }
  const double all = part == Part::decide
                         ? static_cast<double>(decisions)
                         : static_cast<double>(state.iterations()) * static_cast<double>(events.size() - taught);
  constexpr const char* each[] = {"event", "look", "decision"};
  state.counters[each[static_cast<int>(part)]] =
      benchmark::Counter(all, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["allocations"] = static_cast<double>(allocated);
}

void observe(benchmark::State& state, weft::pipeline::Schedule schedule) {
  run(state, schedule, Part::observe);
}
void look(benchmark::State& state, weft::pipeline::Schedule schedule) {
  run(state, schedule, Part::look);
}
void decide(benchmark::State& state, weft::pipeline::Schedule schedule) {
  run(state, schedule, Part::decide);
}

using weft::pipeline::Schedule;
BENCHMARK_CAPTURE(observe, gpipe, Schedule::gpipe)->UseManualTime();
BENCHMARK_CAPTURE(observe, 1f1b, Schedule::one_f_one_b)->UseManualTime();
BENCHMARK_CAPTURE(observe, interleaved, Schedule::interleaved)->UseManualTime();
BENCHMARK_CAPTURE(observe, zb_h1, Schedule::zb_h1)->UseManualTime();
BENCHMARK_CAPTURE(look, gpipe, Schedule::gpipe)->UseManualTime();
BENCHMARK_CAPTURE(look, 1f1b, Schedule::one_f_one_b)->UseManualTime();
BENCHMARK_CAPTURE(look, interleaved, Schedule::interleaved)->UseManualTime();
BENCHMARK_CAPTURE(look, zb_h1, Schedule::zb_h1)->UseManualTime();
BENCHMARK_CAPTURE(decide, gpipe, Schedule::gpipe)->UseManualTime();
BENCHMARK_CAPTURE(decide, 1f1b, Schedule::one_f_one_b)->UseManualTime();
BENCHMARK_CAPTURE(decide, interleaved, Schedule::interleaved)->UseManualTime();
BENCHMARK_CAPTURE(decide, zb_h1, Schedule::zb_h1)->UseManualTime();

}  // namespace
