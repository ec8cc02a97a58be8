// The estimate from an observed run, beside what filling the same run gives in virtual time.
#include "runner/model/estimate.h"

#include <gtest/gtest.h>

#include <deque>
#include <numeric>

#include "runner/model/policies.h"
#include "runner/model/simulation.h"
#include "runner/policy/seconds.h"

namespace weft::model {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

const std::vector<Duration> kernels(400, microseconds(25));
const std::vector<Duration> lengths{microseconds(25), microseconds(75), microseconds(300)};

Bubble bubble_of(std::uint64_t id, Duration opened, Duration length) {
  Bubble bubble;
  bubble.id = id;
  bubble.opened = TimePoint{} + opened;
  bubble.closed = bubble.opened + length;
  bubble.iteration = 1 + id / 2;
  bubble.turn = 100;  // not one without fill
  bubble.rhythm = 7;
  bubble.forecast = Forecast{length - length / 20, length, length + length / 20, 30};
  return bubble;
}

Iteration iteration_of(std::uint64_t number, Duration length) {
  Iteration iteration;
  iteration.number = number;
  iteration.started = TimePoint{} + number * length;
  iteration.ended = iteration.started + length;
  iteration.rhythm = 7;
  iteration.turn = 100;
  return iteration;
}

TEST(Estimate, FillsABubbleToItsEndOrALittleLonger) {
  const std::deque<Job> jobs{Job(kernels, lengths)};
  EstimateOptions options;
  options.slowdown_budget = Budget::unlimited;
  EstimatedRank rank(jobs, options);
  rank.add(bubble_of(2, milliseconds(0), milliseconds(20)));
  const Estimate& result = rank.result();
  EXPECT_EQ(result.bubbles, 1U);
  EXPECT_EQ(result.filled_bubbles, 1U);
  EXPECT_EQ(result.idle, milliseconds(20));
  EXPECT_GT(result.filled, milliseconds(19));
  EXPECT_LE(result.filled, result.idle);
  EXPECT_LE(result.delay, microseconds(300));
  EXPECT_EQ(result.units, 1U) << "of 10 ms, and a second one that is not whole";
}

TEST(Estimate, WithoutABudgetForItNothingIsFilled) {
  const std::deque<Job> jobs{Job(kernels, lengths)};
  EstimateOptions options;
  options.slowdown_budget = 0;
  EstimatedRank rank(jobs, options);
  for (std::uint64_t id = 2; id < 40; ++id) {
    rank.add(bubble_of(id, id * milliseconds(50), milliseconds(20)));
    if (id % 2 == 1) rank.add(iteration_of(id / 2, milliseconds(100)));
  }
  EXPECT_EQ(rank.result().filled, Duration{});
  EXPECT_EQ(rank.result().delay, Duration{});
  EXPECT_EQ(rank.result().filled_bubbles, 0U);
  const auto& unfilled = rank.result().unfilled;
  EXPECT_EQ(std::accumulate(unfilled.begin(), unfilled.end(), std::uint64_t{}), rank.result().bubbles);
}

TEST(Estimate, BubblesOutsideIterationsAndWithoutLengthDoNotCount) {
  const std::deque<Job> jobs{Job(kernels, lengths)};
  EstimatedRank rank(jobs, {});
  Bubble early = bubble_of(2, milliseconds(0), milliseconds(20));
  early.iteration = 0;
  rank.add(early);
  rank.add(bubble_of(3, milliseconds(30), milliseconds(0)));
  rank.add(bubble_of(4, milliseconds(60), milliseconds(-5)));
  EXPECT_EQ(rank.result().bubbles, 0U);
  EXPECT_EQ(rank.result().idle, Duration{});
}

// Its records, as an observing Weft writes them, into an estimate.
class Estimating final : public RankTrace {
 public:
  Estimating(const std::deque<Job>& jobs, const EstimateOptions& options) : rank_(jobs, options) {}
  void push(const Record& record) noexcept override {
    if (record.kind == RecordKind::bubble) rank_.add(record.bubble);
    if (record.kind == RecordKind::iteration) rank_.add(record.iteration);
  }
  void finish(const TraceSummary& summary) override { summary_ = summary; }
  const Estimate& result() const { return rank_.result(); }
  Duration window() const { return summary_.window_end - summary_.window_begin; }

 private:
  EstimatedRank rank_;
  TraceSummary summary_;
};

struct Beside {
  double filled = 0;            // of the idle time
  double delay = 0, least = 0;  // of all ranks together, of the one with most
};

Beside estimated(SimulationOptions options) {
  const std::deque<Job> jobs{Job(kernels, lengths)};
  EstimateOptions own;
  own.slowdown_budget = options.slowdown_budget;
  std::deque<Estimating> ranks;
  options.policy = "observe";
  options.slowdown_budget = Budget::unlimited;  // the estimate leaves iterations out, watching leaves none
  simulate(options, {}, [&](int rank) -> RankTrace* {
    while (ranks.size() <= static_cast<std::size_t>(rank)) ranks.emplace_back(jobs, own);
    return &ranks[static_cast<std::size_t>(rank)];
  });
  Duration idle{}, filled{};
  Beside result;
  for (const Estimating& rank : ranks) {
    idle += rank.result().idle;
    filled += rank.result().filled;
    const double delay = seconds(rank.result().delay) / seconds(rank.window());
    result.delay += delay;
    result.least = std::max(result.least, delay);
  }
  result.filled = seconds(filled) / seconds(idle);
  return result;
}

SimulationOptions pipeline_of(const char* schedule, double budget, double jitter) {
  SimulationOptions options;
  options.slowdown_budget = budget;
  options.run.warm_up = 8;
  pipeline::WorldOptions& world = options.run.world;
  world.schedule.schedule = schedule_of(schedule);
  world.schedule.followers = branching(4);
  world.schedule.microbatches = 10;
  if (std::string(schedule) == "interleaved") world.schedule.microbatches = 8;
  world.iterations = 60;
  world.jitter = jitter;
  return options;
}

TEST(Estimate, AgreesWithFillingTheSamePipelineInVirtualTime) {
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zb-h1", "dualpipev"}) {
    for (const double budget : {0.001, 0.01}) {
      const SimulationOptions options = pipeline_of(schedule, budget, 0.05);
      const Simulation filled = simulate(options);
      const Beside estimate = estimated(options);
      // Without the start-up of both, and with the iterations that go without fill.
      EXPECT_NEAR(estimate.filled, filled.conversion_of_all, 0.04) << schedule << ' ' << budget;
      EXPECT_GE(estimate.delay, filled.slowdown) << schedule << ' ' << budget << ": it is an upper bound";
    }
  }
}

}  // namespace
}  // namespace weft::model
