// The slowdown budget: what the loop does with a main job that fill slows down, in virtual time.
#include "runner/policy/budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/runner/policy/main_job.h"

namespace weft {
namespace {

// Iterations of some 100 ms that differ by chance.
struct NoisyJob : testing::MainJob {
  std::minstd_rand random;
  std::normal_distribution<double> spread;  // percent of an iteration

  NoisyJob(unsigned seed, double deviation, double allowed = 0.01) : random(seed), spread(0, deviation) {
    budget = Budget(allowed);
  }
  double noise() { return spread(random); }
};

using testing::bubble_of;
using testing::MainJob;

Iteration iteration_of(std::uint64_t number) {
  Iteration iteration;
  iteration.number = iteration.turn = iteration.since_found = number;
  iteration.rhythm = 1;
  iteration.ended = TimePoint{std::chrono::milliseconds(number * 10)};
  iteration.started = iteration.ended - std::chrono::milliseconds(10);
  return iteration;
}

Bubble first_bubble_of(std::uint64_t number) {
  Bubble bubble;
  bubble.id = number;
  bubble.iteration = bubble.turn = number;
  bubble.rhythm = 1;
  return bubble;
}

// Of a host far ahead of its GPU few ends are seen, or none.
TEST(UnseenEnds, AtMostFortyIterationsAreFilledUntilOneIsSeenToEnd) {
  Budget budget(0.01);
  std::uint64_t number = 0;
  const auto filled_until_refused = [&] {
    int filled = 0;
    for (int unfilled = 0; unfilled < 20; ++number) {  // control iterations go without fill, too
      const bool may = budget.may_fill(first_bubble_of(number + 1));
      unfilled = may ? 0 : unfilled + 1;
      if (!may) continue;
      budget.launched(number + 1);
      EXPECT_TRUE(budget.may_fill(first_bubble_of(number + 1))) << "one that has begun goes on";
      ++filled;
    }
    return filled;
  };
  budget.ended(iteration_of(++number));
  EXPECT_EQ(filled_until_refused(), 40);
  for (int run = 0; run < 5; ++run) budget.ended(iteration_of(number)), ++number;
  EXPECT_EQ(filled_until_refused(), 0) << "no iteration without fill was compared";
  while (part_of(number).purpose != IterationPurpose::control || !part_of(number).comparable) ++number;
  budget.ended(iteration_of(number++));
  EXPECT_EQ(filled_until_refused(), 40) << "it can be measured";
  budget.ended(iteration_of(number++));
  EXPECT_EQ(filled_until_refused(), 40);
}

TEST(Budget, IterationsWithoutFillAreWithoutFill) {
  MainJob job;
  job.run(1000, [](double) { return 100.0; });
  std::uint64_t controls = 0;
  for (std::uint64_t turn = 1; turn <= 1000; ++turn) controls += is_control(turn) ? 1 : 0;
  EXPECT_EQ(job.in_control, 0U);
  EXPECT_EQ(job.filled, 8 * (999 - controls));  // in the first one the rhythm is new
  EXPECT_DOUBLE_EQ(job.budget.present().slowdown->estimate, 0);
}

TEST(Budget, UnlimitedIsNeverWithoutFill) {
  MainJob job;
  job.budget = Budget(Budget::unlimited);
  job.run(200, [](double share) { return 100 + 90 * share; });
  EXPECT_EQ(job.filled, 8U * 200U);
  EXPECT_FALSE(job.budget.present().slowdown);
}

TEST(Budget, FillsLessUntilItIsKept) {
  MainJob job;
  job.run(2000, [](double share) { return 100 + 3 * share; });
  EXPECT_EQ(job.changes[Budget::Change::less], 1);  // to a quarter, which costs 0.75 %
  EXPECT_EQ(job.changes[Budget::Change::more], 0);
  EXPECT_EQ(job.changes[Budget::Change::stop], 0);
  EXPECT_DOUBLE_EQ(job.budget.present().share, 0.25);
  EXPECT_NEAR(job.budget.present().slowdown->estimate, 0.0075, 0.0001);
}

TEST(Budget, StopsWhenNotEvenLittleIsCheapEnough) {
  MainJob job;
  job.run(2000, [](double share) { return share > 0 ? 105.0 : 100.0; });
  EXPECT_EQ(job.changes[Budget::Change::less], 2);
  EXPECT_EQ(job.changes[Budget::Change::stop], 1);
  EXPECT_LT(job.number, 300U);
  EXPECT_NEAR(job.budget.present().slowdown->low, 0.05, 1e-9);
}

TEST(Budget, NothingIsDecidedBeforeASecondLook) {
  MainJob job;
  job.run(20, [](double share) { return 100 + 400 * share; });
  EXPECT_EQ(job.changes[Budget::Change::less], 0);
  job.run(8, [](double share) { return 100 + 400 * share; });
  EXPECT_EQ(job.changes[Budget::Change::less], 1);
  EXPECT_EQ(job.budget.present().share, 1.0 / 64) << "the lowest: it is not sure yet";
}

TEST(Budget, FillsMoreAgainWhenItHasBecomeCheap) {
  MainJob job;
  job.run(300, [](double share) { return 100 + 4 * share; });
  EXPECT_LT(job.budget.present().share, 1.0);
  job.run(2000, [](double) { return 100.0; });
  EXPECT_DOUBLE_EQ(job.budget.present().share, 1.0);
}

TEST(Budget, NoiseDoesNotStopIt) {
  double filled = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    NoisyJob job(seed, 2);
    job.run(5000, [&](double share) { return 100 + 0.2 * share + job.noise(); });
    EXPECT_EQ(job.changes[Budget::Change::stop], 0) << seed;
    EXPECT_GT(static_cast<double>(job.filled), 0.25 * 8 * 5000) << seed;
    filled += static_cast<double>(job.filled);
  }
  EXPECT_GT(filled, 0.85 * 20 * 8 * 5000);
}

TEST(Budget, ASlowdownIsFoundInNoise) {
  NoisyJob job(8, 2);
  std::uint64_t at_first = 0;
  for (int part = 0; part < 20; ++part) {
    job.run(1000, [&](double share) { return 100 + 4 * share + job.noise(); });
    if (part == 0) at_first = job.filled;
  }
  EXPECT_LT(job.filled - at_first, 0.4 * 8 * 19000);  // of its bubbles a quarter costs 1 %
}

// The launches of a bubble at the edge belong to the iteration of the group that it waits for.
TEST(Budget, AnIterationWithoutALaunchIsNotComparedAsFilled) {
  Budget budget(0.01);
  for (std::uint64_t number = 1; number <= 58; ++number) {
    Iteration iteration;
    iteration.number = iteration.turn = iteration.since_found = number;
    iteration.rhythm = 1;
    iteration.ended += std::chrono::microseconds(100);
    const bool control = part_of(number).purpose == IterationPurpose::control;
    if (number >= 13 && !control && number % 2 == 0) budget.launched(number);
    if (number >= 13 && !is_control(number + 1) && number % 2 == 1) budget.launched(number + 1);  // ahead of its end
    if (number == 11 || number == 55) budget.launched(number);
    budget.ended(iteration);
  }
  ASSERT_TRUE(budget.present().slowdown);
  EXPECT_EQ(budget.present().slowdown->filled, 16U);  // the even ones from 14 to 18 and 26 to 50
  EXPECT_EQ(budget.present().slowdown->control, 5U);  // 10, 22, 23, 54, 56: slices were launched in the others
}

// A longer sequence: other sizes, and iterations that take twice as long.
TEST(Budget, IterationsOfTwoRhythmsAreNotCompared) {
  MainJob job;
  job.run(700, [](double) { return 400.0; });
  job.rhythm_found(2);
  job.run(700, [](double) { return 900.0; });
  EXPECT_EQ(job.changes[Budget::Change::less], 0);
  EXPECT_EQ(job.changes[Budget::Change::stop], 0);
  EXPECT_DOUBLE_EQ(job.budget.present().slowdown->estimate, 0);
}

TEST(Budget, AShorterIterationHidesNoSlowdown) {
  MainJob job;
  job.run(700, [](double) { return 900.0; });
  job.rhythm_found(2);
  job.run(60, [](double share) { return share > 0 ? 440.0 : 400.0; });
  EXPECT_GE(job.changes[Budget::Change::less], 1);
  job.run(1000, [](double share) { return share > 0 ? 440.0 : 400.0; });
  EXPECT_DOUBLE_EQ(job.budget.present().share, 0);
}

TEST(Budget, ARhythmThatCannotKeepItEndsFillingOfThatRhythmOnly) {
  MainJob job;
  for (int epoch = 0; epoch < 6; ++epoch) {
    job.rhythm_found(1);
    job.run(300, [](double share) { return 400 * (1 + 0.004 * share); });
    job.rhythm_found(2);
    job.run(200, [](double share) { return share > 0 ? 103.0 : 100.0; });
  }
  EXPECT_DOUBLE_EQ(job.budget.present().share, 0);
  EXPECT_NEAR(job.budget.present().slowdown->estimate, 0.03, 1e-6);
  EXPECT_DOUBLE_EQ(job.budget.longest().share, 1);
  EXPECT_NEAR(job.budget.longest().slowdown->estimate, 0.004, 1e-6);
  EXPECT_FALSE(job.budget.may_fill(bubble_of(1, job.number, job.turn, 2)));
  EXPECT_TRUE(job.budget.may_fill(bubble_of(1, job.number, 20, 1)));
  EXPECT_EQ(job.changes[Budget::Change::stop], 0);
  job.rhythm_found(1);
  job.run(2000, [](double share) { return share > 0 ? 412.0 : 400.0; });
  EXPECT_EQ(job.changes[Budget::Change::stop], 1);  // now there is none left
}

// It is not known yet, so it is filled, but as little as can be.
TEST(Budget, ARhythmAfterOneThatEndedFillingIsMeasuredItself) {
  MainJob job;
  job.run(100, [](double) { return 100.0; });
  job.rhythm_found(2);
  job.run(600, [](double share) { return share > 0 ? 103.0 : 100.0; });
  ASSERT_DOUBLE_EQ(job.budget.present().share, 0);
  job.rhythm_found(3);
  job.run(1, [](double) { return 100.0; });
  EXPECT_DOUBLE_EQ(job.budget.present().share, 1.0 / 64);
}

TEST(Budget, TrainingAndEvaluationInTurnAreComparedEachWithItself) {
  MainJob job;
  for (int epoch = 0; epoch < 20; ++epoch) {
    job.rhythm_found(1);
    job.run(50, [](double share) { return 400 * (1 + 0.03 * share); });
    job.rhythm_found(2);
    job.run(20, [](double) { return 100.0; });
  }
  EXPECT_EQ(job.changes[Budget::Change::less], 1);  // of the training, to a quarter: 0.75 %
  EXPECT_EQ(job.changes[Budget::Change::stop], 0);
  EXPECT_DOUBLE_EQ(job.budget.present().share, 1);
  EXPECT_DOUBLE_EQ(job.budget.longest().share, 0.25);
  EXPECT_NEAR(job.budget.longest().slowdown->estimate, 0.0075, 0.0001);
}

// No more than what the budget allows in most pipelines, nor than twice as much in any.
TEST(Budget, ChoosesALevelByWhatFillCostsInOtherPipelines) {
  const auto share_after = [](double percent) {
    MainJob job;
    job.run(28, [&](double share) { return share == 1 ? 100 + percent : 100.0; });
    EXPECT_EQ(job.changes[Budget::Change::less], 1);
    return job.budget.present().share;
  };
  EXPECT_EQ(share_after(1.5), 1.0) << "at a higher price";
  EXPECT_EQ(share_after(1.9), 1.0 / 2);
  EXPECT_EQ(share_after(3.5), 1.0 / 4);
  EXPECT_EQ(share_after(9), 1.0 / 8);
  EXPECT_EQ(share_after(15), 1.0 / 16);
  EXPECT_EQ(share_after(25), 1.0 / 32);
  EXPECT_EQ(share_after(60), 1.0 / 64);
}

// The savings of a guard are measured there.
TEST(Budget, FromALevelWithAGuardHalfAsManyBubblesAreTakenToCostHalfAsMuch) {
  MainJob job;
  job.run(28, [](double) { return 100.0; });
  const auto share_after_less = [&](double percent) {
    const int before = job.changes[Budget::Change::less];
    while (job.changes[Budget::Change::less] == before && job.number < 5000)
      job.run(1, [&](double share) { return share > 0 ? 100 + percent : 100.0; });
    return job.budget.present().share;
  };
  EXPECT_EQ(share_after_less(9), 1.0 / 8);
  EXPECT_EQ(share_after_less(1.3), 1.0 / 8) << "behind a longer guard";
  EXPECT_EQ(share_after_less(1.5), 1.0 / 16);
  EXPECT_EQ(share_after_less(1.5), 1.0 / 32);
  EXPECT_EQ(share_after_less(1.5), 1.0 / 64);
}

// A new rhythm is not known to be any cheaper than the one before.
TEST(Budget, AnotherRhythmBeginsAtTheLevelOfTheOneBefore) {
  MainJob job;
  job.run(500, [](double share) { return 100 + 3 * share; });
  ASSERT_DOUBLE_EQ(job.budget.present().share, 0.25);
  for (std::uint64_t rhythm = 2; rhythm < 50; ++rhythm) {
    job.rhythm_found(rhythm);
    job.run(10, [](double share) { return 100 + 3 * share; });
    EXPECT_DOUBLE_EQ(job.budget.present().share, 0.25);
  }
}

TEST(Budget, WhatBelongsToNoIterationIsNotFilled) {
  MainJob job;
  job.run(24, [](double) { return 100.0; });
  EXPECT_TRUE(job.budget.may_fill(bubble_of(1, 25, 25)));
  EXPECT_FALSE(job.budget.may_fill(bubble_of(1, 0, 25)));
  EXPECT_FALSE(job.budget.may_fill(bubble_of(1, 0, 0, 0)));
  EXPECT_TRUE(Budget(Budget::unlimited).may_fill(bubble_of(1, 0, 21)));
}

// Between bounds, and where the training says iterations, turns do not begin anew; a checkpoint may still be written.
TEST(Budget, TheFirstIterationsAfterABreakAreNotCompared) {
  MainJob whole, broken;
  for (MainJob* const job : {&whole, &broken}) {
    job->run(152, [](double) { return 100.0; });
    if (job == &broken) job->since = 0;
    job->run(20, [](double) { return 100.0; });
  }
  // The run without fill begins with 159. Of those before it 16 count up to 157; after the break 157 is the fifth.
  EXPECT_EQ(broken.budget.present().slowdown->filled, whole.budget.present().slowdown->filled - 15);
}

// Steps of any size between the turns of those that are compared: it decides all the same.
TEST(Budget, DecidesWhateverTurnsAreCompared) {
  MainJob job;
  const auto slower = [](double share) { return share > 0 ? 110.0 : 100.0; };
  while (job.turn < 4000 && job.changes[Budget::Change::less] == 0) {
    if ((job.turn + 1) % 4 == 0) ++job.turn;  // these are never said
    job.run(1, slower);
  }
  EXPECT_GT(job.changes[Budget::Change::less], 0);
}

// A training that goes on from a checkpoint, and says so by its numbers: the early runs without fill are long over.
TEST(Budget, ATurnThatBeginsLateOnlyMeansLessFillAtFirst) {
  for (std::uint64_t first = 1000000; first < 1000160; ++first) {
    MainJob job;
    job.turn = first;
    job.run(400, [](double share) { return share > 0 ? 110.0 : 100.0; });
    const int decisions = job.changes[Budget::Change::less] + job.changes[Budget::Change::stop];
    EXPECT_GT(decisions, 0) << first;
    EXPECT_LT(job.filled, 8U * 230U) << first;
  }
}

// Its beginning was not reported; or it never lasts until its first iterations without fill.
TEST(Budget, OfARhythmWithNothingToCompareWithLittleIsFilled) {
  MainJob job;
  job.turn = 72;
  job.run(86, [](double) { return 100.0; });
  EXPECT_EQ(job.filled, 8U * 40U);
  job.run(50, [](double) { return 100.0; });
  EXPECT_GT(job.filled, 8U * 60U);

  MainJob broken_off;
  for (int breaks = 0; breaks < 100; ++breaks) {
    broken_off.rhythm_found(1);
    broken_off.run(9, [](double) { return 100.0; });
  }
  EXPECT_EQ(broken_off.filled, 8U * 40U);
  broken_off.rhythm_found(1);
  broken_off.run(30, [](double) { return 100.0; });
  EXPECT_GT(broken_off.filled, 8U * 50U);
}

// Evaluations break a rhythm; from the third one on iterations lie between bounds, and their turns go on. The next run
// without fill is then as far away as in a run that has gone on for long.
TEST(Budget, ARhythmThatFollowsAMeasuredOneIsFilledUntilItsFirstRun) {
  MainJob job;
  job.run(130, [](double) { return 100.0; });
  job.rhythm_found(2);
  job.turn = 182;
  const std::uint64_t before = job.filled;
  job.run(140, [](double) { return 100.0; });
  EXPECT_EQ(job.filled - before, 8U * (140U - 1U)) << "all but the first, of a rhythm that nobody knows yet";
  job.rhythm_found(3);
  job.turn = 182;
  const std::uint64_t between = job.filled;
  job.run(140, [](double) { return 100.0; });
  EXPECT_EQ(job.filled - between, 8U * 40U) << "the one before had no iterations without fill";
}

TEST(Budget, ALowLevelSpreadsEvenly) {
  MainJob job;
  job.run(60, [](double share) { return 100 + 100 * share; });
  ASSERT_EQ(job.budget.present().share, 1.0 / 64);
  const auto every = static_cast<std::uint64_t>(1 / job.budget.present().share);
  const auto filled_in = [&](std::uint64_t first_turn, std::int32_t first_slot, std::uint64_t turns, int slots) {
    std::uint64_t filled = 0;
    for (std::uint64_t turn = first_turn; turn < first_turn + turns; ++turn)
      for (int slot = first_slot; slot < first_slot + slots; ++slot)
        filled += job.budget.may_fill(bubble_of(1, 1000, turn, 1, slot)) ? 1U : 0U;
    return filled;
  };
  for (std::uint64_t first = 1; first < 1000; ++first) {
    const std::uint64_t of_one = filled_in(first, 3, 5 * every, 1);
    EXPECT_GE(of_one, 2U) << first << ": some fall into iterations without fill";
    EXPECT_LE(of_one, 7U) << first;
    if (is_control(first)) continue;
    const std::uint64_t of_all = filled_in(first, 0, 1, static_cast<int>(5 * every));
    EXPECT_GE(of_all, 3U) << first;
    EXPECT_LE(of_all, 7U) << first;
  }
}

// Prices after iterations of which each had slices that outlasted bubbles by this share of it.
double price_after(Budget& budget, double overruns, std::uint64_t iterations) {
  for (std::uint64_t i = 0; i < iterations; ++i) {
    Iteration iteration;
    iteration.number = 1;
    iteration.rhythm = 1;
    iteration.ended = TimePoint{} + std::chrono::seconds(1);
    budget.overran(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(overruns)));
    budget.ended(iteration);
  }
  return budget.price(1);
}

TEST(Budget, OverrunsMakeADelayDearer) {
  Budget budget(0.001);
  const double first = budget.price(1);
  EXPECT_DOUBLE_EQ(first, 80);
  EXPECT_DOUBLE_EQ(price_after(budget, 0.0003, 100), first) << "a third of the budget: they may stay";
  EXPECT_GT(price_after(budget, 0.001, 40), 4 * first) << "all of it: dearer";
  EXPECT_DOUBLE_EQ(price_after(budget, 0.0003, 100), first) << "and back";
  EXPECT_DOUBLE_EQ(price_after(budget, 0, 1000), first);
}

// Watching takes its part first.
TEST(Budget, FillingMayCostWhatWatchingLeaves) {
  Budget budget(0.001);
  const double price = budget.price(1);
  budget.leave_for_watching(0.0005);
  EXPECT_DOUBLE_EQ(budget.price(1), 2 * price);
  EXPECT_FALSE(budget.is_used_up());
  budget.leave_for_watching(0.002);
  EXPECT_TRUE(budget.is_used_up());
  EXPECT_TRUE(std::isinf(budget.price(1)));
  budget.leave_for_watching(0);
  EXPECT_DOUBLE_EQ(budget.price(1), price);
  EXPECT_FALSE(Budget(0).is_used_up()) << "nothing was allowed";
}

// The cost of watching is an estimate, and a rhythm is barred for the rest of the run. But both together keep the
// budget.
TEST(Budget, ForWatchingARhythmIsHeldBackAndNotBarred) {
  MainJob job;
  const auto always_half_a_percent = [](double share) { return 100 + (share > 0 ? 0.5 : 0); };
  job.run(100, [](double) { return 100.0; });
  job.budget.leave_for_watching(0.007);
  job.run(3000, always_half_a_percent);
  EXPECT_EQ(job.changes[Budget::Change::stop], 0);
  EXPECT_EQ(job.changes[Budget::Change::held], 1);
  EXPECT_DOUBLE_EQ(job.budget.present().share, 0);
  EXPECT_NEAR(job.budget.present().slowdown->estimate, 0.005, 1e-6) << "what it is held back for";
  const std::uint64_t filled = job.filled;
  job.run(3000, always_half_a_percent);
  EXPECT_EQ(job.filled, filled) << "and stays so";
  EXPECT_EQ(job.changes[Budget::Change::held], 1) << "it is said once";
  job.budget.leave_for_watching(0);
  job.run(6000, [](double) { return 100.0; });
  EXPECT_DOUBLE_EQ(job.budget.present().share, 1) << "and it recovers";
  EXPECT_EQ(job.changes[Budget::Change::more], 9) << "from nothing to the lowest share is said as well";
  EXPECT_EQ(job.changes[Budget::Change::stop], 0);
}

// Where the spread of the iterations hides it from the window, many runs say so.
TEST(Budget, ForWatchingARhythmIsHeldBackOnTheWordOfManyRuns) {
  NoisyJob job(5, 1);
  const auto noisy = [&](double share) { return 100 + job.noise() + (share > 0 ? 0.6 : 0); };
  job.run(100, [](double) { return 100.0; });
  job.budget.leave_for_watching(0.007);
  job.run(20000, noisy);
  EXPECT_EQ(job.changes[Budget::Change::stop], 0);
  EXPECT_EQ(job.changes[Budget::Change::held], 1);
  EXPECT_DOUBLE_EQ(job.budget.present().share, 0);
  job.budget.leave_for_watching(0);
  job.run(1, noisy);
  EXPECT_DOUBLE_EQ(job.budget.present().share, 1.0 / 64);
}

// Its estimate lies above the whole budget, and is not sure to.
TEST(Budget, ARhythmThatIsHeldBackIsFilledAgainWhereWatchingCostsNothing) {
  int held = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    NoisyJob job(seed, 1);
    job.run(100, [](double) { return 100.0; });
    job.budget.leave_for_watching(0.007);
    while (job.changes[Budget::Change::held] == 0 && job.changes[Budget::Change::stop] == 0 && job.number < 50'000)
      job.run(1, [&](double share) { return 100 + job.noise() + (share > 0 ? 1.2 : 0); });
    if (job.changes[Budget::Change::stop] > 0) continue;
    ASSERT_EQ(job.changes[Budget::Change::held], 1) << seed;
    ++held;
    job.budget.leave_for_watching(0);
    job.run(1, [](double) { return 100.0; });
    EXPECT_DOUBLE_EQ(job.budget.present().share, 1.0 / 64) << seed;
  }
  EXPECT_GT(held, 10) << "the others stop";
}

// Whatever the spread: fill costs nothing, and no window tells that from a budget that is a tenth of it.
TEST(Budget, InALongRunNothingIsGivenUpForNothing) {
  double share = 0;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    NoisyJob job(seed, 1, 0.001);
    job.run(40'000, [&](double) { return 100 + job.noise(); });
    EXPECT_EQ(job.changes[Budget::Change::stop], 0) << seed;
    share += job.budget.present().share / 5;
  }
  EXPECT_GT(share, 0.5);
}

// And where it costs a little less than that budget, it is filled to within it.
TEST(Budget, InALongRunTheBudgetIsUsed) {
  double slowdown = 0;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    NoisyJob job(seed, 1, 0.001);
    double longer = 0;
    const auto length = [&](double share) {
      longer += 0.4 * share;
      return 100 + job.noise() + 0.4 * share;
    };
    job.run(20'000, length);
    longer = 0;
    job.run(40'000, length);
    EXPECT_LT(longer / 4'000'000, 0.0015) << seed;
    slowdown += longer / 4'000'000 / 5;
  }
  EXPECT_LT(slowdown, 0.001);
  EXPECT_GT(slowdown, 0.0002);
}

// It is not hidden by what was measured for long.
TEST(Budget, InALongRunAHigherPriceIsSeenSoon) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    NoisyJob job(seed, 1);
    job.run(20'000, [&](double share) { return 100 + job.noise() + 0.3 * share; });
    ASSERT_EQ(job.budget.present().share, 1) << seed;
    job.run(1200, [&](double share) { return 100 + job.noise() + 2 * share; });
    EXPECT_LT(job.budget.present().share, 1) << seed;
  }
}

// Nor at the lowest level, where nothing is given up lightly.
TEST(Budget, InALongRunAHigherPriceIsSeenSoonAtTheLowestLevel) {
  NoisyJob job(1, 1, 0.001);
  const auto length = [&](double costs) {
    return [&, costs](double share) { return 100 + job.noise() + (share > 0 ? costs : 0); };
  };
  while (job.budget.present().share > 1.0 / 64 && job.number < 50'000) job.run(1, length(2));
  ASSERT_EQ(job.budget.present().share, 1.0 / 64);
  job.run(4000, length(0.1));
  ASSERT_LE(job.budget.present().share, 1.0 / 16) << "the budget itself";
  job.run(2500, length(8));
  EXPECT_EQ(job.budget.present().share, 0);
}

// Two short runs are quick by chance: at 95 % that would take most of the fill of each such training.
TEST(Budget, FewIterationsTakeFillAwayOnlyWhereTheyAreClear) {
  int less = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    NoisyJob job(seed, 2, 0.001);
    job.run(52, [&](double) { return 100 + job.noise(); });
    less += job.changes[Budget::Change::less];
  }
  EXPECT_LE(less, 3) << "of 200; at 95 % they were 7";
}

// Before the next twenty-eight are filled.
TEST(Budget, DecidesAtTheEndOfTheSecondRun) {
  MainJob job;
  const auto three_percent = [](double share) { return 100 + (share > 0 ? 3.0 : 0); };
  job.run(24, three_percent);
  EXPECT_EQ(job.changes[Budget::Change::less], 1);
}

}  // namespace
}  // namespace weft
