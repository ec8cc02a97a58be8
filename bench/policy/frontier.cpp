// See frontier.h. The settings of the other systems are those of docs/bench.md, and some around them.
#include "bench/policy/frontier.h"

#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "bench/policy/cases.h"

namespace weft::bench {
namespace {

using model::Simulation;

struct Setting {
  const char* policy;
  const char* text;
  std::optional<double> knob;
};

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all{{"weft", "budget 0 %", 0},
                                        {"weft", "budget 0.003 %", 0.00003},
                                        {"weft", "budget 0.01 %", 0.0001},
                                        {"weft", "budget 0.03 %", 0.0003},
                                        {"weft", "budget 0.1 %", 0.001},
                                        {"weft", "budget 0.3 %", 0.003},
                                        {"weft", "budget 1 %", 0.01},
                                        {"weft", "budget 3 %", 0.03},
                                        {"weft", "no budget", Budget::unlimited},
                                        {"first-planner", "guard 1 ms", 1e-3},
                                        {"first-planner", "guard 0.3 ms", 0.3e-3},
                                        {"first-planner", "guard 0.1 ms", 0.1e-3},
                                        {"pipefill", "25 % of a bubble", 0.25},
                                        {"pipefill", "50 % of a bubble", 0.5},
                                        {"pipefill", "68 % of a bubble", 0.68},
                                        {"pipefill", "85 % of a bubble", 0.85},
                                        {"pipefill", "100 % of a bubble", 1},
                                        {"freeride", "reserve 2 steps", 2},
                                        {"freeride", "reserve 1.2 steps", 1.2},
                                        {"freeride", "reserve 1 step", 1},
                                        {"gating", "looks every 0.1 ms", 100e-6},
                                        {"mps", "5 % of the threads", 0.05},
                                        {"mps", "10 % of the threads", 0.1},
                                        {"mps", "25 % of the threads", 0.25},
                                        {"mps", "100 % of the threads", 1},
                                        {"low-priority", "1 kernel in a piece", 1},
                                        {"low-priority", "10 kernels in a piece", 10},
                                        {"low-priority", "100 kernels in a piece", 100}};
  return all;
}

struct Pipeline {
  const char* name;
  const char* schedule;
  Duration forward;
};
constexpr Pipeline pipelines[]{{"1F1B, 10 ms", "1f1b", Duration{10'000'000}},
                               {"DualPipeV, 2 ms", "dualpipev", Duration{2'000'000}}};
constexpr double interferences[]{0, 0.02};
// Iterations that do not count: a slowdown budget is kept by measuring, which takes some.
constexpr int learning = 200;

struct Point {
  const Pipeline* pipeline;
  double interference;
  const Setting* setting;
};

Case case_of_point(const TableOptions& table, const Point& point) {
  Case made = case_of(table, point.pipeline->schedule, 8);
  pipeline::WorldOptions& world = made.options.run.world;
  world.iterations = 2 * learning;
  made.options.run.warm_up = learning;
  world.forward = world.input_gradient = world.weight_gradient = point.pipeline->forward;
  world.optimizer = point.pipeline->forward / 2;
  world.interference = point.interference;
  made.options.policy = point.setting->policy;
  if (made.options.policy == "weft")
    made.options.slowdown_budget = *point.setting->knob;
  else
    made.options.knob = point.setting->knob;
  return made;
}

void print_csv(const Point& point, const Simulation& result) {
  std::printf("\"%s\",%g,%s,%s,%.6f,%.6f\n", point.pipeline->name, 100 * point.interference, point.setting->policy,
              point.setting->text, result.conversion_of_all, 100 * result.slowdown);
}

// A row for each setting, of all its points.
void print_table(const std::vector<Point>& points, const std::vector<Simulation>& results) {
  const std::size_t count = settings().size();
  std::printf("| policy | setting |");
  for (std::size_t i = 0; i < points.size(); i += count)
    std::printf(" %s, interference %g %%: filled | slowdown |", points[i].pipeline->name, 100 * points[i].interference);
  std::printf("\n|---|---|");
  for (std::size_t i = 0; i < points.size(); i += count) std::printf("---|---|");
  for (std::size_t setting = 0; setting < count; ++setting) {
    std::printf("\n| %s | %s |", settings()[setting].policy, settings()[setting].text);
    for (std::size_t i = setting; i < points.size(); i += count)
      std::printf(" %.3f | %+.3f %% |", results[i].conversion_of_all, 100 * results[i].slowdown);
  }
  std::printf("\n");
  for (std::size_t i = 0; i < points.size(); i += std::size(interferences) * count)
    std::printf(
        "\n%s: iterations of %.3f s, idle for %.1f %%, of that %.1f %% in gaps from 5 ms, %.1f %% of 1 to 5 ms\n",
        points[i].pipeline->name, results[i].iteration_seconds, 100 * results[i].idle_share,
        100 * results[i].share_of_class[3], 100 * results[i].share_of_class[2]);
}

}  // namespace

void print_frontier(const TableOptions& options, bool csv) {
  std::vector<Point> points;
  std::vector<Case> cases;
  for (const Pipeline& pipeline : pipelines)
    for (const double interference : interferences)
      for (const Setting& setting : settings()) {
        points.push_back({&pipeline, interference, &setting});
        cases.push_back(case_of_point(options, points.back()));
      }
  const std::vector<Simulation> results = simulate_all(cases, options.threads);
  if (!csv) return print_table(points, results);
  std::printf("pipeline,interference_percent,policy,setting,conversion,slowdown_percent\n");
  for (std::size_t i = 0; i < points.size(); ++i) print_csv(points[i], results[i]);
}

}  // namespace weft::bench
