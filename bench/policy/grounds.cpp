// See grounds.h. Where the numbers of the others come from is said in docs/bench.md.
#include "bench/policy/grounds.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/policy/cases.h"
#include "runner/policy/control_schedule.h"

namespace weft::bench {
namespace {

using model::Simulation;

// In a long run, in which fewer iterations go without fill than in these.
double gpus_of(const Simulation& result, bool is_weft) {
  const double filled_iterations = is_weft ? 1 - control_share() : 1;
  return result.ranks * result.idle_share * result.conversion * filled_iterations;
}

struct Cluster {
  int gpus, microbatches;
};

// Side work of FreeRide: its step on the idle GPU and what it needs, by its artifact; and what that reports of bubbles
// on the stages that have room, and of the slowdown.
struct Task {
  const char* name;
  double step_ms, gigabytes, published_filled, published_slowdown;
};
constexpr std::array<Task, 6> tasks{{{"ResNet18", 30.6, 3.6, 0.66, 0.0003},
                                     {"ResNet50", 88.9, 7.5, 0.55, 0.0136},
                                     {"VGG19", 174.8, 11.5, 0.59, 0.0210},
                                     {"graph SGD", 145, 1.9, 0.55, 0.0116},
                                     {"PageRank", 3.5, 1.9, 0.17, 0.0005},
                                     {"image", 47, 10.4, 0.45, 0.0074}}};
// Free memory of the stages of its 3.6B model, in GB.
constexpr std::array<double, 4> room{3, 9, 16, 24};

int stages_with_room(double gigabytes) {
  int count = 0;
  for (const double free : room) count += free > gigabytes;
  return count;
}

}  // namespace

void print_pipefill_ground(const TableOptions& options) {
  std::printf(
      "| GPUs | microbatches | iteration | idle | Weft fills | slowdown | GPUs of fill work, of those idle | PipeFill "
      "(model) | slowdown | GPUs |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Cluster& cluster : {Cluster{1024, 64}, Cluster{4096, 16}, Cluster{8192, 8}}) {
    Case made = case_of(options, "1f1b", 16);
    pipeline::WorldOptions& world = made.options.run.world;
    world.replicas = cluster.gpus / 16;
    world.schedule.microbatches = cluster.microbatches;
    world.iterations = 20;
    world.threads = static_cast<int>(options.threads);
    const model::RunResult without = model::without_fill(made.options.run);
    const Simulation weft = model::simulate(without, made.options);
    made.options.policy = "pipefill";
    const Simulation other = model::simulate(without, made.options);
    std::printf("| %d | %d | %.3f s | %.1f %% | %.3f | %+.2f %% | %.0f of %.0f | %.3f | %+.2f %% | %.0f |\n",
                cluster.gpus, cluster.microbatches, weft.iteration_seconds, 100 * weft.idle_share, weft.conversion,
                100 * weft.slowdown, gpus_of(weft, true), weft.ranks * weft.idle_share, other.conversion,
                100 * other.slowdown, gpus_of(other, false));
  }
}

void print_freeride_ground(const TableOptions& options) {
  std::printf(
      "| task | step | stages with room | microbatches | Weft fills | slowdown | FreeRide (model) | slowdown | its "
      "artifact | slowdown | MPS (model) | slowdown | low priority (model) | slowdown "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  constexpr std::array<const char*, 4> policies{"weft", "freeride", "mps", "low-priority"};
  std::vector<Case> cases;
  for (const Task& task : tasks)
    for (const int microbatches : {4, 6, 8})
      for (const char* const policy : policies) {
        Case made = case_of(options, "1f1b", 4);
        pipeline::WorldOptions& world = made.options.run.world;
        world.forward = world.input_gradient = world.weight_gradient = std::chrono::milliseconds(240);
        world.schedule.microbatches = microbatches;
        world.iterations = 60;
        // Its kernels are not known: a step is cut into some of 0.2 ms.
        const auto kernels = static_cast<std::size_t>(std::llround(task.step_ms / 0.2));
        made.options.run.jobs = {{std::vector<Duration>(kernels, Duration{200'000}), {}}};
        made.options.policy = policy;
        cases.push_back(made);
      }
  const std::vector<Simulation> results = simulate_all(cases, options.threads);
  for (std::size_t i = 0; i < results.size(); i += policies.size()) {
    const Task& task = tasks[i / (3 * policies.size())];
    const int microbatches = cases[i].options.run.world.schedule.microbatches;
    const bool published = microbatches == 4;
    char artifact[64] = " | ";
    if (published)
      std::snprintf(artifact, sizeof artifact, "%.2f | %+.2f %%", task.published_filled, 100 * task.published_slowdown);
    std::printf(
        "| %s | %g ms | %d of 4 | %d | %.3f | %+.2f %% | %.3f | %+.2f %% | %s | %.3f | %+.1f %% | %.3f | %+.2f %% |\n",
        task.name, task.step_ms, stages_with_room(task.gigabytes), microbatches, results[i].conversion,
        100 * results[i].slowdown, results[i + 1].conversion, 100 * results[i + 1].slowdown, artifact,
        results[i + 2].conversion, 100 * results[i + 2].slowdown, results[i + 3].conversion,
        100 * results[i + 3].slowdown);
  }
}

}  // namespace weft::bench
