// Cost of the detector per event in steady state: the rhythm is known, one long iteration after the other.
#include <benchmark/benchmark.h>

#include <vector>

#include "detector/detector.h"
#include "sim/pipeline/pipelines.h"

namespace {

// One rank of a 1F1B pipeline with about so many groups in an iteration; three iterations teach the rhythm.
void observe(benchmark::State& state, std::int64_t period) {
  weft::testing::PipelineOptions options;
  options.microbatches = static_cast<int>(period / 2);
  options.iterations = 5;
  const weft::testing::Timeline timeline = weft::testing::simulate(options)[1];
  weft::Detector detector;
  std::size_t next = 0;
  weft::Duration later{};
  weft::GroupId more = 0;
  const weft::GroupId groups = timeline.groups_per_iteration * static_cast<weft::GroupId>(options.iterations);
  const auto step = [&] {
    weft::Event event = timeline.events[next];
    event.time += later;
    if (event.group != 0) event.group += more;
    benchmark::DoNotOptimize(detector.observe(event).size());
    if (++next < timeline.events.size()) return;
    next = 0;
    more += groups;
    later += timeline.events.back().time.time_since_epoch();
  };
  for (std::size_t i = 0; i < timeline.events.size(); ++i) step();
  for (auto _ : state) step();
  state.counters["groups_per_iteration"] = timeline.groups_per_iteration;
}

BENCHMARK_CAPTURE(observe, period_30, 30);
BENCHMARK_CAPTURE(observe, period_1000, 1000);
BENCHMARK_CAPTURE(observe, period_10000, 10000);

}  // namespace
