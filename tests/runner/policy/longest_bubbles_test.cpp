// The longest bubbles, of which only a share is filled.
#include "runner/policy/longest_bubbles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace weft {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

LongestBubbles bubbles_of(const std::vector<Duration>& lengths) {
  LongestBubbles bubbles;
  for (const Duration length : lengths) bubbles.bubble_closed(length);
  return bubbles;
}

double share_among(const std::vector<Duration>& lengths, const Longest& longest) {
  double among = 0;
  for (const Duration length : lengths) among += longest.share_at(length);
  return among / static_cast<double>(lengths.size());
}

TEST(LongestBubbles, ThoseAreWholeThatAreLongEnough) {
  std::vector<Duration> lengths(6, milliseconds(2));
  lengths.push_back(milliseconds(40));
  lengths.push_back(milliseconds(60));
  const auto longest = bubbles_of(lengths).share(0.25);
  ASSERT_TRUE(longest);
  EXPECT_EQ(longest->share_at(milliseconds(60)), 1);
  EXPECT_EQ(longest->share_at(milliseconds(40)), 1);
  EXPECT_EQ(longest->share_at(milliseconds(2)), 0);
}

// Counts fade, and are not exact.
TEST(LongestBubbles, ShorterOnesAreNotAmongThemForARestOfTheCount) {
  for (const auto& [few, many] : {std::pair(2, 6), std::pair(1, 3), std::pair(4, 12), std::pair(7, 21)}) {
    LongestBubbles bubbles;
    for (int iteration = 0; iteration < 500; ++iteration) {
      for (int i = 0; i < few; ++i) bubbles.bubble_closed(milliseconds(40));
      for (int i = 0; i < many; ++i) bubbles.bubble_closed(milliseconds(2));
      bubbles.iteration_ended();
      const auto longest = bubbles.share(0.25);
      ASSERT_TRUE(longest);
      EXPECT_EQ(longest->share_at(milliseconds(2)), 0) << iteration;
      EXPECT_GT(longest->share_at(milliseconds(40)), 0.97) << iteration;
      EXPECT_GT(longest->least, milliseconds(30)) << iteration;
    }
  }
}

TEST(LongestBubbles, OfThoseOfOneLengthAPart) {
  const auto longest = bubbles_of({10, milliseconds(8)}).share(0.25);
  ASSERT_TRUE(longest);
  EXPECT_NEAR(longest->share_at(milliseconds(8)), 0.25, 1e-6);
  EXPECT_LE(longest->least, milliseconds(8));
  EXPECT_GT(longest->least, milliseconds(6)) << "a quarter of an octave below, no more";
}

TEST(LongestBubbles, AreTheShareOfRandomBubbles) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::lognormal_distribution<double> length(14, 0.2 + 0.01 * round);
    std::vector<Duration> lengths(1 + random() % 50);
    for (Duration& each : lengths) each = Duration{static_cast<std::int64_t>(length(random)) + 1000};
    for (const double share : {0.5, 0.25, 1.0 / 64}) {
      const auto longest = bubbles_of(lengths).share(share);
      ASSERT_TRUE(longest);
      EXPECT_NEAR(share_among(lengths, *longest), share, 0.1 * share + 1e-6) << "round " << round;
    }
  }
}

TEST(LongestBubbles, UnknownWithoutBubbles) {
  EXPECT_FALSE(LongestBubbles{}.share(0.5));
  EXPECT_FALSE(bubbles_of({Duration{}}).share(0.5));
}

TEST(LongestBubbles, FollowsWhatBubblesBecome) {
  LongestBubbles bubbles = bubbles_of(std::vector<Duration>(8, milliseconds(8)));
  for (int iteration = 0; iteration < 60; ++iteration) {
    for (int bubble = 0; bubble < 8; ++bubble) bubbles.bubble_closed(milliseconds(2));
    bubbles.iteration_ended();
  }
  EXPECT_NEAR(bubbles.share(0.5)->share_at(milliseconds(2)), 0.5, 0.02);
}

TEST(LongestBubbles, ForgetsWhatIsLongOver) {
  LongestBubbles bubbles = bubbles_of({milliseconds(40)});
  for (int iteration = 0; iteration < 5000; ++iteration) {
    for (int bubble = 0; bubble < 4; ++bubble) bubbles.bubble_closed(milliseconds(2));
    bubbles.iteration_ended();
  }
  EXPECT_NEAR(bubbles.share(0.5)->share_at(milliseconds(2)), 0.5, 1e-3);
}

TEST(LongestBubbles, TakesAnyLength) {
  for (const Duration length : {Duration{1}, Duration{microseconds(1)}, Duration{std::chrono::hours(100)}}) {
    const auto longest = bubbles_of({length}).share(0.5);
    ASSERT_TRUE(longest);
    EXPECT_NEAR(longest->share_at(length), 0.5, 1e-6) << length.count();
    EXPECT_LE(longest->least, length);
  }
}

}  // namespace
}  // namespace weft
