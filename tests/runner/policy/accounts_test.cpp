// Totals of a rank.
#include "runner/policy/accounts.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

TimePoint at(Duration time) {
  return TimePoint{} + time;
}

Event event(EventKind kind, Duration time) {
  Event made{};
  made.kind = kind;
  made.time = at(time);
  return made;
}

Record record_of(const auto& what) {
  return {0, at(0s), what};
}

Record bubble(Duration opened, Duration closed) {
  Bubble made;
  made.opened = at(opened);
  made.closed = at(closed);
  return record_of(made);
}

Record iteration_between(Duration started, Duration ended) {
  Iteration made;
  made.started = at(started);
  made.ended = at(ended);
  return record_of(made);
}

Record iteration(Duration length) {
  return iteration_between(1ms, 1ms + length);
}

Record uncertain(Duration began, Duration ended) {
  return record_of(UncertainRecord{at(began), at(ended), {}});
}

Record slice(Duration launched, Duration finished, Duration alone) {
  SliceRecord made;
  made.launched = at(launched);
  made.finished = at(finished);
  made.alone = alone;
  return record_of(made);
}

TEST(Accounts, TheWindowIsFromTheFirstGroupToTheEndOfTheLast) {
  Accounts accounts;
  accounts.note(event(EventKind::group_issued, 3ms));
  accounts.note(event(EventKind::group_issued, 5ms));
  accounts.note(event(EventKind::group_done, 9ms));
  accounts.note(event(EventKind::host_wait_ended, 11ms));
  const TraceSummary summary = accounts.summary(0);
  EXPECT_EQ(summary.window_begin, at(3ms));
  EXPECT_EQ(summary.window_end, at(9ms));
}

TEST(Accounts, AGroupWithoutAMarkerIsOverWhenItIsIssued) {
  Accounts accounts;
  accounts.note(event(EventKind::group_issued, 3ms));
  accounts.note(event(EventKind::group_issued, 8ms));
  EXPECT_EQ(accounts.summary(0).window_end, at(8ms));
}

TEST(Accounts, TheWindowHoldsABubbleWhoseGroupNeverEnded) {
  Accounts accounts;
  accounts.note(event(EventKind::group_issued, 3ms));
  accounts.note(bubble(4ms, 600ms));
  EXPECT_EQ(accounts.summary(0).window_end, at(600ms));
}

TEST(Accounts, KnowsWhetherThereWasAForecast) {
  Accounts accounts;
  accounts.note(bubble(1ms, 3ms));
  EXPECT_FALSE(accounts.summary(0).forecasts);
  Record forecast = bubble(4ms, 5ms);
  forecast.bubble.forecast = Forecast{};
  accounts.note(forecast);
  accounts.note(bubble(6ms, 7ms));
  EXPECT_TRUE(accounts.summary(0).forecasts);
}

TEST(Accounts, AddsUpBubblesAndSlices) {
  Accounts accounts;
  accounts.note(bubble(1ms, 3ms));
  accounts.note(bubble(4ms, 5ms));
  SliceRecord slice;
  slice.alone = 200us;
  accounts.note(record_of(slice));
  slice.unit_done = true;
  slice.correct = 0;
  accounts.note(record_of(slice));
  slice.correct = -1;
  accounts.note(record_of(slice));
  const TraceSummary summary = accounts.summary(4);
  EXPECT_EQ(summary.bubbles, 2U);
  EXPECT_EQ(summary.idle, Duration(3ms));
  EXPECT_EQ(summary.slices, 3U);
  EXPECT_EQ(summary.filled, Duration(600us));
  EXPECT_EQ(summary.fill_units, 2U);
  EXPECT_EQ(summary.fill_units_wrong, 1U);
  EXPECT_EQ(summary.dropped_records, 4U);
  EXPECT_FALSE(summary.filling_stopped);
}

TEST(Accounts, StartupIsWhatLiesBeforeTheFirstIteration) {
  Accounts accounts;
  accounts.note(event(EventKind::group_issued, 2ms));
  accounts.note(bubble(3ms, 5ms));
  accounts.note(uncertain(5ms, 6ms));
  accounts.note(slice(3ms, 4ms, 700us));
  accounts.note(bubble(11ms, 14ms));
  accounts.note(uncertain(14ms, 15ms));
  accounts.note(slice(12ms, 13ms, 600us));
  accounts.note(iteration_between(10ms, 20ms));
  accounts.note(bubble(21ms, 25ms));
  accounts.note(slice(22ms, 23ms, 500us));
  const TraceSummary summary = accounts.summary(0);
  ASSERT_TRUE(summary.startup);
  EXPECT_EQ(summary.startup->length, Duration(8ms));
  EXPECT_EQ(summary.startup->idle, Duration(2ms));
  EXPECT_EQ(summary.startup->uncertain, Duration(1ms));
  EXPECT_EQ(summary.startup->filled, Duration(700us));
  EXPECT_EQ(summary.idle, Duration(9ms)) << "of the whole window";
  EXPECT_EQ(summary.filled, Duration(1800us));
}

// Some are known before the first iteration is, others, that began long before, after it.
TEST(Accounts, WhatLiesAcrossTheBorderIsSplitThere) {
  Accounts accounts;
  accounts.note(event(EventKind::group_issued, 2ms));
  accounts.note(bubble(9ms, 12ms));
  accounts.note(slice(8ms, 12ms, 2ms));
  accounts.note(iteration_between(10ms, 20ms));
  accounts.note(uncertain(4ms, 21ms));
  const TraceSummary summary = accounts.summary(0);
  ASSERT_TRUE(summary.startup);
  EXPECT_EQ(summary.startup->idle, Duration(1ms));
  EXPECT_EQ(summary.startup->filled, Duration(1ms)) << "half of it";
  EXPECT_EQ(summary.startup->uncertain, Duration(6ms));
}

TEST(Accounts, OnlyTheFirstIterationEndsTheStartup) {
  Accounts accounts;
  accounts.note(event(EventKind::group_issued, 2ms));
  accounts.note(iteration_between(10ms, 20ms));
  accounts.note(bubble(30ms, 40ms));
  accounts.note(iteration_between(50ms, 60ms));
  const TraceSummary summary = accounts.summary(0);
  ASSERT_TRUE(summary.startup);
  EXPECT_EQ(summary.startup->length, Duration(8ms));
  EXPECT_EQ(summary.startup->idle, Duration::zero());
}

TEST(Accounts, WithoutAnIterationAllIsStartup) {
  Accounts accounts;
  accounts.note(event(EventKind::group_issued, 2ms));
  accounts.note(bubble(3ms, 5ms));
  accounts.note(uncertain(5ms, 6ms));
  accounts.note(slice(3ms, 4ms, 700us));
  const TraceSummary summary = accounts.summary(0);
  ASSERT_TRUE(summary.startup);
  EXPECT_EQ(summary.startup->length, summary.window_end - summary.window_begin);
  EXPECT_EQ(summary.startup->idle, Duration(2ms));
  EXPECT_EQ(summary.startup->uncertain, Duration(1ms));
  EXPECT_EQ(summary.startup->filled, Duration(700us));
}

// 65536 are kept until the first iteration is known; those before must be start-up.
TEST(Accounts, AStartupOfManyBubblesIsExactAndOneThatCannotBeToldIsNotKnown) {
  for (const std::int64_t first : {40'000, 10'000}) {
    Accounts accounts;
    accounts.note(event(EventKind::group_issued, 0ms));
    for (std::int64_t number = 0; number < 100'000; ++number) accounts.note(bubble(number * 1us, number * 1us + 400ns));
    accounts.note(iteration_between(first * 1us, 100ms));
    const TraceSummary summary = accounts.summary(0);
    EXPECT_EQ(summary.startup.has_value(), first == 40'000) << first;
    EXPECT_EQ(summary.startup.value_or(StartupRecord{}).idle, (first == 40'000 ? 40'000 : 0) * 400ns);
  }
}

TEST(Accounts, TheMedianIsOfTheIterations) {
  Accounts accounts;
  for (const Duration length : {Duration(9ms), Duration(1ms), Duration(2ms)}) accounts.note(iteration(length));
  EXPECT_EQ(accounts.summary(0).iterations, 3U);
  EXPECT_EQ(accounts.summary(0).iteration_median, Duration(2ms));
}

TEST(Accounts, TheMedianOfALongRunIsThatOfTheWholeRun) {
  Accounts accounts;
  for (int number = 0; number < 20000; ++number) accounts.note(iteration(number < 12000 ? 1ms : 2ms));
  EXPECT_EQ(accounts.summary(0).iterations, 20000U);
  EXPECT_EQ(accounts.summary(0).iteration_median, Duration(1ms));
}

TEST(Accounts, CountsWhyBubblesGotNothing) {
  Accounts accounts;
  accounts.note(Unfilled::no_room);
  accounts.note(Unfilled::no_room);
  accounts.note(Unfilled::other);
  EXPECT_EQ(accounts.summary(0).unfilled, (std::array<std::uint64_t, unfilled_reasons>{0, 0, 2, 0, 0, 0, 1}));
}

TEST(Accounts, TheFirstReasonToStopStays) {
  Accounts accounts;
  AnomalyRecord anomaly;
  anomaly.text = "not a reason";
  accounts.note(record_of(anomaly));
  EXPECT_FALSE(accounts.summary(0).filling_stopped);
  anomaly.stops_filling = true;
  for (const char* reason : {"first", "second"}) {
    anomaly.text = reason;
    accounts.note(record_of(anomaly));
  }
  EXPECT_TRUE(accounts.summary(0).filling_stopped);
  EXPECT_EQ(accounts.summary(0).reason, "first");
}

TEST(Accounts, TheUncertaintyOfEndsIsTheMedian) {
  Accounts accounts;
  for (const Duration late : {20us, 25us, 900us}) accounts.note_end_within(late);
  EXPECT_EQ(accounts.summary(0).end_uncertainty, Duration(25us));
}

}  // namespace
}  // namespace weft
