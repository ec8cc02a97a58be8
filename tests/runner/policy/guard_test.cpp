// The guard before the end of bubbles with which only a share of the bubble time is filled.
#include "runner/policy/guard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace weft {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

Guard guard_of(const std::vector<Duration>& lengths) {
  Guard guard;
  for (const Duration length : lengths) guard.bubble_closed(length);
  return guard;
}

// Of all their time, before such a guard.
double share_before(const std::vector<Duration>& lengths, Duration guard) {
  Duration all{}, before{};
  for (const Duration length : lengths) {
    all += length;
    before += std::max(length - guard, Duration{});
  }
  return static_cast<double>(before.count()) / static_cast<double>(all.count());
}

TEST(Guard, OfBubblesOfOneLengthAnEqualPart) {
  const Guard guard = guard_of({10, milliseconds(8)});
  EXPECT_NEAR(static_cast<double>(guard.with_share(0.5)->count()), 4e6, 10);
  EXPECT_NEAR(static_cast<double>(guard.with_share(0.25)->count()), 6e6, 10);
  EXPECT_NEAR(static_cast<double>(guard.with_share(1)->count()), 0, 10);
}

TEST(Guard, ShortBubblesAreLeftOut) {
  std::vector<Duration> lengths(20, milliseconds(2));
  lengths.push_back(milliseconds(40));
  lengths.push_back(milliseconds(50));
  // 130 ms in all: 40 - 15 and 50 - 15 are nearly half of that.
  EXPECT_NEAR(static_cast<double>(guard_of(lengths).with_share(60.0 / 130)->count()), 15e6, 100);
}

TEST(Guard, LeavesTheShareOfRandomBubbles) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::lognormal_distribution<double> length(14, 0.2 + 0.01 * round);
    std::vector<Duration> lengths(1 + random() % 50);
    for (Duration& each : lengths) each = Duration{static_cast<std::int64_t>(length(random)) + 1000};
    for (const double share : {0.5, 0.25}) {
      const auto guard = guard_of(lengths).with_share(share);
      ASSERT_TRUE(guard);
      // Lengths are told apart by a quarter of an octave.
      EXPECT_NEAR(share_before(lengths, *guard), share, 0.03) << "round " << round;
    }
  }
}

TEST(Guard, UnknownWithoutBubbles) {
  EXPECT_FALSE(Guard{}.with_share(0.5));
  EXPECT_FALSE(guard_of({Duration{}}).with_share(0.5));
}

TEST(Guard, FollowsWhatBubblesBecome) {
  Guard guard = guard_of(std::vector<Duration>(8, milliseconds(8)));
  for (int iteration = 0; iteration < 60; ++iteration) {
    for (int bubble = 0; bubble < 8; ++bubble) guard.bubble_closed(milliseconds(2));
    guard.iteration_ended();
  }
  EXPECT_NEAR(static_cast<double>(guard.with_share(0.5)->count()), 1e6, 5e4);
}

TEST(Guard, ForgetsWhatIsLongOver) {
  const std::vector<Duration> lengths{milliseconds(8), milliseconds(2), milliseconds(2), milliseconds(2),
                                      milliseconds(2)};
  Guard guard = guard_of({milliseconds(4)});
  for (int iteration = 0; iteration < 5000; ++iteration) {
    for (const Duration length : lengths) guard.bubble_closed(length);
    guard.iteration_ended();
  }
  EXPECT_NEAR(static_cast<double>(guard.with_share(0.5)->count()), 1.6e6, 10);
}

TEST(Guard, TakesAnyLength) {
  for (const Duration length : {Duration{1}, Duration{microseconds(1)}, Duration{std::chrono::hours(100)}}) {
    const auto guard = guard_of({length}).with_share(0.5);
    ASSERT_TRUE(guard);
    EXPECT_LE(*guard, length);
  }
}

}  // namespace
}  // namespace weft
