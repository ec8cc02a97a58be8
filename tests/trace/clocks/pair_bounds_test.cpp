// Bounds of clocks from messages and collectives: which operation says something of which pair, and how few are kept.
#include "trace/clocks/pair_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/trace/clocks/simulated_hosts.h"
#include "trace/clocks/clock_bounds.h"

namespace weft {
namespace {

TimePoint at(long time) {
  return TimePoint{Duration{time}};
}

TimedSide side(std::uint32_t clock, long not_before, long not_after, bool is_root = false) {
  return {clock, is_root, at(not_before), at(not_after)};
}

std::vector<long> aheads(const std::vector<ClockBound>& bounds) {
  std::vector<long> found;
  for (const ClockBound& bound : bounds) found.push_back(bound.ahead.count());
  return found;
}

PairBounds pair_of(ClockBounds& bounds, std::uint32_t base, std::uint32_t other) {
  PairBounds pair = bounds.pairs().at({base, other});
  pair.finish();
  return pair;
}

TEST(ClockBounds, AMessageBoundsTheClocksFromOneSide) {
  ClockBounds bounds;
  bounds.add_message(side(0, 100, 900), side(2, 5000, 5300));
  bounds.add_message(side(2, 5100, 5900), side(0, 100, 400));
  const PairBounds pair = pair_of(bounds, 0, 2);
  ASSERT_EQ(aheads(pair.most()), (std::vector<long>{5200}));
  EXPECT_EQ(pair.most()[0].time, at(100));
  ASSERT_EQ(aheads(pair.least()), (std::vector<long>{4700}));
  EXPECT_EQ(pair.least()[0].time, at(400));
  EXPECT_EQ(pair.messages(), 2U);
}

TEST(ClockBounds, OneClockAndTimesThatNobodySawSayNothing) {
  ClockBounds bounds;
  bounds.add_message(side(1, 100, 900), side(1, 5000, 5300));
  TimedSide unseen = side(0, 1, 2);
  unseen.not_before = TimedSide::never_begun;
  bounds.add_message(unseen, side(1, 5000, 5300));
  EXPECT_TRUE(bounds.pairs().empty());
}

TEST(ClockBounds, ACollectiveEndsNowhereBeforeAllHaveBegun) {
  ClockBounds bounds;
  const TimedSide sides[] = {side(0, 100, 500), side(0, 200, 600), side(1, 1100, 1700), side(1, 1050, 1650)};
  bounds.add_collective(Operation::all_reduce, sides);
  const PairBounds pair = pair_of(bounds, 0, 1);
  EXPECT_EQ(aheads(pair.most()), (std::vector<long>{1450}));  // 1650 against 200
  EXPECT_EQ(aheads(pair.least()), (std::vector<long>{600}));  // 1100 against 500
  EXPECT_EQ(pair.collectives(), 1U);
  EXPECT_EQ(pair.messages(), 0U);
}

TEST(ClockBounds, ABroadcastGoesFromTheRootOnly) {
  ClockBounds bounds;
  const TimedSide sides[] = {side(0, 100, 500), side(1, 1100, 1700, true), side(2, 2100, 2900)};
  bounds.add_collective(Operation::broadcast, sides);
  EXPECT_EQ(aheads(pair_of(bounds, 0, 1).least()), (std::vector<long>{600}));
  EXPECT_TRUE(pair_of(bounds, 0, 1).most().empty());
  EXPECT_EQ(aheads(pair_of(bounds, 1, 2).most()), (std::vector<long>{1800}));
  EXPECT_FALSE(bounds.pairs().contains({0, 2}));
}

TEST(ClockBounds, AReductionGoesToTheRootOnly) {
  ClockBounds bounds;
  const TimedSide sides[] = {side(0, 100, 500, true), side(1, 1100, 1700)};
  bounds.add_collective(Operation::reduce, sides);
  EXPECT_EQ(aheads(pair_of(bounds, 0, 1).least()), (std::vector<long>{600}));
  EXPECT_TRUE(pair_of(bounds, 0, 1).most().empty());
}

TEST(ClockBounds, PutsAndWaitsForSignalsSayNothing) {
  ClockBounds bounds;
  const TimedSide sides[] = {side(0, 100, 500), side(1, 1100, 1700)};
  bounds.add_collective(Operation::put, sides);
  EXPECT_TRUE(bounds.pairs().empty());
}

TEST(ClockBounds, TakesSoManyPairsOnly) {
  ClockBounds bounds;
  for (std::uint32_t clock = 1; clock < ClockBounds::most_pairs + 11; ++clock)
    bounds.add_message(side(0, 100, 900), side(clock, 5000, 5300));
  EXPECT_EQ(bounds.pairs().size(), ClockBounds::most_pairs);
  EXPECT_EQ(bounds.left_out(), 10U);
}

TEST(TimedSide, IsAsLateAndAsEarlyAsTheRecordAllows) {
  GroupRecord group;
  group.begun_known = group.ended_known = true;
  group.begun = at(1000);
  group.begun_within = Duration(10);
  group.ended = at(2000);
  group.ended_within = Duration(20);
  const TimedSide seen = timed_side(group, 3, Duration(500));
  EXPECT_EQ(seen.clock, 3U);
  EXPECT_EQ(seen.not_before, at(490));
  EXPECT_EQ(seen.not_after, at(1520));
  group.begun_known = false;
  group.ended = TimePoint(Duration(1L << 61));
  EXPECT_EQ(timed_side(group, 3, Duration{}).not_before, TimedSide::never_begun);
  EXPECT_EQ(timed_side(group, 3, Duration{}).not_after, TimedSide::never_ended);
}

TEST(PairBounds, OfManyTheTightOnesStayFromAllOfTheTime) {
  constexpr int most_kept = 128, messages = 100'000;
  PairBounds bounds(most_kept);
  test::Dice dice(1);
  const auto drift = [](long time) { return static_cast<long>(std::llround(static_cast<double>(time) * 5e-5)); };
  for (long k = 0; k < messages; ++k) {  // 50 ppm, 10 us and more on the way
    const long time = k * 1'000'000, latency = 10'000 + std::llround(dice.around(100'000));
    bounds.add_to_other(at(time), at(time + drift(time) + latency));
  }
  bounds.finish();
  const std::vector<ClockBound>& kept = bounds.most();
  EXPECT_LE(kept.size(), 2 * most_kept + 1);
  EXPECT_GE(kept.size(), most_kept / 2);
  Duration longest{};
  double loosest = 0;
  for (std::size_t index = 0; index < kept.size(); ++index) {
    if (index > 0) longest = std::max(longest, kept[index].time - kept[index - 1].time);
    const long time = kept[index].time.time_since_epoch().count();
    loosest = std::max(loosest, static_cast<double>(kept[index].ahead.count() - drift(time)));
  }
  EXPECT_LT(longest.count(), 10L * 1'000'000 * messages / most_kept);
  EXPECT_LT(loosest, 10'000 + 20'000);  // one of hundreds is hardly late
}

TEST(Corners, AreThoseThatNoLineCanPass) {
  const std::vector<ClockBound> bounds{{at(0), Duration(5)},  {at(10), Duration(3)}, {at(10), Duration(9)},
                                       {at(20), Duration(4)}, {at(30), Duration(1)}, {at(40), Duration(8)}};
  EXPECT_EQ(aheads(corners(bounds, true)), (std::vector<long>{5, 3, 1, 8}));
  EXPECT_EQ(aheads(corners(bounds, false)), (std::vector<long>{5, 9, 8}));
}

}  // namespace
}  // namespace weft
