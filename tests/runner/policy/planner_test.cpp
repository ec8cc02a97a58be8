// The planner: single decisions, and what they come to over distributions of bubble lengths in virtual time.
#include "runner/policy/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

namespace weft {
namespace {

using std::chrono::microseconds;

constexpr TimePoint bubble_opened{std::chrono::seconds(1)};

Bubble bubble_of(Duration low, Duration median, Duration high) {
  Bubble bubble;
  bubble.id = 1;
  bubble.opened = bubble_opened;
  bubble.forecast = Forecast{low, median, high, 8};
  return bubble;
}

Bubble bubble_of(Duration length) {
  return bubble_of(length, length, length);
}

Candidates candidates_of(std::initializer_list<Duration> lengths) {
  Candidates candidates;
  for (const Duration length : lengths) candidates.alone[candidates.count++] = length;
  return candidates;
}

const Candidates three = candidates_of({microseconds(25), microseconds(75), microseconds(300)});

InFlight one_until(TimePoint end) {
  InFlight in_flight;
  in_flight.slices = 1;
  in_flight.first_ends = in_flight.expected_end = end;
  return in_flight;
}

Duration chosen(const Decision& decision) {
  return decision.launch ? three.alone[decision.candidate] : Duration{0};
}

TEST(Planner, OnlyInAnOpenBubble) {
  const PlannerOptions options;
  EXPECT_FALSE(plan(options, bubble_opened, bubble_opened, std::nullopt, {}, three).launch);
  Bubble bubble = bubble_of(microseconds(10000));
  EXPECT_TRUE(plan(options, bubble_opened, bubble_opened, bubble, {}, three).launch);
  bubble.pattern = Pattern::posted_early;
  EXPECT_EQ(plan(options, bubble_opened, bubble_opened, bubble, {}, three).refusal, Unfilled::posted_early);
}

TEST(Planner, LongSlicesFarFromTheEndShortOnesNearIt) {
  const PlannerOptions options;
  const Bubble bubble = bubble_of(microseconds(9500), microseconds(10000), microseconds(10500));
  EXPECT_EQ(chosen(plan(options, bubble_opened, bubble_opened, bubble, {}, three)), three.alone[2]);
  EXPECT_EQ(chosen(plan(options, bubble_opened + microseconds(10000), bubble_opened + microseconds(10000), bubble, {},
                        three)),
            three.alone[0]);
}

TEST(Planner, NothingBeginsInTheGuardBeforeTheExpectedEnd) {
  constexpr Duration guard = microseconds(3000);
  const PlannerOptions options;
  const Bubble bubble = bubble_of(microseconds(9500), microseconds(10000), microseconds(10500));
  const auto at = [&](int microseconds_after, const InFlight& in_flight) {
    const TimePoint now = bubble_opened + microseconds(microseconds_after);
    return plan(options, now, now, bubble, in_flight, three, guard);
  };
  EXPECT_EQ(chosen(at(6900, {})), three.alone[2]);
  EXPECT_FALSE(at(7100, {}).launch);
  EXPECT_EQ(at(7100, {}).refusal, Unfilled::held_back) << "it has room";
  EXPECT_FALSE(at(6900, one_until(bubble_opened + microseconds(7100))).launch)
      << "behind that one it would begin later";
  EXPECT_TRUE(at(6500, one_until(bubble_opened + microseconds(6600))).launch);
  Bubble unknown = bubble;
  unknown.forecast.reset();
  const TimePoint late = bubble_opened + microseconds(40000);
  EXPECT_TRUE(plan(options, late, late, unknown, {}, three, guard).launch) << "whose end nobody expects";
}

TEST(Planner, GoesOnAfterTheForecastEnd) {
  const PlannerOptions options;
  const Bubble bubble = bubble_of(microseconds(9900), microseconds(10000), microseconds(10100));
  EXPECT_TRUE(
      plan(options, bubble_opened + microseconds(40000), bubble_opened + microseconds(40000), bubble, {}, three).launch)
      << "it is one of those that go on, nobody knows how long";
}

TEST(Planner, WithoutAForecastItWaitsUntilTheBubbleHasShownThatItLasts) {
  const PlannerOptions options;
  Bubble bubble = bubble_of(microseconds(1));
  bubble.forecast.reset();
  EXPECT_EQ(plan(options, bubble_opened, bubble_opened, bubble, {}, candidates_of({microseconds(100)})).refusal,
            Unfilled::no_forecast);
  EXPECT_EQ(
      chosen(plan(options, bubble_opened + microseconds(500), bubble_opened + microseconds(500), bubble, {}, three)),
      three.alone[0]);
}

// The detector has not looked since; that the bubble has outlived its forecast is not known.
TEST(Planner, ABubbleThatWasNotSeenForAWhileMayBeOver) {
  const PlannerOptions options;
  const Bubble bubble = bubble_of(microseconds(9900), microseconds(10000), microseconds(10100));
  const TimePoint now = bubble_opened + microseconds(11000), seen = bubble_opened + microseconds(9500);
  EXPECT_TRUE(plan(options, now, now, bubble, {}, three).launch);
  EXPECT_EQ(plan(options, now, seen, bubble, {}, three).refusal, Unfilled::no_room);
}

TEST(Planner, ATrainingThatHangsIsNotFilled) {
  const PlannerOptions options;
  const TimePoint now = bubble_opened + std::chrono::seconds(61);
  EXPECT_EQ(plan(options, now, now, bubble_of(microseconds(10000)), {}, three).refusal, Unfilled::other);
}

TEST(Planner, TheHigherThePriceTheEarlierItStops) {
  const Bubble bubble = bubble_of(microseconds(9500), microseconds(10000), microseconds(10500));
  PlannerOptions options;
  TimePoint before = bubble_opened + microseconds(20000);
  for (const double price : {20.0, 100.0, 500.0, 2500.0}) {
    options.price = price;
    TimePoint time = bubble_opened;
    while (plan(options, time, time, bubble, {}, three).launch && time < before) time += microseconds(25);
    EXPECT_LE(time, before) << price;
    before = time;
  }
  EXPECT_LT(before, bubble_opened + microseconds(9700));
  options.price = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(plan(options, bubble_opened, bubble_opened, bubble, {}, three).launch);
}

// In virtual time, the bubble seen to be open just then.
Decision behind_one(const Bubble& bubble, Duration open_for, Duration ends_in) {
  const TimePoint now = bubble_opened + open_for;
  return plan(PlannerOptions{}, now, now, bubble, one_until(now + ends_in), three);
}

TEST(Planner, OneWaitsBehindAnotherForLongOnlyWhereTheBubbleIsSureToGoOn) {
  const Bubble sure = bubble_of(std::chrono::seconds(1));
  EXPECT_TRUE(behind_one(sure, Duration{}, microseconds(300)).launch);
}

TEST(Planner, OneIsLaunchedBehindAnotherJustBeforeThatEnds) {
  const PlannerOptions options;
  const Bubble bubble = bubble_of(microseconds(5000), microseconds(10000), microseconds(15000));
  const Duration lasts = microseconds(100), lead = options.between_slices + options.launching;
  const Decision early = behind_one(bubble, microseconds(10000), lasts);
  EXPECT_FALSE(early.launch);
  EXPECT_EQ(early.again, bubble_opened + microseconds(10000) + lasts - lead);
  EXPECT_FALSE(early.refusal.has_value());
  const Decision in_time = behind_one(bubble, microseconds(10000) + lasts - lead, lead);
  EXPECT_TRUE(in_time.launch);
  EXPECT_FALSE(in_time.again.has_value()) << "asked again at once";
}

// Half of the time by which an end is seen late is lateness, for what an overrun costs; but nobody has seen it.
TEST(Planner, ASliceIsLaunchedLaterBehindALateOneOnlyByWhatWasSeenForSure) {
  PlannerOptions options;
  options.lateness = microseconds(12);
  options.surely_late = microseconds(5);
  const Bubble bubble = bubble_of(microseconds(5000), microseconds(10000), microseconds(15000));
  const TimePoint now = bubble_opened + microseconds(10000), ends = now + microseconds(100);
  const Decision decision = plan(options, now, now, bubble, one_until(ends), three);
  EXPECT_EQ(decision.again, ends + microseconds(5) - options.between_slices - options.launching);
}

TEST(Planner, WhereNoneMayWaitThePauseBehindEachSliceMakesItLonger) {
  PlannerOptions options;
  options.between_slices = microseconds(50);
  const Bubble bubble = bubble_of(microseconds(9000), microseconds(10000), microseconds(11000));
  const auto chosen_with = [&](std::uint32_t most_in_flight) {
    options.most_in_flight = most_in_flight;
    const TimePoint now = bubble_opened + microseconds(9500);
    return chosen(plan(options, now, now, bubble, {}, three));
  };
  EXPECT_EQ(chosen_with(2), three.alone[0]);
  EXPECT_GT(chosen_with(1), three.alone[0]);
}

TEST(Planner, AnOfferThatWaitsForItsTimeIsNoRefusal) {
  const Bubble bubble = bubble_of(microseconds(5000), microseconds(10000), microseconds(15000));
  const InFlight one = one_until(bubble_opened + microseconds(10100));
  const TimePoint now = bubble_opened + microseconds(10000);
  EXPECT_TRUE(plan(PlannerOptions{}, now, now, bubble, one, three).waits);
  const Candidates too_long = candidates_of({microseconds(3000)});
  EXPECT_FALSE(plan(PlannerOptions{}, now, now, bubble, one, too_long).waits);
}

TEST(Planner, ASliceBeganBehindAnotherWhenThatShouldHaveEndedAsFarAsLooksAllow) {
  const auto at = [](int number) { return bubble_opened + microseconds(number); };
  EXPECT_EQ(began_behind(at(100), at(90), at(50), at(130)), at(100)) << "a look that comes late moves nothing";
  EXPECT_EQ(began_behind(at(100), at(110), at(50), at(130)), at(110)) << "it had not ended then";
  EXPECT_EQ(began_behind(at(100), at(70), at(50), at(80)), at(80)) << "it has ended earlier";
  EXPECT_EQ(began_behind(at(100), at(90), at(105), at(130)), at(105)) << "it was not there yet";
}

TEST(Planner, WhereTheBubbleIsAboutToEndNothingIsLaunchedBehindAnother) {
  const Bubble bubble = bubble_of(microseconds(9900), microseconds(10000), microseconds(10100));
  const Decision decision = behind_one(bubble, microseconds(10000), microseconds(10));
  EXPECT_FALSE(decision.launch);
  EXPECT_EQ(decision.again, bubble_opened + microseconds(10010)) << "when it would be the first";
  EXPECT_FALSE(decision.refusal.has_value());
}

TEST(Planner, AtMostTwoInFlightAndThenAsksAgainWhenTheFirstEnds) {
  PlannerOptions options;
  InFlight two = one_until(bubble_opened + microseconds(200));
  two.slices = 2;
  two.expected_end = bubble_opened + microseconds(500);
  const Bubble bubble = bubble_of(microseconds(100000));
  const Decision decision = plan(options, bubble_opened, bubble_opened, bubble, two, three);
  EXPECT_FALSE(decision.launch);
  EXPECT_EQ(decision.again, bubble_opened + microseconds(200));
  EXPECT_EQ(
      plan(options, bubble_opened + microseconds(250), bubble_opened + microseconds(250), bubble, two, three).again,
      bubble_opened + microseconds(300))
      << "late by 50 us: after as long again";
  options.most_in_flight = 1;
  EXPECT_FALSE(
      plan(options, bubble_opened, bubble_opened, bubble, one_until(bubble_opened + microseconds(200)), three).launch);
}

TEST(Planner, ALongKernelGoesWhereTheForecastHasRoomForIt) {
  const PlannerOptions options;
  const Candidates kernel = candidates_of({microseconds(2000)});
  const Bubble bubble = bubble_of(microseconds(19000), microseconds(20000), microseconds(21000));
  EXPECT_TRUE(plan(options, bubble_opened, bubble_opened, bubble, {}, kernel).launch);
  EXPECT_FALSE(
      plan(options, bubble_opened + microseconds(18000), bubble_opened + microseconds(18000), bubble, {}, kernel)
          .launch);
}

// Bubbles of one slot, one after the other; forecasts as the detector makes them, from the latest sixteen.
struct Outcome {
  double conversion = 0;  // of the bubbles that had a forecast
  double overrun = 0;     // time by which fill work ran past their ends, likewise
};

Outcome play(double mean, double spread, unsigned seed) {
  const PlannerOptions options;
  std::minstd_rand random(seed);
  std::normal_distribution<double> length(mean, spread);
  std::deque<Duration> history;
  Duration idle{}, filled{}, overrun{};
  for (int i = 0; i < 2000; ++i) {
    const Duration real{static_cast<std::int64_t>(std::max(10.0, length(random)) * 1000)};
    if (history.size() == 16) {
      std::vector<Duration> sorted(history.begin(), history.end());
      std::sort(sorted.begin(), sorted.end());
      const Bubble bubble = bubble_of(sorted[1], sorted[7], sorted[14]);
      idle += real;
      TimePoint end = bubble_opened;  // of what was launched
      for (TimePoint now = bubble_opened; now < bubble_opened + real; now += microseconds(10)) {
        if (end > now) continue;
        const Decision decision = plan(options, now, now, bubble, {}, three);
        if (!decision.launch) continue;
        end = now + chosen(decision);
        filled += chosen(decision);
      }
      overrun += std::max(end - (bubble_opened + real), Duration{});
    }
    history.push_back(real);
    if (history.size() > 16) history.pop_front();
  }
  const auto part = [&](Duration some) {
    return static_cast<double>(some.count()) / static_cast<double>(idle.count());
  };
  return {part(filled), part(overrun)};
}

TEST(Planner, OverrunsCostLessThanTheyBring) {
  for (const double mean : {2000.0, 10000.0, 40000.0}) {
    for (const double spread : {0.002, 0.05, 0.15}) {
      const Outcome outcome = play(mean, spread * mean, 3);  // microseconds
      EXPECT_GT(outcome.conversion, mean < 10000 ? 0.75 : 0.9) << mean << " " << spread;
      EXPECT_LT(outcome.overrun * PlannerOptions{}.price, 0.3 * outcome.conversion) << mean << " " << spread;
    }
  }
}

}  // namespace
}  // namespace weft
