// See scenarios.h. A scenario depends on the seed and its number alone.
#include "bench/policy/scenarios.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "bench/policy/cases.h"
#include "trace/formatted.h"

namespace weft::bench {
namespace {

using model::Simulation;
using pipeline::Change;

constexpr int scenarios = 200;
constexpr int iterations = 800;
constexpr double exact = 1e-9;  // slowdowns that differ by less are equal

class Random {
 public:
  Random(std::uint64_t seed, int scenario) : engine_(seed * 1'000'003 + static_cast<std::uint64_t>(scenario)) {}
  // The standard's distributions differ from library to library.
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
  }
  double log_between(double low, double high) { return std::exp(between(std::log(low), std::log(high))); }
  int whole(int low, int high) {
    return low + static_cast<int>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool once_in(int times) { return whole(1, times) == 1; }
  template <class List>
  auto one_of(const List& list) {
    return list[static_cast<std::size_t>(whole(0, static_cast<int>(std::size(list)) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

Duration milliseconds(double number) {
  return Duration{std::llround(1e6 * number)};
}

void add_changes(Random& random, pipeline::WorldOptions& world) {
  if (random.once_in(2)) world.drift = random.between(-1e-4, 1e-4);
  for (int steps = random.whole(0, 2); steps > 0; --steps)
    world.changes.push_back(
        {.first = random.whole(50, iterations), .count = iterations, .factor = random.between(0.8, 1.25)});
  for (int stragglers = random.whole(0, 2); stragglers > 0; --stragglers)
    world.changes.push_back({.first = random.whole(20, iterations),
                             .count = random.whole(10, 100),
                             .place = random.whole(0, world.schedule.ranks - 1),
                             .factor = random.between(1.05, 1.4)});
  if (random.once_in(2))
    world.changes.push_back({.first = random.whole(20, 100),
                             .count = iterations,
                             .every = random.whole(50, 200),
                             .stall = milliseconds(random.log_between(50, 2000))});
}

Case scenario_of(const TableOptions& table, int number) {
  Random random(table.seed, number);
  Case made =
      case_of(table, random.one_of(std::vector<std::string>{"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v"}), 4);
  model::SimulationOptions& options = made.options;
  options.slowdown_budget = random.one_of(std::vector<double>{0, 0.001, 0.003, 0.01, 0.03});
  options.run.warm_up = 0;
  pipeline::WorldOptions& world = options.run.world;
  world.iterations = iterations;
  world.schedule.microbatches = 4 * random.whole(1, 3);
  world.forward = milliseconds(random.log_between(1, 30));
  world.input_gradient = world.forward * random.whole(8, 12) / 10;
  world.weight_gradient = world.forward * random.whole(8, 12) / 10;
  world.jitter = random.log_between(0.003, 0.15);
  // That fill work costs besides: bandwidth, clocks, caches.
  world.interference = random.once_in(3) ? 0 : random.log_between(0.001, 0.1);
  world.seed = table.seed + static_cast<std::uint64_t>(number);
  add_changes(random, world);
  return made;
}

// The second half costs more than the upper end of the 95 % interval that Weft reports after it. Its control
// iterations, one in fifteen, cost nothing, and the report is of the others.
bool is_above_report(const Simulation& result) {
  return result.reported && result.reported->is_known() && result.late_slowdown > result.reported->high + exact;
}

std::string interval_of(const std::optional<SlowdownRecord>& reported) {
  return reported ? formatted("%+.3f to %+.3f %%", 100 * reported->low, 100 * reported->high) : "nothing";
}

// Of the scenarios with one budget.
struct Kept {
  int count = 0, above = 0, above_late = 0, above_twice = 0, reports = 0, above_report = 0, unknown = 0, stopped = 0;
  double most = 0, most_late = 0, conversion = 0, without_budget = 0;

  void add(const Simulation& result, double budget, const Simulation& unlimited) {
    ++count;
    above += result.slowdown > budget + exact;
    above_late += result.late_slowdown > budget + exact;
    above_twice += result.slowdown > 2 * budget + exact;
    reports += result.reported && result.reported->is_known();
    unknown += result.reported && !result.reported->is_known();
    above_report += is_above_report(result);
    stopped += result.stopped > 0;
    most = std::max(most, result.slowdown);
    most_late = std::max(most_late, result.late_slowdown);
    conversion += result.conversion_of_all;
    without_budget += unlimited.conversion_of_all;
  }
};

}  // namespace

void print_scenarios(const TableOptions& options) {
  std::vector<Case> cases, unlimited;
  for (int number = 0; number < scenarios; ++number) {
    cases.push_back(scenario_of(options, number));
    unlimited.push_back(cases.back());
    unlimited.back().options.slowdown_budget = Budget::unlimited;
  }
  const std::vector<Simulation> kept = simulate_all(cases, options.threads);
  const std::vector<Simulation> free = simulate_all(unlimited, options.threads);
  std::printf(
      "| budget | scenarios | above it | above it in the second half | above twice | most | most in the second half | "
      "above the reported interval | reported as unknown | filled | without a budget | filling stopped |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const double budget : {0.0, 0.001, 0.003, 0.01, 0.03}) {
    Kept sum;
    for (std::size_t i = 0; i < cases.size(); ++i)
      if (cases[i].options.slowdown_budget == budget) sum.add(kept[i], budget, free[i]);
    std::printf("| %g %% | %d | %d | %d | %d | %+.3f %% | %+.3f %% | %d of %d | %d | %.3f | %.3f | %d |\n",
                100 * budget, sum.count, sum.above, sum.above_late, sum.above_twice, 100 * sum.most,
                100 * sum.most_late, sum.above_report, sum.reports, sum.unknown,
                sum.conversion / std::max(1, sum.count), sum.without_budget / std::max(1, sum.count), sum.stopped);
  }
  std::printf(
      "\nAbove their budget or what is reported:\n\n"
      "| scenario | schedule | forward | jitter | interference | budget | slowdown | in the second half | reported | "
      "without a budget |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const model::SimulationOptions& one = cases[i].options;
    if (kept[i].slowdown <= one.slowdown_budget + exact && !is_above_report(kept[i])) continue;
    const pipeline::WorldOptions& world = one.run.world;
    std::printf("| %zu | %s | %.2f ms | %.2f %% | %.2f %% | %g %% | %+.3f %% | %+.3f %% | %s | %+.3f %% |\n", i,
                cases[i].schedule.c_str(), static_cast<double>(world.forward.count()) / 1e6, 100 * world.jitter,
                100 * world.interference, 100 * one.slowdown_budget, 100 * kept[i].slowdown,
                100 * kept[i].late_slowdown, interval_of(kept[i].reported).c_str(), 100 * free[i].slowdown);
  }
}

}  // namespace weft::bench
