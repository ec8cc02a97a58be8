// See cases.h.
#include "bench/policy/cases.h"

#include <atomic>
#include <thread>

namespace weft::bench {

using model::Simulation;
using model::SimulationOptions;

std::vector<Simulation> simulate_all(const std::vector<Case>& cases, unsigned threads) {
  std::vector<Simulation> results(cases.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> workers;
  for (unsigned worker = 0; worker < threads; ++worker)
    workers.emplace_back([&] {
      for (std::size_t i = next++; i < cases.size(); i = next++) results[i] = model::simulate(cases[i].options);
    });
  workers.clear();
  return results;
}

Case case_of(const TableOptions& table, const std::string& schedule, int stages) {
  Case made;
  made.schedule = schedule;
  SimulationOptions& options = made.options;
  options.run.warm_up = 8;
  const auto slices = slice_lengths(std::chrono::microseconds(300));
  options.run.slices.assign(slices.begin(), slices.end());
  pipeline::WorldOptions& world = options.run.world;
  world.schedule.schedule = model::schedule_of(schedule);
  world.schedule.ranks = stages;
  world.schedule.followers = model::branching(stages);
  // dualpipev wants twice as many.
  world.schedule.microbatches = schedule == "dualpipev" ? 2 * stages + 2 : stages;
  world.iterations = 40;
  world.jitter = 0.05;
  world.seed = table.seed;
  world.interference = table.interference;
  return made;
}

}  // namespace weft::bench
