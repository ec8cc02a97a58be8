// Which iterations go without fill: the same for all ranks, one in fifteen in the long run, dark in the middle of some.
#include "runner/policy/control_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft {
namespace {

std::vector<std::uint64_t> controls_up_to(std::uint64_t last) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t iteration = 0; iteration <= last; ++iteration)
    if (is_control(iteration)) numbers.push_back(iteration);
  return numbers;
}

TEST(ControlIterations, AreTheSameForAllRanks) {
  std::vector<std::uint64_t> expected;
  for (const auto& [first, count] :
       {std::pair{9, 4}, {21, 4}, {53, 16}, {159, 20}, {331, 20}, {503, 8}, {663, 8}, {823, 8}, {983, 20}})
    for (int i = 0; i < count; ++i) expected.push_back(static_cast<std::uint64_t>(first + i));
  EXPECT_EQ(controls_up_to(1002), expected);
}

TEST(ControlIterations, AreOneInFifteenInTheLongRun) {
  constexpr std::uint64_t cycle = 4 * 160 + 12, begin = 179;
  EXPECT_EQ(controls_up_to(begin - 1 + cycle * 1000).size(), 4U + 4U + 16U + 20U + 44U * 1000);
  EXPECT_DOUBLE_EQ(control_share(), 44.0 / 652);
}

TEST(ControlIterations, AreDarkInTheMiddleOfSomeRuns) {
  std::vector<std::uint64_t> dark;
  for (std::uint64_t turn = 0; turn < 1000; ++turn)
    if (is_dark(turn)) dark.push_back(turn);
  std::vector<std::uint64_t> expected;
  for (const auto& [first, count] : {std::pair{58, 6}, {165, 8}, {337, 8}, {989, 8}})
    for (int i = 0; i < count; ++i) expected.push_back(static_cast<std::uint64_t>(first + i));
  EXPECT_EQ(dark, expected);
  for (const std::uint64_t turn : dark) EXPECT_TRUE(is_control(turn)) << turn;
}

// Another rank may be one iteration ahead or behind.
TEST(ControlIterations, AreComparedWhereBothNeighboursAreOfTheirKind) {
  for (std::uint64_t turn = 0; turn < 2; ++turn) EXPECT_FALSE(part_of(turn).comparable) << turn;
  constexpr int cycles = 250, cycle = 652;
  int controls = 0, dark = 0;
  for (std::uint64_t turn = 1000; turn < 1000 + cycles * cycle; ++turn) {
    controls += is_control(turn) ? 1 : 0;
    dark += is_dark(turn) ? 1 : 0;
  }
  EXPECT_NEAR(controls / (1.0 * cycles * cycle), control_share(), 1e-9);
  EXPECT_NEAR(dark / (1.0 * cycles * cycle), dark_share(), 1e-9);
  const auto purpose = [](std::uint64_t turn) { return part_of(turn).purpose; };
  for (std::uint64_t turn = 2; turn < 2000; ++turn) {
    const bool alike = purpose(turn - 1) == purpose(turn) && purpose(turn) == purpose(turn + 1);
    EXPECT_EQ(part_of(turn).comparable, alike) << turn;
  }
}

TEST(ControlIterations, AreComparedWithTheNearest) {
  const std::vector<std::uint64_t> runs{9, 21, 53, 159, 331, 503, 663, 823, 983, 1155, 1315};
  for (std::uint64_t turn = 1; turn < 1200; ++turn) {
    const auto distance = [&](std::uint64_t run) {
      std::uint64_t last = run;
      while (is_control(last + 1)) ++last;
      return turn < run ? run - turn : turn > last ? turn - last : 0;
    };
    const auto nearest =
        std::min_element(runs.begin(), runs.end(), [&](auto a, auto b) { return distance(a) < distance(b); });
    EXPECT_EQ(part_of(turn).run, *nearest) << turn;
  }
}

}  // namespace
}  // namespace weft
