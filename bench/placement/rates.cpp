// See rates.h.
#include "bench/placement/rates.h"

#include <map>
#include <memory>
#include <stdexcept>

#include "runner/model/simulation.h"

namespace weft::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;
constexpr int iterations = 120;

// The bubbles of a rank, and its totals.
class Watch final : public model::RankTrace {
 public:
  void push(const Record& record) noexcept override {
    if (record.kind == RecordKind::bubble) bubbles.add(record.bubble.closed - record.bubble.opened);
  }
  void finish(const TraceSummary& made) override { summary = made; }

  BubbleLengths bubbles;
  TraceSummary summary{};
};

struct Training {
  std::string name;
  std::string schedule;
  int stages = 0, microbatches = 0;
  Duration forward{};
  std::vector<std::uint64_t> memory;  // that each stage leaves: the first ones hold more activations
};

std::vector<Training> trainings() {
  return {{"long bubbles", "gpipe", 8, 8, 20ms, {4, 6, 8, 12, 16, 20, 24, 24}},
          {"bubbles of milliseconds", "1f1b", 8, 16, 2ms, {2, 4, 6, 8, 10, 12, 16, 20}},
          {"short bubbles", "1f1b", 4, 8, 300us, {4, 8, 16, 24}}};
}

model::SimulationOptions options_of(const Training& training, const Kind& kind, std::uint64_t seed) {
  model::SimulationOptions options;
  pipeline::WorldOptions& world = options.run.world;
  world.schedule.schedule = model::schedule_of(training.schedule);
  world.schedule.ranks = training.stages;
  world.schedule.microbatches = training.microbatches;
  world.iterations = iterations;
  world.forward = world.input_gradient = world.weight_gradient = training.forward;
  world.optimizer = training.forward / 2;
  world.jitter = 0.03;
  world.seed = seed;
  const auto kernels = static_cast<std::size_t>(std::max<Duration::rep>(20ms / kind.kernel, 4));
  options.run.jobs.front().kernels.assign(kernels, kind.kernel);
  return options;
}

}  // namespace

std::vector<Kind> kinds() {
  return {{"25 us", 25us, 2 * gib}, {"250 us", 250us, 4 * gib}, {"3 ms", 3ms, 8 * gib}, {"20 ms", 20ms, 16 * gib}};
}

std::vector<Gpu> gpus(std::uint64_t seed) {
  std::vector<Gpu> all;
  for (const Training& training : trainings()) {
    const std::size_t first = all.size();
    for (const Kind& kind : kinds()) {
      std::map<int, std::unique_ptr<Watch>> watches;
      for (int rank = 0; rank < training.stages; ++rank) watches[rank] = std::make_unique<Watch>();
      const model::Simulation done =
          model::simulate(options_of(training, kind, seed), {}, [&](int rank) { return watches.at(rank).get(); });
      for (int rank = 0; rank < training.stages; ++rank) {
        const Watch& watch = *watches.at(rank);
        if (all.size() == first + static_cast<std::size_t>(rank))
          all.push_back({training.name,
                         training.memory[static_cast<std::size_t>(rank)] * gib,
                         watch.bubbles,
                         done.iteration_seconds,
                         {}});
        const std::chrono::duration<double> window = watch.summary.window_end - watch.summary.window_begin;
        const std::chrono::duration<double> filled = watch.summary.filled;
        all[first + static_cast<std::size_t>(rank)].per_second.push_back(filled / window);
      }
    }
  }
  return all;
}

}  // namespace weft::bench
