// Cost of a Session: of each event, of each look, and of each decision, less what the clock itself takes. The events
// are those of one rank of a pipeline in virtual time. After the first iterations it must not allocate: the benchmark
// counts.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <vector>

#include "runner/policy/session.h"
#include "sim/pipeline/world.h"

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

// Of the rank in the middle, without fill work.
class Listener final : public weft::pipeline::Watcher {
 public:
  explicit Listener(int rank) : rank_(rank) {}
  void saw(int rank, const weft::Event& event) override {
    if (rank == rank_) events.push_back(event);
  }
  void woken(int, weft::TimePoint) override {}
  void computed(int, const weft::pipeline::Span&) override {}
  std::vector<weft::Event> events;

 private:
  const int rank_;
};

std::vector<weft::Event> events_of(weft::pipeline::Schedule schedule) {
  weft::pipeline::WorldOptions options;
  options.schedule = {schedule, 8, 16};
  options.iterations = 120;
  options.jitter = 0.05;
  Listener listener(4);
  weft::pipeline::World world(options, listener);
  world.run();
  return listener.events;
}

struct NoSink final : weft::RecordSink {
  void push(const weft::Record&) noexcept override {}
};

weft::FillView view_of(std::uint32_t in_flight, weft::TimePoint now) {
  weft::FillView view;
  view.ready = in_flight < 2;
  view.candidates.alone = {25us, 75us, 300us};
  view.candidates.count = 3;
  view.in_flight.slices = in_flight;
  if (in_flight == 0) return view;
  view.in_flight.oldest_launched = now - 100us;
  view.in_flight.oldest_alone = 300us;
  view.in_flight.first_ends = view.in_flight.expected_end = now + 200us;
  return view;
}

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
  const std::vector<weft::Event> events = events_of(schedule);
  const std::size_t taught = events.size() / 5;
  std::uint64_t allocated = 0, decisions = 0;
  for (auto _ : state) {
    NoSink sink;
    weft::SessionOptions options;
    options.fills = true;
    options.slowdown_budget = 0.01;
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
      const weft::FillView seen = view_of(0, now);
      const Clock::time_point looks = Clock::now();
      session.look(now, seen);
      if (i >= taught && part == Part::look) spent += Clock::now() - looks - clock;
      if (part != Part::decide || !session.bubble_is_open()) continue;
      const weft::FillView alone = view_of(0, now), behind = view_of(1, now);
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
