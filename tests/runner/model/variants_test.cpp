// Fill jobs with variants in virtual time: the one that memory and bubbles have room for runs.
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "runner/model/variant_choice.h"
#include "tests/runner/model/four_gpus.h"

namespace weft::model {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

JobOptions job_of(Duration kernel, std::uint64_t memory, Duration smaller_kernel, std::uint64_t smaller_memory) {
  JobOptions job{std::vector<Duration>(4, kernel), {}, memory};
  job.variant = "large";
  job.smaller = {{"small", std::vector<Duration>(4, smaller_kernel), smaller_memory}};
  return job;
}

// The lines of the jobs, by rank.
struct Lines final : RankTrace {
  void push(const Record& record) noexcept override {
    if (record.kind == RecordKind::job) records.push_back(record);
  }
  void finish(const TraceSummary&) override {}
  std::vector<std::string> events() const {
    std::vector<std::string> all;
    for (const Record& record : records)
      all.push_back(std::string(job_event_names[static_cast<std::size_t>(record.job.event)]) + " " +
                    record.job.variant.c_str());
    return all;
  }
  std::vector<Record> records;
};
using Events = std::vector<std::string>;

Simulation simulated(const SimulationOptions& options, std::deque<Lines>& lines) {
  lines.resize(4);
  return simulate(options, {}, [&](int rank) { return &lines[static_cast<std::size_t>(rank)]; });
}

TEST(SimulatedVariants, EachGpuHasTheFirstThatFits) {
  std::deque<Lines> lines;
  const Simulation result = simulated(four_gpus({job_of(microseconds(25), 8 * gib, microseconds(25), 7 * gib)}), lines);
  EXPECT_TRUE(result.stages[0].jobs.empty());
  EXPECT_EQ(result.stages[1].variants, (std::vector<std::string>{"small"}));
  EXPECT_EQ(result.stages[2].variants, (std::vector<std::string>{"large"}));
  EXPECT_EQ(lines[0].events(), Events{});
  EXPECT_EQ(lines[1].events(), Events{"ready small"});
  EXPECT_EQ(std::string(lines[1].records[0].job.why.c_str()), "large needs 8192 MiB, 7168 MiB are free");
  EXPECT_EQ(lines[3].events(), Events{"ready large"});
  EXPECT_EQ(std::string(lines[3].records[0].job.why.c_str()), "");
  EXPECT_EQ(result.jobs[0].variant, "differs");
  EXPECT_GT(result.jobs[0].units, 0U);
}

// The bubbles of this schedule are some 90 ms long at most.
TEST(SimulatedVariants, OneThatNoBubbleHasRoomForGivesWay) {
  std::deque<Lines> lines;
  const auto options = [](const JobOptions& job) { return four_gpus({job}, 90); };
  const JobOptions job = job_of(milliseconds(200), gib, microseconds(25), gib);
  const Simulation result = simulated(options(job), lines);
  for (const Lines& rank : lines) EXPECT_EQ(rank.events(), (Events{"ready large", "withdrawn large", "ready small"}));
  const std::string why = "no bubble of 64 iterations had room for large, whose next slice takes 200000 us";
  EXPECT_EQ(std::string(lines[0].records.back().job.why.c_str()), why);
  EXPECT_EQ(std::string(lines[0].records[1].job.why.c_str()), why) << "of the variant that goes";
  EXPECT_EQ(lines[0].records[1].job.memory, gib);
  EXPECT_EQ(result.jobs[0].variant, "small");
  EXPECT_GT(result.jobs[0].units, 0U);
  JobOptions alone = job;
  alone.smaller.clear();
  EXPECT_EQ(simulate(options(alone)).jobs[0].units, 0U) << "without variants nothing is filled";
}

TEST(SimulatedVariants, OneThatHasRoomStays) {
  std::deque<Lines> lines;
  simulated(four_gpus({job_of(milliseconds(1), gib, microseconds(25), gib)}, 90), lines);
  for (const Lines& rank : lines) EXPECT_EQ(rank.events(), Events{"ready large"});
}

// The first job has 5 of at least 6 GiB until it has done its units.
TEST(SimulatedVariants, ABetterOneComesBackWithMemory) {
  JobOptions first{std::vector<Duration>(40, microseconds(25)), {.units = 10}, 5 * gib};
  std::deque<Lines> lines;
  const Simulation result =
      simulated(four_gpus({first, job_of(microseconds(25), 5 * gib, microseconds(25), gib)}, 150), lines);
  for (const Lines& rank : lines) {
    EXPECT_EQ(rank.events(), (Events{"ready small", "withdrawn small", "ready large"}));
    ASSERT_EQ(rank.records.size(), 3U);
    EXPECT_GE(rank.records[1].time - rank.records[0].time, Variants::settled_after);
    EXPECT_EQ(std::string(rank.records[1].job.why.c_str()), "there may be room for large");
    EXPECT_LT(rank.records[1].job.memory, 5 * gib) << "what there was beside the first job";
    EXPECT_EQ(rank.records[0].job.memory, rank.records[1].job.memory);
    EXPECT_EQ(rank.records[2].job.memory, 5 * gib);
  }
  EXPECT_EQ(result.jobs[1].variant, "large");
}

// Of 6 to 9 GiB the small variant, which needs one, keeps the 5 that the job may have: a job of 5 that comes later has
// to wait.
TEST(SimulatedVariants, ASmallerOneReservesWhatTheJobMayHave) {
  const JobOptions first = job_of(milliseconds(200), 5 * gib, microseconds(25), gib);
  std::deque<Lines> alone, lines;
  simulated(four_gpus({first}, 90), alone);
  ASSERT_EQ(alone[0].records.size(), 3U);
  JobOptions second{std::vector<Duration>(40, microseconds(25)), {}, 5 * gib};
  second.arrives = alone[0].records[2].time - TimePoint{} + std::chrono::seconds(1);
  const Simulation result = simulated(four_gpus({first, second}, 120), lines);
  for (const Lines& rank : lines) {
    EXPECT_EQ(rank.events(), (Events{"ready large", "withdrawn large", "ready small"}));
    EXPECT_EQ(rank.records.back().job.memory, 5 * gib);
  }
  EXPECT_FALSE(result.jobs[1].began);
}

// Slices of 60 and of 2 ms.
Job large_and_small() {
  Job job({milliseconds(60)}, {milliseconds(1)}, {}, gib, {}, "large");
  job.add_variant("small", {milliseconds(2)}, {milliseconds(1)}, gib);
  return job;
}

// Bubbles have room for slices up to this in so many iterations.
void live(VariantChoice& choice, Duration slice, Duration most, int iterations, std::uint64_t& iteration) {
  for (int i = 0; i < iterations; ++i, ++iteration) {
    const auto room = [&](const Candidates& next) { return BubbleRoom{iteration, true, next.alone[0] <= most}; };
    choice.watch().look(Candidates{{slice}, 1}, room);
  }
}

TEST(SimulatedVariants, OneThatBubblesRefusedComesBackWhenTheyBecomeLonger) {
  const Job job = large_and_small();
  VariantChoice choice(job);
  ASSERT_TRUE(choice.choose(gib, TimePoint{}));
  std::uint64_t iteration = 1;
  TimePoint now{};
  const auto changes = [&](Duration slice, Duration most, int iterations) {
    live(choice, slice, most, iterations, iteration);
    return choice.change(gib, now += std::chrono::seconds(31), Growth::allowed);
  };
  EXPECT_FALSE(changes(milliseconds(60), milliseconds(50), 64));
  EXPECT_TRUE(changes(milliseconds(60), milliseconds(50), 1));
  EXPECT_EQ(choice.name(), "small");
  EXPECT_FALSE(changes(milliseconds(2), milliseconds(50), 200)) << "as before";
  EXPECT_FALSE(changes(milliseconds(2), milliseconds(70), 200)) << "a little longer";
  EXPECT_TRUE(changes(milliseconds(2), milliseconds(80), 65));
  EXPECT_EQ(choice.name(), "large");
  EXPECT_EQ(choice.why(), "");
  EXPECT_TRUE(changes(milliseconds(60), milliseconds(50), 65));
  EXPECT_EQ(choice.why_changed(), choice.why());
  EXPECT_FALSE(changes(milliseconds(2), milliseconds(80), 200)) << "after it no change would be left";
}

// A streak that has ended brings none back.
TEST(SimulatedVariants, RoomForABetterOneCountsAtTheTimeOfTheChange) {
  const Job job = large_and_small();
  VariantChoice choice(job);
  ASSERT_TRUE(choice.choose(gib, TimePoint{}));
  std::uint64_t iteration = 1;
  TimePoint now{};
  live(choice, milliseconds(60), milliseconds(50), 65, iteration);
  ASSERT_TRUE(choice.change(gib, now, Growth::allowed));
  live(choice, milliseconds(2), milliseconds(80), 65, iteration);
  EXPECT_FALSE(choice.change(gib, now, Growth::allowed)) << "too early";
  now += std::chrono::seconds(31);
  EXPECT_FALSE(choice.change(gib, now, Growth::not_now));
  live(choice, milliseconds(2), milliseconds(50), 2, iteration);
  EXPECT_FALSE(choice.change(gib, now, Growth::allowed)) << "there was room long ago";
  live(choice, milliseconds(2), milliseconds(80), 65, iteration);
  EXPECT_TRUE(choice.change(gib, now, Growth::allowed));
}

// Three variants: why the best one went is not said of one that went later.
TEST(SimulatedVariants, SaysOfEachWhyItIsNotTheOne) {
  Job job({milliseconds(60)}, {milliseconds(1)}, {}, 4 * gib, {}, "large");
  job.add_variant("medium", {milliseconds(30)}, {milliseconds(1)}, 2 * gib);
  job.add_variant("small", {milliseconds(2)}, {milliseconds(1)}, gib);
  VariantChoice choice(job);
  ASSERT_TRUE(choice.choose(3 * gib, TimePoint{}));
  EXPECT_EQ(choice.name(), "medium");
  EXPECT_EQ(choice.why(), "large needs 4096 MiB, 3072 MiB are free");
  EXPECT_EQ(choice.reserved(), 3 * gib);
  std::uint64_t iteration = 1;
  live(choice, milliseconds(30), milliseconds(20), 65, iteration);
  ASSERT_TRUE(choice.change(3 * gib, TimePoint{}, Growth::allowed));
  EXPECT_EQ(choice.name(), "small");
  EXPECT_EQ(choice.why(), "no bubble of 64 iterations had room for medium, whose next slice takes 30000 us");
  EXPECT_EQ(choice.why_changed(), choice.why());
  TimePoint now{std::chrono::seconds(31)};
  ASSERT_TRUE(choice.change(4 * gib, now, Growth::allowed));
  EXPECT_EQ(choice.name(), "large");
  EXPECT_EQ(choice.why(), "");
  EXPECT_EQ(choice.why_changed(), "there may be room for large");
}

}  // namespace
}  // namespace weft::model
