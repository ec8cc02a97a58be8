// A fill job of which another variant takes over: how far it has got, and what comes next.
#include "runner/policy/job_offers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

// Of kernels that are slices of their own.
struct Kernels {
  explicit Kernels(std::vector<Duration> lengths)
      : alone(std::move(lengths)), cuts(alone, std::vector<std::chrono::nanoseconds>{1us}) {}
  std::vector<Duration> alone;
  Cuts cuts;
};

void run_one(JobOffers& offers, const Choice& choice) {
  const SliceRecord done = offers.finished(offers.launched(choice, 1, TimePoint{}), TimePoint{1ms});
  if (done.unit_done) offers.unit_ended(choice.job);
}

TEST(JobOffers, TheNextSlicesOfAJobAreTheShortestFirstOnes) {
  const Kernels kernels({5ms, 7ms});
  JobOffers offers(JobPolicy::throughput);
  offers.add(kernels.cuts, kernels.alone, {});
  ASSERT_EQ(offers.next_of(0).count, 1U);
  EXPECT_EQ(offers.next_of(0).alone[0], Duration(5ms));
  const LaunchedSlice first = offers.launched({0, 0}, 1, TimePoint{});
  EXPECT_EQ(offers.next_of(0).alone[0], Duration(7ms));
  const LaunchedSlice second = offers.launched({0, 1}, 1, TimePoint{});
  EXPECT_EQ(offers.next_of(0).count, 0U) << "all of the unit was launched";
  offers.finished(first, TimePoint{5ms});
  offers.finished(second, TimePoint{12ms});
  offers.unit_ended(0);
  EXPECT_EQ(offers.next_of(0).alone[0], Duration(5ms));
  offers.end(0);
  EXPECT_EQ(offers.next_of(0).count, 0U);
}

TEST(JobOffers, AnotherJobInThePlaceBeginsAnew) {
  const Kernels one({5ms}), other({7ms, 1ms});
  JobOffers offers(JobPolicy::throughput);
  offers.add(one.cuts, one.alone, {});
  run_one(offers, {0, 0});
  offers.end(0);
  JobTerms terms;
  terms.units = 1;
  offers.renew(0, other.cuts, other.alone, terms);
  EXPECT_EQ(offers.unit(0), 0U) << "units of the other job are not its own";
  EXPECT_EQ(offers.standing(0).terms.units, 1U);
  EXPECT_TRUE(offers.is_between_units(0));
  run_one(offers, {0, 0});
  EXPECT_FALSE(offers.is_between_units(0));
  run_one(offers, {0, 1});
  EXPECT_TRUE(offers.all_ended()) << "it has done what is wanted of it";
}

// Copies in, work that is run three times, copies out.
TEST(JobOffers, TheWorkOfAUnitIsRunAgainAsLongAsItSays) {
  Kernels kernels({1ms, 5ms, 7ms, 2ms});
  kernels.cuts.set_pass({1, 2});
  JobOffers offers(JobPolicy::throughput);
  offers.add(kernels.cuts, kernels.alone, {});
  run_one(offers, {0, 0});
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(offers.next_of(0).alone[0], Duration(5ms));
    run_one(offers, {0, 1});
    const LaunchedSlice last = offers.launched({0, 2}, 1, TimePoint{});
    EXPECT_TRUE(last.place.ends_pass);
    EXPECT_EQ(last.place.in_unit, static_cast<std::uint32_t>(2 * pass + 2));
    EXPECT_EQ(offers.next_of(0).count, 0U) << "it is not known yet what comes next";
    EXPECT_EQ(offers.make(), 0U);
    EXPECT_FALSE(offers.finished(last, TimePoint{}).unit_done);
    EXPECT_FALSE(offers.pass_ended(0, pass < 2));
    EXPECT_FALSE(offers.is_between_units(0));
  }
  EXPECT_EQ(offers.next_of(0).alone[0], Duration(2ms));
  run_one(offers, {0, 3});
  EXPECT_EQ(offers.unit(0), 1U);
  EXPECT_EQ(offers.standing(0).passes, 3U);
  EXPECT_TRUE(offers.is_between_units(0));
}

TEST(JobOffers, AUnitWithoutCopiesEndsWithItsLastPass) {
  Kernels kernels({5ms, 7ms});
  kernels.cuts.set_pass({0, 2});
  JobOffers offers(JobPolicy::throughput);
  offers.add(kernels.cuts, kernels.alone, {});
  for (const bool again : {true, false}) {
    run_one(offers, {0, 0});
    const LaunchedSlice last = offers.launched({0, 1}, 1, TimePoint{});
    EXPECT_FALSE(offers.finished(last, TimePoint{}).unit_done);
    EXPECT_EQ(offers.pass_ended(0, again), !again);
    EXPECT_FALSE(offers.is_between_units(0)) << "another unit may not begin";
  }
  offers.unit_ended(0);
  EXPECT_EQ(offers.unit(0), 1U);
}

TEST(JobOffers, AnotherVariantBeginsWithItsFirstPass) {
  Kernels kernels({5ms, 7ms});
  kernels.cuts.set_pass({1, 1});
  JobOffers offers(JobPolicy::throughput);
  offers.add(kernels.cuts, kernels.alone, {});
  run_one(offers, {0, 0});
  offers.launched({0, 1}, 1, TimePoint{});
  offers.end(0);
  offers.replace(0, kernels.cuts, kernels.alone);
  EXPECT_EQ(offers.next_of(0).alone[0], Duration(5ms));
}

TEST(JobOffers, AJobWithoutRecordsIsPassedOver) {
  const Kernels one({5ms}), other({7ms});
  JobOffers offers(JobPolicy::throughput);
  offers.add(one.cuts, one.alone, {});
  offers.add(other.cuts, other.alone, {});
  EXPECT_FALSE(offers.awaits_any());
  offers.await(0, true);
  EXPECT_TRUE(offers.awaits_any());
  ASSERT_EQ(offers.make(), 1U);
  ASSERT_EQ(offers.candidates(0).count, 1U);
  EXPECT_EQ(offers.choice(0, 0).job, 1U);
  offers.end(1);
  EXPECT_EQ(offers.make(), 0U);
  EXPECT_FALSE(offers.all_ended());
  offers.await(0, false);
  EXPECT_EQ(offers.make(), 1U);
}

TEST(JobOffers, AnotherVariantGoesOnWithTheUnitsThatAreDone) {
  const Kernels large({5ms, 7ms}), small({1ms, 2ms});
  JobTerms terms;
  terms.units = 2;
  JobOffers offers(JobPolicy::throughput);
  offers.add(large.cuts, large.alone, terms);
  run_one(offers, {0, 0});
  run_one(offers, {0, 1});
  run_one(offers, {0, 0});  // half of the second unit is lost
  offers.end(0);
  EXPECT_TRUE(offers.all_ended());
  offers.replace(0, small.cuts, small.alone);
  EXPECT_FALSE(offers.all_ended());
  EXPECT_EQ(offers.next_of(0).alone[0], Duration(1ms));
  EXPECT_EQ(offers.standing(0).unit, Duration(3ms));
  EXPECT_EQ(offers.standing(0).filled, Duration(17ms));
  EXPECT_EQ(offers.unit(0), 1U);
  ASSERT_EQ(offers.make(), 1U);
  run_one(offers, {0, 0});
  run_one(offers, {0, 1});
  EXPECT_TRUE(offers.all_ended()) << "it has done its two units";
}

TEST(JobOffers, AnotherVariantIsOwedNothingForTheTimeBetween) {
  const Kernels kernels({5ms});
  JobOffers offers(JobPolicy::fair);
  offers.add(kernels.cuts, kernels.alone, {});
  offers.add(kernels.cuts, kernels.alone, {});
  offers.end(0);
  for (int unit = 0; unit < 10; ++unit) run_one(offers, {1, 0});
  offers.replace(0, kernels.cuts, kernels.alone);
  run_one(offers, {0, 0});
  ASSERT_EQ(offers.make(), 2U);
  EXPECT_EQ(offers.choice(0, 0).job, 1U) << "the other one's turn";
}

// The pieces of two jobs' memory, and kernels.
struct Moving {
  Kernels kernels{{5ms, 7ms}}, pieces{{1ms, 1ms, 1ms}};
  JobOffers offers{JobPolicy::throughput};
  Moving() {
    offers.add(kernels.cuts, kernels.alone, {});
    offers.add(kernels.cuts, kernels.alone, {});
  }
  void move_piece(std::uint32_t job, std::uint32_t piece, bool is_last) {
    const LaunchedSlice copy = offers.launched({job, piece}, 1, TimePoint{});
    EXPECT_EQ(copy.place.ends_unit, is_last);
    EXPECT_FALSE(offers.finished(copy, TimePoint{1ms}).unit_done) << "a move is no unit";
  }
};

TEST(JobOffers, PiecesOfMemoryThatMovesComeBeforeAllWork) {
  Moving of;
  of.offers.begin_move(1, of.pieces.cuts, of.pieces.alone);
  EXPECT_FALSE(of.offers.is_between_units(1)) << "nothing else begins meanwhile";
  EXPECT_EQ(of.offers.next_of(1).count, 0U) << "of its unit";
  ASSERT_EQ(of.offers.make(), 2U);
  EXPECT_EQ(of.offers.candidates(0).count, 1U);
  EXPECT_EQ(of.offers.candidates(0).alone[0], Duration(1ms));
  EXPECT_EQ(of.offers.choice(0, 0).job, 1U);
  EXPECT_EQ(of.offers.choice(1, 0).job, 0U) << "the other job goes on";
  of.offers.await(1, true);
  EXPECT_EQ(of.offers.make(), 2U) << "a move needs no records";
  of.offers.suspend(1);
  EXPECT_EQ(of.offers.make(), 1U);
  EXPECT_EQ(of.offers.next_of_move(1), std::nullopt);
}

TEST(JobOffers, AJobWhoseMemoryIsAwayStandsUntilItHasMovedBack) {
  Moving of;
  run_one(of.offers, {1, 0});
  run_one(of.offers, {1, 1});
  const Duration filled = of.offers.standing(1).filled;
  for (const bool away : {true, false}) {
    of.offers.begin_move(1, of.pieces.cuts, of.pieces.alone);
    for (std::uint32_t piece = 0; piece < 3; ++piece) {
      ASSERT_EQ(of.offers.next_of_move(1), piece);
      of.move_piece(1, piece, piece == 2);
    }
    EXPECT_EQ(of.offers.next_of_move(1), std::nullopt) << "all of it was launched";
    of.offers.end_move(1, away);
    EXPECT_TRUE(of.offers.is_between_units(1));
    ASSERT_EQ(of.offers.make(), 1U);
    EXPECT_EQ(of.offers.candidates(0).count, away ? 1U : 2U);
  }
  EXPECT_EQ(of.offers.unit(1), 1U) << "no unit was counted";
  EXPECT_EQ(of.offers.standing(1).filled, filled) << "copies are no work";
  run_one(of.offers, {1, 0});
  EXPECT_EQ(of.offers.next_of(1).alone[0], Duration(7ms)) << "its unit goes on with its own slices";
}

}  // namespace
}  // namespace weft
