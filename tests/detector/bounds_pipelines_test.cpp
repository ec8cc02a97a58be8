// Iterations that differ, in virtual pipelines: other numbers of microbatches, evaluation in between, other bytes, many
// collectives at the end. The iterations found are the real ones, on all ranks alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "detector/detector.h"
#include "sim/pipeline/pipelines.h"

namespace weft::testing {
namespace {

// Collectives of so many bytes and more have a communicator of their own for each number of them.
constexpr std::uint64_t own_communicator = 1'000'000;

struct Seen {
  std::vector<Bubble> bubbles;
  std::vector<Iteration> iterations;
  std::size_t anomalies = 0;
  std::size_t lost = 0;
};

Seen observe(const Timeline& timeline) {
  Seen seen;
  Detector detector{{.checks_kept = true}};
  for (Event event : timeline.events) {
    const std::uint64_t bytes = event.summary.collective_bytes;
    if (bytes >= own_communicator) event.communicator = 100 + static_cast<CommunicatorId>(bytes / own_communicator);
    for (const Finding& f : detector.observe(event)) {
      if (f.kind == FindingKind::bubble_closed) seen.bubbles.push_back(f.bubble);
      if (f.kind == FindingKind::iteration_ended) seen.iterations.push_back(f.iteration);
      if (f.kind == FindingKind::rhythm_lost) ++seen.lost;
      if (f.kind == FindingKind::anomaly) ++seen.anomalies;
    }
  }
  return seen;
}

// When the training iterations ended.
std::vector<TimePoint> training_ends(const PipelineOptions& options, const Timeline& timeline) {
  std::vector<TimePoint> ends;
  for (int i = 0; i < options.iterations; ++i)
    if (!is_evaluation(options, i)) ends.push_back(timeline.iteration_ends[static_cast<std::size_t>(i)]);
  return ends;
}

struct Expected {
  std::size_t first = 3;   // the first training iteration that is found, from 0
  bool numbers = true;     // they count from there; otherwise something else was found before
  bool by_period = false;  // turns count from the first one that is found
  double forecast = 0.9;   // share of the bubbles after the sixth iteration that have a forecast
  double hit = 0.98;       // share of those forecasts whose median is at most a tenth off
};

void expect_iterations(const std::vector<TimePoint>& ends, const Seen& seen, const Expected& expected) {
  std::size_t i = expected.first;
  for (const Iteration& iteration : seen.iterations) {
    if (!expected.numbers && iteration.ended < ends[i]) continue;
    ASSERT_LT(i, ends.size());
    EXPECT_EQ(iteration.ended, ends[i]) << "iteration " << i;
    EXPECT_EQ(iteration.started, ends[i - 1]) << "iteration " << i;
    EXPECT_EQ(iteration.turn, expected.by_period ? i - expected.first + 1 : i) << "iteration " << i;
    EXPECT_EQ(iteration.number - iteration.turn, seen.iterations.back().number - seen.iterations.back().turn);
    ++i;
  }
  EXPECT_GE(i + 1, ends.size());  // the last one may not be known to be over
}

bool hits(const Forecast& forecast, Duration length) {
  const Duration error = forecast.median < length ? length - forecast.median : forecast.median - length;
  return error <= length / 10;
}

void expect_forecasts(const std::vector<TimePoint>& ends, const Seen& seen, const Expected& expected) {
  std::size_t all = 0, with = 0, held = 0;
  for (const Bubble& b : seen.bubbles) {
    if (b.opened < ends[5] || b.opened >= ends.back()) continue;
    ++all;
    if (!b.forecast) continue;
    ++with;
    if (hits(*b.forecast, b.closed - b.opened)) ++held;
  }
  EXPECT_GE(static_cast<double>(with), expected.forecast * static_cast<double>(all)) << with << " of " << all;
  EXPECT_GE(static_cast<double>(held), expected.hit * static_cast<double>(with)) << held << " of " << with;
}

void expect_found(const PipelineOptions& options, const Expected& expected = {}) {
  const std::vector<Timeline> ranks = simulate(options);
  std::uint64_t number = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    const Seen seen = observe(ranks[rank]);
    EXPECT_EQ(seen.anomalies, 0U);
    const std::vector<TimePoint> ends = training_ends(options, ranks[rank]);
    expect_iterations(ends, seen, expected);
    expect_forecasts(ends, seen, expected);
    if (rank == 0 && !seen.iterations.empty()) number = seen.iterations.back().number;
    if (expected.numbers && !seen.iterations.empty()) {
      // The period may have taken two different iterations for two alike, before bounds were known.
      EXPECT_LE(std::max(seen.iterations.back().number, number) - std::min(seen.iterations.back().number, number), 1U);
    }
  }
}

struct Shape {
  Schedule schedule;
  Wait wait;
  int stages;
};

class Bounded : public ::testing::TestWithParam<Shape> {
 protected:
  PipelineOptions options() const {
    PipelineOptions o;
    o.schedule = GetParam().schedule;
    o.wait = GetParam().wait;
    o.stages = GetParam().stages;
    o.iterations = 60;
    o.startup_groups = 3;
    return o;
  }
};

std::string name_of_shape(const ::testing::TestParamInfo<Shape>& info) {
  const char* schedules[] = {"gpipe", "one_f_one_b", "interleaved"};
  const char* waits[] = {"event", "in_stream", "host"};
  return std::string(schedules[static_cast<int>(info.param.schedule)]) + "_" +
         waits[static_cast<int>(info.param.wait)] + "_p" + std::to_string(info.param.stages);
}

TEST_P(Bounded, AlternatingMicrobatches) {
  PipelineOptions o = options();
  o.microbatch_counts = {6, 8};
  expect_found(o, {.forecast = 1, .hit = 1});
}

TEST_P(Bounded, IrregularMicrobatches) {
  PipelineOptions o = options();
  o.microbatch_counts = {8, 5, 12, 7, 7, 9, 4, 16, 8, 11, 6, 6, 6, 10, 5};
  expect_found(o);
}

TEST_P(Bounded, OtherBytesInEachIteration) {
  PipelineOptions o = options();
  o.message_bytes = {4096, 5120, 8192, 6144, 2048, 1024, 7168};
  expect_found(o);
}

TEST_P(Bounded, OneCollectiveForEachParameter) {
  PipelineOptions o = options();
  o.sums.clear();
  for (std::uint64_t i = 0; i < 20; ++i) o.sums.push_back(4096 + 64 * i);
  o.microbatch_counts = {6, 8};
  expect_found(o);
}

TEST_P(Bounded, CollectivesOfOneSize) {
  PipelineOptions o = options();
  o.sums.assign(20, 4096);
  expect_found(o, {.by_period = true});
}

TEST_P(Bounded, EvaluationInBetween) {
  PipelineOptions o = options();
  o.microbatch_counts = {6, 8, 10, 7};
  o.evaluate_every = 9;
  expect_found(o);
}

TEST_P(Bounded, EvaluationWithACollective) {
  PipelineOptions o = options();
  o.microbatch_counts = {6, 8, 10, 7};
  o.evaluate_every = 9;
  o.evaluation_sums = {16};
  expect_found(o);
}

TEST_P(Bounded, GradientNormAndSkippedSteps) {
  PipelineOptions o = options();
  o.microbatch_counts = {6, 8, 10, 7, 5};
  o.sums = {50'000, 60'000, 2'000'004, 70'000};
  o.skip_step_every = 7;
  expect_found(o);
}

TEST_P(Bounded, EmbeddingOfTheFirstAndTheLastStage) {
  PipelineOptions o = options();
  o.microbatch_counts = {6, 8, 10, 7, 5};
  o.embedding_sum = 3'000'000;
  expect_found(o);
}

TEST_P(Bounded, TensorParallelCollectivesInEachMicrobatch) {
  PipelineOptions o = options();
  o.microbatch_counts = {6, 8, 10, 7, 5};
  o.in_microbatch_sums = {1'000'000, 1'000'000, 1'000'100};
  expect_found(o, {.first = 3, .numbers = false});
}

// The number of microbatches changes now and then: twice that costs the period a few iterations, then bounds lead, and
// nothing is lost any more.
TEST(BoundedLater, AfterThreeContentsNothingIsLost) {
  PipelineOptions o;
  for (const int count : {8, 6, 7, 9, 5, 8, 10}) o.microbatch_counts.insert(o.microbatch_counts.end(), 12, count);
  o.iterations = static_cast<int>(o.microbatch_counts.size());
  for (const Timeline& rank : simulate(o)) {
    const Seen seen = observe(rank);
    EXPECT_EQ(seen.lost, 3U);
    // From the fourth number of microbatches on none is missing.
    const std::vector<TimePoint> ends = training_ends(o, rank);
    std::size_t i = 3 * 12 + 2;
    for (const Iteration& iteration : seen.iterations) {
      if (iteration.ended < ends[i]) continue;
      EXPECT_EQ(iteration.ended, ends[i]);
      EXPECT_EQ(iteration.turn, i);
      ++i;
    }
    EXPECT_EQ(i + 1, ends.size());
  }
}

// As today: where every iteration is like the one before, the period leads and bounds change nothing.
TEST(BoundedNever, WhereThePeriodIsEnough) {
  for (const int microbatches : {4, 8, 64}) {
    PipelineOptions o;
    o.microbatches = microbatches;
    o.iterations = 40;
    for (const Timeline& rank : simulate(o)) {
      const Seen seen = observe(rank);
      EXPECT_LE(seen.lost, 1U);  // a steady state
      EXPECT_EQ(seen.iterations.size(), 38U);
      EXPECT_EQ(seen.iterations.back().groups, rank.groups_per_iteration);
    }
  }
}

// Its own order of groups; the number of microbatches is one of whole rounds.
TEST(BoundedInterleaved, OtherNumbersOfMicrobatches) {
  for (const int stages : {2, 4})
    for (const int chunks : {2, 3}) {
      SCOPED_TRACE("p" + std::to_string(stages) + " c" + std::to_string(chunks));
      PipelineOptions o;
      o.schedule = Schedule::interleaved;
      o.stages = stages;
      o.chunks = chunks;
      o.eager = true;
      o.iterations = 60;
      o.microbatch_counts = {2 * stages, 3 * stages, 4 * stages, 2 * stages, 5 * stages};
      expect_found(o, {.hit = 0.9});
    }
}

TEST(BoundedLong, AllOfItAtOnce) {
  PipelineOptions o;
  o.iterations = 300;
  o.jitter = 0.1;
  o.startup_groups = 5;
  o.sums = {50'000, 60'000, 2'000'004, 70'000};
  o.skip_step_every = 31;
  o.evaluate_every = 41;
  o.evaluation_sums = {16};
  o.embedding_sum = 3'000'000;
  o.message_bytes = {4096, 5120, 8192, 6144, 2048, 1024, 7168};
  std::minstd_rand random(9);
  for (int i = 0; i < o.iterations; ++i) o.microbatch_counts.push_back(4 + static_cast<int>(random() % 13));
  expect_found(o, {.hit = 0.4});  // compute varies by as much as that
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b})
    for (const Wait wait : {Wait::event, Wait::in_stream, Wait::host})
      for (const int stages : {2, 3, 4, 8})
        if (wait == Wait::event || stages == 4) all.push_back({schedule, wait, stages});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Bounded, ::testing::ValuesIn(shapes()), name_of_shape);

}  // namespace
}  // namespace weft::testing
