// The pure parts of a report: which stage is the frontier, and the theory of pipelines.
#include <gtest/gtest.h>

#include "trace/report/frontier.h"
#include "trace/report/what_if.h"

namespace weft::report {
namespace {

using namespace std::chrono_literals;

// So many iterations of 100 ms, in which the units work for these times.
Frontier frontier_of(const std::vector<std::vector<Duration>>& work) {
  std::vector<UnitOfWork> units;
  std::map<IterationKey, Duration> lengths;
  for (std::size_t unit = 0; unit < work.size(); ++unit) {
    units.push_back({"stage " + std::to_string(unit), {}, {}});
    for (std::size_t number = 0; number < work[unit].size(); ++number) {
      units.back().work[{0, number + 1}] = work[unit][number];
      lengths[{0, number + 1}] = 100ms;
    }
  }
  return find_frontier(units, lengths);
}

TEST(Frontier, IsTheStageThatWorksLongestInMostIterations) {
  const Frontier found = frontier_of({{60ms, 60ms, 60ms, 60ms}, {80ms, 81ms, 70ms, 82ms}, {70ms, 70ms, 75ms, 70ms}});
  ASSERT_TRUE(found.slowest);
  EXPECT_EQ(*found.slowest, 1u);
  EXPECT_EQ(found.next, 2u);
  EXPECT_EQ(found.units[1].median, 81ms);
  EXPECT_DOUBLE_EQ(found.units[1].at_frontier, 0.75);
  EXPECT_EQ(found.length, 100ms);
}

TEST(Frontier, IsNobodyWhereTheyTakeTurnsOrDifferByNothing) {
  EXPECT_FALSE(frontier_of({{80ms, 70ms, 80ms, 70ms}, {70ms, 80ms, 70ms, 80ms}}).slowest);
  const Frontier alike = frontier_of({{80500us, 80500us, 80500us, 80500us}, {80ms, 80ms, 80ms, 80ms}});
  EXPECT_FALSE(alike.slowest);
  EXPECT_TRUE(alike.is_alike);
}

TEST(Frontier, NamesTheRankOfTheStageThatHasTheMostWork) {
  std::vector<UnitOfWork> units{{"stage 0", {}, {}}, {"stage 1", {}, {}}};
  std::map<IterationKey, Duration> lengths;
  for (std::uint64_t number = 1; number <= 4; ++number) {
    lengths[{0, number}] = 100ms;
    units[0].work[{0, number}] = 50ms;
    units[1].work[{0, number}] = 80ms;
    units[1].ranks[{0, number}] = number == 2 ? "5" : "9";
  }
  const Frontier found = find_frontier(units, lengths);
  EXPECT_EQ(found.units[1].rank, "9");
  EXPECT_DOUBLE_EQ(found.units[1].of_rank, 0.75);
  EXPECT_EQ(found.units[0].rank, "");
}

TEST(Frontier, SaysWhyItIsNotKnown) {
  EXPECT_NE(frontier_of({{80ms, 70ms, 80ms, 70ms}}).missing, "");
  EXPECT_NE(frontier_of({{80ms, 70ms}, {70ms, 80ms}}).missing, "");
  EXPECT_EQ(frontier_of({{80ms, 70ms, 80ms, 70ms}, {70ms, 80ms, 70ms, 80ms}}).missing, "");
}

TEST(Frontier, ComparesOnlyIterationsThatAllHave) {
  EXPECT_EQ(frontier_of({{80ms, 70ms, 80ms, 70ms, 70ms, 70ms}, {70ms, 80ms, 70ms, 80ms}}).iterations, 4u);
}

TEST(Theory, OfTheBubble) {
  EXPECT_DOUBLE_EQ(bubble_of_theory(4, 8, 1), 3.0 / 11);
  EXPECT_DOUBLE_EQ(bubble_of_theory(4, 8, 2), 3.0 / 19);
  EXPECT_DOUBLE_EQ(bubble_of_theory(1, 8, 1), 0);
}

// With equal stages the idle share is that of the bubble.
TEST(Theory, OfTheIterationAgreesWithThatOfTheBubble) {
  const double iteration = iteration_of_theory({80, 80, 80, 80}, 8, 1);
  EXPECT_DOUBLE_EQ(1 - 80 / iteration, bubble_of_theory(4, 8, 1));
}

TEST(Theory, TheLongestStageSetsThePace) {
  EXPECT_DOUBLE_EQ(iteration_of_theory({80, 160}, 8, 1), 160 + 80.0 / 8);
}

}  // namespace
}  // namespace weft::report
