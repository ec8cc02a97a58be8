// Cost of the detector per event in steady state: the rhythm is known, one long iteration after the other. With periods
// all of them are alike, with bounds they are not.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "detector/detector.h"
#include "sim/pipeline/pipelines.h"

namespace {

// One rank of a 1F1B pipeline with about so many groups in an iteration; three iterations teach the rhythm.
void observe(benchmark::State& state, std::int64_t period, bool alike) {
  weft::testing::PipelineOptions options;
  options.microbatches = static_cast<int>(period / 2);
  options.iterations = 5;
  if (!alike)
    for (const int more : {0, 3, 1, 4, 2}) options.microbatch_counts.push_back(options.microbatches + more);
  const weft::testing::Timeline timeline = weft::testing::simulate(options)[1];
  weft::Detector detector;
  std::size_t next = 0;
  weft::Duration later{};
  weft::GroupId more = 0;
  weft::GroupId groups = 0;
  for (const weft::Event& event : timeline.events) groups = std::max(groups, event.group);
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

BENCHMARK_CAPTURE(observe, period_30, 30, true);
BENCHMARK_CAPTURE(observe, period_1000, 1000, true);
BENCHMARK_CAPTURE(observe, period_10000, 10000, true);
BENCHMARK_CAPTURE(observe, bounds_30, 30, false);
BENCHMARK_CAPTURE(observe, bounds_1000, 1000, false);
BENCHMARK_CAPTURE(observe, bounds_10000, 10000, false);

}  // namespace
