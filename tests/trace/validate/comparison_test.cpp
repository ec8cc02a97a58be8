// A trace held against the truth, in numbers that can be checked by hand. Times in milliseconds here.
#include "trace/validate/comparison.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t shortest = 10'000;
constexpr Span known{0, 1000 * ms};

Spans scaled(Spans spans) {
  for (Span& span : spans) span = {span.begin * ms, span.end * ms};
  return spans;
}

DeviceTruth truth_of(Spans communication, Spans compute) {
  DeviceTruth truth;
  truth.communication = scaled(std::move(communication));
  truth.compute = scaled(std::move(compute));
  return truth;
}

Reported reported_of(Spans bubbles, Spans uncertain = {}) {
  Reported reported;
  reported.windows = {{0, 100 * ms}};
  reported.bubbles = scaled(std::move(bubbles));
  reported.uncertain = scaled(std::move(uncertain));
  return reported;
}

TEST(Comparison, IdleIsWhereOnlyNcclIsResident) {
  const Comparison result =
      compare(reported_of({{20, 40}}), truth_of({{10, 50}}, {{0, 20}, {40, 100}}), known, shortest);
  EXPECT_EQ(result.window, 100 * ms);
  EXPECT_EQ(result.truth, 20 * ms);
  EXPECT_EQ(result.reported, 20 * ms);
  EXPECT_DOUBLE_EQ(*result.coverage, 1);
  EXPECT_DOUBLE_EQ(*result.precision, 1);
  EXPECT_EQ(result.matched, 1u);
  EXPECT_TRUE(faults(result, {}).empty());
}

TEST(Comparison, WhatIsMissedAndWhatIsFalseIsToldApart) {
  // True: 10-30 and 60-70. Reported: 20-40, half of it beside compute, and 80-84, where nothing was resident.
  const Comparison result = compare(reported_of({{20, 40}, {80, 84}}),
                                    truth_of({{10, 30}, {60, 70}}, {{0, 10}, {30, 60}, {70, 75}}), known, shortest);
  EXPECT_EQ(result.truth, 30 * ms);
  EXPECT_EQ(result.both, 10 * ms);
  EXPECT_EQ(result.missed, 20 * ms);
  EXPECT_EQ(result.beside_compute, 10 * ms);
  EXPECT_EQ(result.beside_nothing, 4 * ms);
  EXPECT_EQ(result.true_bubbles, 2u);
  EXPECT_EQ(result.missed_bubbles, 1u);
  EXPECT_EQ(result.matched, 1u);
  EXPECT_EQ(result.false_bubbles, 1u);
  EXPECT_EQ(result.largest_missed, scaled({{10, 20}, {60, 70}}));
  EXPECT_EQ(result.largest_false, scaled({{30, 40}, {80, 84}}));
  EXPECT_EQ(faults(result, {}).size(), 2u);
}

TEST(Comparison, UncertainTimeIsNotMissedAndDoesNotCountAsReported) {
  const Comparison result =
      compare(reported_of({{10, 15}}, {{12, 30}}), truth_of({{10, 30}}, {{0, 10}, {30, 100}}), known, shortest);
  EXPECT_EQ(result.both, 5 * ms);
  EXPECT_EQ(result.uncertain, 15 * ms);
  EXPECT_EQ(result.uncertain_truth, 15 * ms);
  EXPECT_EQ(result.missed, 0);
  EXPECT_EQ(result.missed_bubbles, 0u);
  EXPECT_DOUBLE_EQ(*result.coverage, 0.25);
  EXPECT_TRUE(faults(result, {}).empty());
}

TEST(Comparison, ABlindDetectorIsFoundOut) {
  const DeviceTruth truth = truth_of({{10, 90}}, {{0, 10}, {50, 100}});
  const Comparison nothing = compare(reported_of({}), truth, known, shortest);
  EXPECT_DOUBLE_EQ(*nothing.coverage, 0);
  EXPECT_FALSE(nothing.precision);
  EXPECT_EQ(faults(nothing, {}).size(), 1u);
  const Comparison all = compare(reported_of({{0, 100}}), truth, known, shortest);
  EXPECT_DOUBLE_EQ(*all.precision, 0.4);
  EXPECT_EQ(faults(all, {}).size(), 1u);
}

TEST(Comparison, GapsBetweenKernelsAreNoBubbles) {
  DeviceTruth truth = truth_of({{0, 100}}, {});
  truth.compute = {{0, 50 * ms}, {50 * ms + shortest - 1, 100 * ms}};
  EXPECT_EQ(compare(reported_of({}), truth, known, shortest).truth, 0);
  EXPECT_EQ(compare(reported_of({}), truth, known, shortest - 1).truth, shortest - 1);
}

TEST(Comparison, OnlyWhatBothKnowIsCompared) {
  const Comparison result =
      compare(reported_of({{10, 20}, {60, 90}}), truth_of({{10, 20}}, {}), {0, 50 * ms}, shortest);
  EXPECT_EQ(result.window, 50 * ms);
  EXPECT_EQ(result.reported, 10 * ms);
  EXPECT_EQ(result.bubbles, 1u);
}

TEST(Comparison, EndsAreLateOrEarly) {
  const Comparison result = compare(reported_of({{12, 33}, {49, 61}}),
                                    truth_of({{10, 30}, {50, 60}}, {{0, 10}, {30, 50}, {60, 100}}), known, shortest);
  EXPECT_EQ(result.opens.samples, 2u);
  EXPECT_EQ(result.opens.latest, 2 * ms);
  EXPECT_EQ(result.closes.samples, 2u);
  EXPECT_EQ(result.closes.latest, 3 * ms);
  EXPECT_EQ(result.closes.p99, 1 * ms);  // of two values the lower one
}

TEST(Comparison, BubblesThatFollowEachOtherHaveTwoEnds) {
  // Two kernels of NCCL with 4 us between them, reported as three bubbles in a row.
  DeviceTruth truth = truth_of({{10, 30}}, {});
  truth.communication.push_back({30 * ms + 4000, 50 * ms});
  const Comparison result = compare(reported_of({{11, 20}, {20, 35}, {35, 52}}), truth, known, shortest);
  EXPECT_EQ(result.bubbles, 3u);
  EXPECT_EQ(result.true_bubbles, 1u);
  EXPECT_EQ(result.opens.samples, 1u);
  EXPECT_EQ(result.opens.median, 1 * ms);
  EXPECT_EQ(result.closes.samples, 1u);
  EXPECT_EQ(result.closes.median, 2 * ms);
}

TEST(Comparison, ATrueStretchReportedInPiecesHasTwoEnds) {
  const Comparison result =
      compare(reported_of({{10, 20}, {30, 41}}), truth_of({{10, 40}}, {{0, 10}, {40, 100}}), known, shortest);
  EXPECT_EQ(result.opens.samples, 1u);
  EXPECT_EQ(result.closes.samples, 1u);
  EXPECT_EQ(result.closes.median, 1 * ms);
}

// Where the host waits no kernel of NCCL need be resident: by the definition of the truth that is no idle time.
TEST(Comparison, BubblesThatTheProgramSaysAreComparedApart) {
  // True: 10-30. Said: 40-60, with nothing resident for most of it, and NCCL's kernel from 58 on; 62-64 is another.
  Reported reported = reported_of({{10, 30}});
  reported.said = scaled({{40, 60}, {62, 64}});
  const DeviceTruth truth = truth_of({{10, 30}, {58, 60}}, {{0, 10}, {30, 40}, {60, 62}, {64, 100}});
  const Comparison result = compare(reported, truth, known, shortest);
  EXPECT_EQ(result.said_bubbles, 2u);
  EXPECT_EQ(result.said, 22 * ms);
  EXPECT_EQ(result.said_beside_compute, 0);
  EXPECT_EQ(result.reported, 20 * ms);
  EXPECT_EQ(result.truth, 20 * ms);
  EXPECT_DOUBLE_EQ(*result.coverage, 1);
  EXPECT_DOUBLE_EQ(*result.precision, 1);
  EXPECT_EQ(result.bubbles, 1u);
  EXPECT_EQ(result.beside_nothing, 0);
  EXPECT_EQ(result.window, 100 * ms);
  EXPECT_TRUE(faults(result, {}).empty());
  EXPECT_TRUE(doubts(result, {}).empty());
}

TEST(Comparison, ComputeInABubbleThatTheProgramSaysIsAFault) {
  Reported reported = reported_of({{10, 30}});
  reported.said = scaled({{40, 60}});
  const Comparison result = compare(reported, truth_of({{10, 30}}, {{0, 10}, {30, 45}, {60, 100}}), known, shortest);
  EXPECT_EQ(result.said_beside_compute, 5 * ms);
  EXPECT_EQ(faults(result, {}),
            std::vector<std::string>{"the training computed in 25.0 % of the time that the program said to be idle"});
}

TEST(Comparison, FillIsNoTraining) {
  DeviceTruth truth = truth_of({{10, 50}}, {{0, 10}, {50, 100}});
  truth.fill = scaled({{20, 30}, {48, 52}});
  truth.fill_busy = 14 * ms;
  truth.fill_records = 2;
  Reported reported = reported_of({{10, 50}});
  reported.slices = 2;
  reported.fill_alone = 13 * ms;
  Comparison result = compare(reported, truth, known, shortest);
  EXPECT_DOUBLE_EQ(*result.precision, 1);
  EXPECT_EQ(result.fill_in_idle, 12 * ms);
  EXPECT_EQ(result.fill_beside_compute, 2 * ms);
  EXPECT_EQ(result.fill_busy, 14 * ms);
  EXPECT_TRUE(faults(result, {}).empty());
  result.fill_records = 0;
  EXPECT_EQ(faults(result, {}).size(), 1u);
}

TEST(Comparison, LittleIsForgiven) {
  // 0.4 ms of 0.4 ms are missed: all of it, and less than 0.5 % of the window.
  DeviceTruth truth = truth_of({}, {{0, 50}, {51, 100}});
  truth.communication = {{50 * ms + 100'000, 50 * ms + 500'000}};
  const Comparison result = compare(reported_of({}), truth, known, shortest);
  EXPECT_DOUBLE_EQ(*result.coverage, 0);
  EXPECT_TRUE(faults(result, {}).empty());
  EXPECT_EQ(faults(result, {0.98, 0.001}).size(), 1u);
}

TEST(Comparison, WithoutCommonTimeThereIsNoVerdict) {
  const Comparison result = compare(reported_of({{1, 2}}), truth_of({{1, 2}}, {}), {200 * ms, 300 * ms}, shortest);
  EXPECT_EQ(result.window, 0);
  EXPECT_EQ(doubts(result, {}).size(), 1u);
}

// The doubts of a comparison in one line each.
std::string doubts_of(const Comparison& comparison) {
  std::string text;
  for (const std::string& doubt : doubts(comparison, {})) text += doubt + "\n";
  return text;
}

TEST(Comparison, ReportedTimeBesideWhichNothingIsResidentLeavesItOpen) {
  // True: 10-30. Reported besides: 40-60, where CUPTI shows nothing, as if records were missing.
  const Spans compute = {{0, 10}, {30, 40}, {60, 100}};
  const Comparison result = compare(reported_of({{10, 30}, {40, 60}}), truth_of({{10, 30}}, compute), known, shortest);
  EXPECT_TRUE(faults(result, {}).empty());
  EXPECT_EQ(doubts_of(result),
            "in 50.0 % of the reported idle time CUPTI shows no kernel at all, or none of NCCL for as long as "
            "--shortest (bound: 10 %): records may be missing\n");
}

TEST(Comparison, TimeInWhichNcclConnectsIsExplained) {
  // Reported: 0-30; NCCL's first kernel begins at 10. The second window begins with NCCL's connecting, too.
  Reported reported = reported_of({{0, 30}, {200, 230}});
  reported.windows.push_back({200 * ms, 300 * ms});
  const DeviceTruth truth = truth_of({{10, 30}, {210, 230}}, {{30, 100}, {230, 300}});
  const Comparison result = compare(reported, truth, known, shortest);
  EXPECT_EQ(result.beside_nothing, 20 * ms);
  EXPECT_EQ(result.before_nccl, 20 * ms);
  EXPECT_EQ(doubts_of(result), "");
}

TEST(Comparison, WithoutTrueIdleTimeNothingThatWasReportedIsShown) {
  const DeviceTruth truth = truth_of({{10, 30}}, {{0, 10}, {30, 100}});
  const Comparison result = compare(reported_of({{10, 30}}), truth, known, 50 * ms);
  EXPECT_EQ(result.truth, 0);
  EXPECT_TRUE(faults(result, {}).empty());
  EXPECT_NE(doubts_of(result).find("20.0 % of the window was reported as idle"), std::string::npos);
  EXPECT_EQ(doubts_of(compare(reported_of({}), truth, known, 50 * ms)), "");
}

TEST(Comparison, ADetectorThatIsUncertainAllTheTimeShowsNothing) {
  const DeviceTruth truth = truth_of({{10, 50}}, {{0, 10}, {50, 100}});
  const Comparison half = compare(reported_of({{10, 30}}, {{30, 50}}), truth, known, shortest);
  EXPECT_TRUE(faults(half, {}).empty());
  EXPECT_EQ(doubts_of(half), "Weft was uncertain in 50.0 % of the true idle time (bound: 20 %)\n");
  EXPECT_EQ(doubts_of(compare(reported_of({{10, 42}}, {{42, 50}}), truth, known, shortest)), "");
}

TEST(Comparison, ASliverOfTheWindowShowsNothing) {
  const DeviceTruth truth = truth_of({{10, 50}}, {{0, 10}, {50, 100}});
  const Comparison result = compare(reported_of({{10, 50}}), truth, {0, 89 * ms}, shortest);
  EXPECT_EQ(result.trace_window, 100 * ms);
  EXPECT_EQ(doubts_of(result), "only 89.0 % of the trace's window could be compared (bound: 90 %)\n");
  EXPECT_EQ(doubts_of(compare(reported_of({{10, 50}}), truth, {0, 90 * ms}, shortest)), "");
}

}  // namespace
}  // namespace weft
