// The interval of a pair of clocks against the truth: hundreds of simulated pairs, with drift, latencies of all kinds,
// looks that are apart, clocks that step, are slewed or wander, and times without messages.
#include "trace/clocks/pair_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>

#include "tests/trace/clocks/simulated_hosts.h"
#include "trace/clocks/steady_rate.h"

namespace weft {
namespace {

using test::Dice;
using test::SimulatedCase;
using test::SimulatedClock;
using test::SimulatedLink;

struct Verdict {
  bool is_inside = true;  // the truth, of the interval, at all times
  double within = 0;      // nanoseconds, median
  PairFit fit;
};

PairBounds bounds_of(const SimulatedCase& simulated, std::uint64_t seed) {
  ClockBounds bounds;
  Dice dice(seed);
  test::add_messages(simulated, 0, 1, bounds, dice);
  PairBounds pair = bounds.pairs().at({0, 1});
  pair.finish();
  return pair;
}

Verdict verdict_on(const SimulatedCase& simulated, std::uint64_t seed) {
  constexpr int times = 400;
  Verdict verdict;
  const auto fit = fit_pair(bounds_of(simulated, seed));
  EXPECT_TRUE(fit) << simulated.name << " " << seed;
  if (!fit) return {false, 0, {}};
  verdict.fit = *fit;
  verdict.within = static_cast<double>(fit->offset.median_within().count());
  for (int step = 0; step <= times; ++step) {
    const double time = 1 + (simulated.length - 1) * step / times;
    if (simulated.other.stands_still(time)) continue;  // nobody is there to see it
    const double base = simulated.base.at(time) * 1e9, truth = simulated.other.at(time) * 1e9 - base;
    const KnownOffset found = fit->offset.at(TimePoint(Duration(std::llround(base))));
    const double error = std::abs(truth - static_cast<double>(found.ahead.count()));
    verdict.is_inside = verdict.is_inside && error <= static_cast<double>(found.within.count()) + 2;
  }
  return verdict;
}

double logarithmic(Dice& dice, double low, double high) {
  return std::exp(dice.between(std::log(low), std::log(high)));
}

void draw_link(SimulatedLink& link, Dice& dice) {
  link.least = logarithmic(dice, 5e-6, 200e-6);
  link.more = logarithmic(dice, 5e-6, 300e-6);
}

SimulatedCase drawn(const std::string& name, Dice& dice) {
  SimulatedCase simulated;
  simulated.name = name;
  simulated.base.start = dice.between(100, 1e6);
  simulated.other.start = dice.between(100, 1e6);
  simulated.base.rate = dice.between(-50e-6, 50e-6);
  simulated.other.rate = dice.between(-50e-6, 50e-6);
  simulated.length = logarithmic(dice, 10, 1800);
  simulated.iteration = logarithmic(dice, 0.05, 2);
  simulated.microbatches = 1 + static_cast<int>(dice.one_of(8));
  simulated.look = logarithmic(dice, 20e-6, 500e-6);
  simulated.busy = dice.between(0, 0.9);
  draw_link(simulated.to_other, dice);
  simulated.to_base = simulated.to_other;
  return simulated;
}

// The least that could be known: half of the two least latencies, and of the looks at both ends of both messages.
double least_within(const SimulatedCase& simulated) {
  return (simulated.to_other.least + simulated.to_base.least) / 2 * 1e9 + simulated.look * 1e9;
}

struct Score {
  int cases = 0, inside = 0, with_breaks = 0;
  std::vector<double> widths;  // in parts of the least that could be known

  double median_width() {
    std::ranges::nth_element(widths, widths.begin() + static_cast<std::ptrdiff_t>(widths.size() / 2));
    return widths[widths.size() / 2];
  }
};

template <class Change>
Score score_of(const std::string& name, int cases, Change change) {
  Score score;
  for (int number = 0; number < cases; ++number) {
    Dice dice(static_cast<std::uint64_t>(number) * 7919 + name.size());
    SimulatedCase simulated = drawn(name, dice);
    change(simulated, dice);
    const Verdict verdict = verdict_on(simulated, static_cast<std::uint64_t>(number) + 1);
    ++score.cases;
    score.inside += verdict.is_inside ? 1 : 0;
    score.with_breaks += verdict.fit.breaks.empty() ? 0 : 1;
    score.widths.push_back(verdict.within / least_within(simulated));
    if (!verdict.is_inside) std::cout << name << ", case " << number << ": the truth is outside at some time\n";
  }
  return score;
}

SimulatedCase toy() {
  SimulatedCase simulated;
  simulated.base.start = 5000;
  simulated.other.start = 5000.005;
  simulated.other.rate = 20e-6;
  simulated.to_other = simulated.to_base = {60e-6, 120e-6};
  simulated.look = 50e-6;
  simulated.length = 60;
  return simulated;
}

constexpr auto nothing_else = [](SimulatedCase&, Dice&) {};

TEST(PairFit, HoldsTheTruthAndIsNotWiderThanLatenciesAndLooksMakeIt) {
  Score score = score_of("as drawn", 100, nothing_else);
  EXPECT_EQ(score.inside, score.cases);
  EXPECT_LT(score.median_width(), 1.5);
  EXPECT_EQ(score.with_breaks, 0);
}

TEST(PairFit, HoldsTheTruthWhereOneWayIsTenTimesAsLong) {
  Score score = score_of("asymmetric", 100, [](SimulatedCase& simulated, Dice& dice) {
    draw_link(simulated.to_base, dice);
    simulated.to_base.least *= 10;
  });
  EXPECT_EQ(score.inside, score.cases);
  EXPECT_LT(score.median_width(), 1.5);
}

TEST(PairFit, HoldsTheTruthWhereManyMessagesAreMuchTooLate) {
  Score score = score_of("spikes", 60, [](SimulatedCase& simulated, Dice&) {
    simulated.to_other.spikes = simulated.to_base.spikes = 0.5;
    simulated.to_other.spike = simulated.to_base.spike = 5e-3;
  });
  EXPECT_EQ(score.inside, score.cases);
  EXPECT_LT(score.median_width(), 2);
}

TEST(PairFit, HoldsTheTruthOfClocksWhoseRatesWander) {
  Score score = score_of("wander", 60, [](SimulatedCase& simulated, Dice& dice) {
    simulated.other.wave = dice.between(0, 2e-6);
    simulated.other.period = dice.between(60, 1200);
  });
  EXPECT_EQ(score.inside, score.cases);
  EXPECT_LT(score.median_width(), 1.5);
}

TEST(PairFit, HoldsTheTruthWhereThereAreCollectivesOnly) {
  Score score = score_of("collectives", 60, [](SimulatedCase& simulated, Dice& dice) {
    simulated.has_to_other = simulated.has_to_base = false;
    simulated.collectives = 1 + static_cast<int>(dice.one_of(3));
  });
  EXPECT_EQ(score.inside, score.cases);
  EXPECT_LT(score.median_width(), 1.5);
}

TEST(PairFit, HoldsTheTruthAcrossALongTimeWithoutMessages) {
  Score score = score_of("gap", 60, [](SimulatedCase& simulated, Dice&) {
    simulated.gap_from = simulated.length * 0.3;
    simulated.gap_to = simulated.length * 0.7;
  });
  EXPECT_EQ(score.inside, score.cases);
  EXPECT_LT(score.median_width(), 2.5);  // two fifths of the time are without messages
}

// Nothing says when in that time it was, or whether the clock stepped or drifted otherwise.
TEST(PairFit, HoldsTheTruthOfAStepWithinALongTimeWithoutMessages) {
  Score score = score_of("gap and step", 100, [](SimulatedCase& simulated, Dice& dice) {
    simulated.length = logarithmic(dice, 40, 200);
    simulated.iteration = logarithmic(dice, 0.05, 0.3);
    simulated.gap_from = simulated.length * dice.between(0.3, 0.5);
    simulated.gap_to = simulated.gap_from + std::min(simulated.length * 0.3, logarithmic(dice, 5, 60));
    simulated.other.step_at = dice.between(simulated.gap_from + 0.5, simulated.gap_to - 0.5);
    simulated.other.step = (dice.chance(0.5) ? 1 : -1) * logarithmic(dice, 100e-6, 10e-3);
  });
  EXPECT_EQ(score.inside, score.cases);
  EXPECT_LT(score.median_width(), 1.5);
}

TEST(PairFit, NotesAStepWithinALongTimeWithoutMessages) {
  int noted = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimulatedCase simulated = toy();
    simulated.length = 70;
    simulated.iteration = 0.1;
    simulated.gap_from = 30;
    simulated.gap_to = 40;
    simulated.other.step_at = 30.5 + 0.45 * static_cast<double>(seed);
    simulated.other.step = seed % 2 == 0 ? 2e-3 : -2e-3;
    const Verdict verdict = verdict_on(simulated, seed);
    EXPECT_TRUE(verdict.is_inside) << seed;
    if (verdict.fit.breaks.empty()) continue;
    ++noted;
    const RateBreak largest =
        std::ranges::max(verdict.fit.breaks, {}, [](const RateBreak& one) { return std::chrono::abs(one.moved); });
    EXPECT_NEAR(static_cast<double>(largest.moved.count()), simulated.other.step * 1e9, 0.5e6) << seed;
    EXPECT_NEAR(static_cast<double>((largest.time - verdict.fit.first).count()), 39e9, 1e9) << seed;
  }
  EXPECT_EQ(noted, 20);
}

TEST(PairFit, ALongTimeWithoutMessagesIsNoBreak) {
  SimulatedCase simulated = toy();
  simulated.gap_from = 20;
  simulated.gap_to = 40;
  EXPECT_TRUE(verdict_on(simulated, 3).fit.breaks.empty());
}

// Of a fast one nothing is known but its bounds: it is not taken for a usual one.
TEST(PairFit, HoldsTheTruthOfClocksThatDriftFastAndOfFewMessages) {
  Score score = score_of("fast", 60, [](SimulatedCase& simulated, Dice& dice) {
    simulated.other.rate = (dice.chance(0.5) ? 1 : -1) * dice.between(250e-6, 600e-6);
    simulated.length = logarithmic(dice, 3, 20);
    simulated.iteration = 1;
    simulated.microbatches = 1;
    simulated.busy = 0;
    simulated.look = logarithmic(dice, 20e-6, 5e-3);
  });
  EXPECT_EQ(score.inside, score.cases);
}

TEST(PairFit, BeyondThreeMessagesOfAFastClockTheIntervalIsWideEnough) {
  SimulatedCase simulated = toy();
  simulated.other.rate = 350e-6;
  simulated.length = 1.6;
  simulated.iteration = 0.2;
  simulated.microbatches = 1;
  const auto fit = fit_pair(bounds_of(simulated, 1));
  ASSERT_TRUE(fit);
  for (const double time : {0.0, 2.0, 10.0, 100.0}) {
    const double base = simulated.base.at(time) * 1e9, truth = simulated.other.at(time) * 1e9 - base;
    const KnownOffset found = fit->offset.at(TimePoint(Duration(std::llround(base))));
    EXPECT_LE(std::abs(truth - static_cast<double>(found.ahead.count())), static_cast<double>(found.within.count()) + 2)
        << time;
  }
}

TEST(PairFit, HoldsTheTruthOfAFewMessages) {
  Score score = score_of("few", 60, [](SimulatedCase& simulated, Dice&) {
    simulated.length = 5;
    simulated.iteration = 1;
    simulated.microbatches = 1;
    simulated.busy = 0;
  });
  EXPECT_EQ(score.inside, score.cases);
  EXPECT_LT(score.median_width(), 5);
}

TEST(PairFit, NoticesAClockThatJumpsOrStandsStill) {
  Score score = score_of("steps", 100, [](SimulatedCase& simulated, Dice& dice) {
    simulated.other.step_at = simulated.length * dice.between(0.1, 0.9);
    simulated.other.step = (dice.chance(0.5) ? 1 : -1) * logarithmic(dice, 10e-3, 10);
  });
  EXPECT_GE(score.inside, score.cases * 95 / 100);
  EXPECT_GE(score.with_breaks, score.cases * 95 / 100);
  EXPECT_LT(score.median_width(), 2);
}

// Bounds of before and after the step need not contradict each other.
TEST(PairFit, HoldsTheTruthOfStepsThatAreAsSmallAsTheInterval) {
  Score score = score_of("small steps", 100, [](SimulatedCase& simulated, Dice& dice) {
    simulated.other.step_at = simulated.length * dice.between(0.1, 0.9);
    simulated.other.step = (dice.chance(0.5) ? 1 : -1) * 1e-9 * least_within(simulated) * dice.between(0.2, 3);
  });
  EXPECT_GE(score.inside, score.cases * 95 / 100);
  EXPECT_LT(score.median_width(), 1.5);
}

TEST(PairFit, HoldsTheTruthOfAClockThatNtpSlews) {
  Score score = score_of("slews", 100, [](SimulatedCase& simulated, Dice& dice) {
    simulated.other.slew_from = simulated.length * dice.between(0.1, 0.6);
    simulated.other.slew_to = simulated.other.slew_from + simulated.length * dice.between(0.05, 0.3);
    simulated.other.slew_rate = dice.between(-300e-6, 300e-6);
  });
  EXPECT_GE(score.inside, score.cases * 95 / 100);
  EXPECT_LT(score.median_width(), 2);
}

TEST(PairFit, FindsOffsetAndDrift) {
  const Verdict verdict = verdict_on(toy(), 3);
  EXPECT_TRUE(verdict.is_inside);
  EXPECT_NEAR(verdict.fit.rate, 20e-6, 2e-6);
  EXPECT_NEAR(verdict.fit.rate, 20e-6, verdict.fit.rate_within);
  EXPECT_LT(verdict.within, 200e3);
  EXPECT_GT(verdict.within, 60e3);  // half of both latencies: nothing says which part is whose
  EXPECT_EQ(verdict.fit.contradictions, 0U);
}

TEST(PairFit, SaysWhenAndByHowMuchAClockStepped) {
  SimulatedCase simulated = toy();
  simulated.other.step_at = 31;
  simulated.other.step = 3e-3;
  const Verdict verdict = verdict_on(simulated, 3);
  EXPECT_TRUE(verdict.is_inside);
  ASSERT_FALSE(verdict.fit.breaks.empty());
  const RateBreak largest = std::ranges::max(verdict.fit.breaks, {}, &RateBreak::moved);
  EXPECT_NEAR(static_cast<double>(largest.moved.count()), 3e6, 0.5e6);
  EXPECT_NEAR(static_cast<double>((largest.time - verdict.fit.first).count()), 30e9, 6e9);
}

TEST(PairFit, IsWiderWhereNothingIsKnown) {
  SimulatedCase simulated = toy();
  simulated.gap_from = 20;
  simulated.gap_to = 50;
  const Verdict verdict = verdict_on(simulated, 3);
  const auto within = [&](double time) {
    return verdict.fit.offset.at(TimePoint(Duration(std::llround(simulated.base.at(time) * 1e9)))).within;
  };
  EXPECT_GT(within(35), within(10));
  EXPECT_GT(within(1000), within(60) + std::chrono::microseconds(400));
}

TEST(PairFit, IsNothingWhereMessagesWentOneWayOnly) {
  SimulatedCase simulated = toy();
  simulated.has_to_base = false;
  EXPECT_FALSE(fit_pair(bounds_of(simulated, 1)));
  EXPECT_FALSE(fit_pair(PairBounds()));
}

TEST(PairFit, OneMessageEachWayIsEnoughForAnInterval) {
  PairBounds bounds;
  bounds.add_to_other(TimePoint(Duration(1'000'000)), TimePoint(Duration(51'000'100)));
  bounds.add_to_base(TimePoint(Duration(51'000'300)), TimePoint(Duration(1'000'500)));
  bounds.finish();
  const auto fit = fit_pair(bounds);
  ASSERT_TRUE(fit);
  const KnownOffset reading = fit->offset.at(TimePoint(Duration(1'000'200)));
  EXPECT_LE(std::abs((reading.ahead - Duration(49'999'950)).count()), reading.within.count());
  EXPECT_GE(reading.within, Duration(150));
  EXPECT_LT(reading.within, Duration(1000));
}

// Of a trace that was tampered with, or of traces of two runs.
TEST(PairFit, BoundsThatOnlyContradictEachOtherGiveAWideInterval) {
  PairBounds bounds;
  for (long k = 1; k < 40; ++k) {
    bounds.add_to_other(TimePoint(Duration(k * 1'000'000)), TimePoint(Duration(k * 1'000'000)));
    bounds.add_to_base(TimePoint(Duration(k * 1'000'000 + 500'000'000)), TimePoint(Duration(k * 1'000'000)));
  }
  bounds.finish();
  const auto fit = fit_pair(bounds);
  ASSERT_TRUE(fit);
  EXPECT_GT(fit->contradictions, 0U);
  EXPECT_GE(fit->offset.median_within(), std::chrono::milliseconds(249));
}

// Cheap enough for thousands of pairs, however bad the times are.
TEST(PairFit, TimesOfNoSenseCostLittle) {
  Dice dice(1);
  std::clock_t longest = 0;
  for (const double apart : {1e3, 1e9, 1e12, 5e17}) {
    PairBounds bounds;
    const auto time = [&] { return TimePoint(Duration(std::llround(dice.between(-apart, apart)))); };
    for (int count = 0; count < 20'000; ++count) {
      bounds.add_to_other(time(), time());
      bounds.add_to_base(time(), time());
    }
    bounds.finish();
    const std::clock_t begun = std::clock();
    EXPECT_TRUE(fit_pair(bounds));
    longest = std::max(longest, std::clock() - begun);
  }
  std::cout << "at most " << 1000 * longest / CLOCKS_PER_SEC << " ms of one processor\n";
  EXPECT_LT(longest, CLOCKS_PER_SEC);
}

TEST(PairFit, NoNumberOverflows) {
  constexpr long far = 1L << 59;
  PairBounds bounds;
  bounds.add_to_other(TimePoint(Duration(-far)), TimePoint(Duration(2 * far)));
  bounds.add_to_other(TimePoint(Duration(2 * far)), TimePoint(Duration(-far)));
  bounds.add_to_base(TimePoint(Duration(2 * far)), TimePoint(Duration(-far)));
  bounds.add_to_base(TimePoint(Duration(-far)), TimePoint(Duration(2 * far)));
  bounds.finish();
  const auto fit = fit_pair(bounds);
  ASSERT_TRUE(fit);
  EXPECT_GT(fit->offset.at(TimePoint::max()).within, Duration{});
  EXPECT_GT(fit->offset.inverse().then(fit->offset).at(TimePoint::min()).within, Duration{});
}

TEST(SteadyRate, IsTheRangeOfAllLinesThatContradictNoBound) {
  const auto bound = [](double seconds, double microseconds) {
    return ClockBound{TimePoint(Duration(std::llround(seconds * 1e9))), Duration(std::llround(microseconds * 1e3))};
  };
  const std::vector<ClockBound> most{bound(0, 10), bound(10, 110), bound(20, 215)};
  const std::vector<ClockBound> least{bound(0, -10), bound(10, 90), bound(20, 190)};
  const auto rate = steady_rate(most, least);
  ASSERT_TRUE(rate);
  EXPECT_NEAR(rate->low, 9e-6, 1e-8);       // from 10 at 0 to 190 at 20
  EXPECT_NEAR(rate->high, 11.25e-6, 1e-8);  // from -10 at 0 to 215 at 20
  EXPECT_NEAR(rate->width, 20e3, 10);
  EXPECT_FALSE(steady_rate(most, std::vector<ClockBound>{bound(0, -10), bound(10, 120), bound(20, 190)}));
}

}  // namespace
}  // namespace weft
