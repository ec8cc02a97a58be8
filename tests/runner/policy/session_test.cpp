// The decisions of one device, in virtual time: exact, whatever the machine does meanwhile.
#include "runner/policy/session.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/runner/policy/virtual_device.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::filling;
using testing::VirtualDevice;

TEST(Session, ObservesBubblesAndIterations) {
  VirtualDevice device;
  run(device, 30, 2ms, 4ms);
  const TraceSummary summary = device.session.summary(0);
  EXPECT_EQ(summary.bubbles, 30U);
  EXPECT_EQ(summary.idle, Duration(30 * 4ms));
  EXPECT_GE(summary.iterations, 7U);
  EXPECT_EQ(summary.iteration_median, Duration(18ms));
  EXPECT_FALSE(summary.filling_stopped);
  EXPECT_TRUE(device.launches.empty());
  EXPECT_EQ(device.session.snapshot().filling, Snapshot::Filling::observes);
}

void say(VirtualDevice& device, EventKind kind) {
  Event event{};
  event.time = device.time;
  event.kind = kind;
  device.due.push_back(event);
  device.step();
}

// Nothing about the GPU is unknown for it.
TEST(Session, NotesAnnotationsThatContradictOthersAndGoesOnToFill) {
  VirtualDevice device(filling());
  run(device, 15);
  for (int i = 0; i < 3; ++i) say(device, EventKind::said_iteration_ended);
  const std::size_t before = device.launches.size();
  run(device, 15);
  EXPECT_GT(device.launches.size(), before);
  EXPECT_EQ(device.session.summary(0).annotations_refused, 2U) << "the first one may be an end";
  ASSERT_EQ(device.anomalies().size(), 1U);
  EXPECT_EQ(std::string(device.anomalies()[0].text), "annotations: an iteration ends that has not begun");
  EXPECT_FALSE(device.anomalies()[0].stops_filling);
}

TEST(Session, LooksOftenWhileABubbleIsSaid) {
  VirtualDevice device;
  run(device, 3);
  EXPECT_GT(device.session.next_look(device.time, {}), device.time + 50us);
  say(device, EventKind::said_bubble_begun);
  EXPECT_TRUE(device.session.wants_answers());
  EXPECT_EQ(device.session.next_look(device.time, {}), device.time + 50us);
  say(device, EventKind::said_bubble_ended);
  EXPECT_GT(device.session.next_look(device.time, {}), device.time + 50us);
}

TEST(Session, SaysAtTheEndThatOperationsWereUnderWay) {
  for (const bool is_over : {true, false}) {
    VirtualDevice device;
    run(device, 3);
    if (!is_over) {
      device.begin_microbatch(2ms, 8ms);
      device.step();
    }
    device.session.note_work_under_way(device.time);
    ASSERT_EQ(device.anomalies().size(), is_over ? 0U : 1U);
    if (is_over) continue;
    EXPECT_EQ(std::string(device.anomalies()[0].text),
              "NCCL operations were under way when observing ended: their rest is in no share");
    EXPECT_FALSE(device.anomalies()[0].stops_filling);
  }
}

TEST(Session, FillsBubblesAndNothingElse) {
  VirtualDevice device(filling());
  run(device, 30);
  // A bubble of 8 ms has room for 40 slices of 200 us, and one may outlast it. Forecasts begin in the fourth iteration;
  // without one it is waited for a moment, and one slice comes at a time.
  EXPECT_GE(device.launches.size(), 18U * 38U + 10U * 25U);
  EXPECT_LE(device.launches.size(), 30U * 41U);
  for (const VirtualDevice::Launch& launch : device.launches)
    ASSERT_TRUE(launch.in_bubble) << launch.time.time_since_epoch().count();
  // Computing for long, and a wait whose group is over at once: nothing to fill.
  const std::size_t before = device.launches.size();
  device.advance(device.time + 50ms);
  EXPECT_EQ(device.launches.size(), before);
  const TraceSummary summary = device.session.summary(0);
  EXPECT_EQ(summary.slices, device.launches.size());
  EXPECT_EQ(summary.filled, static_cast<int>(device.launches.size()) * Duration(200us));
  EXPECT_EQ(summary.fill_units, summary.slices);
  EXPECT_EQ(summary.fill_units_wrong, 0U);
}

TEST(Session, NeverHasMoreThanTwoSlicesInFlightAndAtMostOneAtTheEnd) {
  VirtualDevice device(filling());
  for (int microbatch = 0; microbatch < 60; ++microbatch) {
    device.begin_microbatch(2ms, 8ms);
    for (; device.time < device.in_bubble_to; device.advance(device.time + 100us)) ASSERT_LE(device.fill.size(), 2U);
    ASSERT_LE(device.fill.size(), 1U) << microbatch;
  }
}

TEST(Session, SaysWhetherTheOpenBubbleHasRoomForASlice) {
  VirtualDevice device(filling());
  const auto room = [&](Duration slice) { return device.session.room_for(device.time, Candidates{{slice}, 1}); };
  EXPECT_FALSE(room(1ms).known) << "no bubble is open";
  device.begin_microbatch(2ms, 8ms);
  device.advance(device.in_bubble_from + 1ms);
  EXPECT_FALSE(room(6ms).known) << "no forecast";
  device.advance(device.in_bubble_to);
  run(device, 29);
  device.slice = 100ms;  // nothing is launched
  device.begin_microbatch(2ms, 8ms);
  device.advance(device.in_bubble_from + 1ms);
  EXPECT_TRUE(room(2ms).known);
  EXPECT_TRUE(room(2ms).has_room);
  EXPECT_TRUE(room(20ms).known);
  EXPECT_FALSE(room(20ms).has_room);
  const std::uint64_t iteration = room(20ms).iteration;
  EXPECT_GT(iteration, 5U);
  device.advance(device.in_bubble_to);
  run(device, 3);
  device.begin_microbatch(2ms, 8ms);
  device.advance(device.in_bubble_from + 1ms);
  EXPECT_EQ(room(2ms).iteration, iteration + 1);
  device.session.end_filling(device.time, "the test says so");
  EXPECT_FALSE(room(2ms).known);
}

// A bubble in which nothing may be filled says nothing about what there is room for.
TEST(Session, ABubbleThatIsNotToBeFilledSaysNothingAboutRoom) {
  VirtualDevice device(filling(0.01));
  device.slice = 100ms;  // nothing is launched
  std::size_t known = 0, left_out = 0;
  for (int microbatch = 0; microbatch < 60; ++microbatch) {
    device.begin_microbatch(2ms, 8ms);
    device.advance(device.in_bubble_from + 1ms);
    const BubbleRoom room = device.session.room_for(device.time, device.view().candidates);
    known += room.known ? 1 : 0;
    if (device.session.leaves_out()) {
      ++left_out;
      EXPECT_FALSE(room.known) << microbatch;
    }
    device.advance(device.in_bubble_to);
  }
  EXPECT_EQ(left_out, 4U * 3U);
  EXPECT_GT(known, 20U);
  device.happens(EventKind::capture_begun);
  device.begin_microbatch(2ms, 8ms);
  device.advance(device.in_bubble_from + 1ms);
  ASSERT_FALSE(device.session.leaves_out());
  EXPECT_FALSE(device.session.room_for(device.time, device.view().candidates).known) << "a capture is open";
}

// A user who sees "0 units" must be told which of the options keeps the bubbles empty.
TEST(Session, CountsWhyBubblesGotNothing) {
  SessionOptions options = filling();
  options.slowdown_budget = 0;
  VirtualDevice device(options);
  run(device, 30, 1ms, 4ms);
  EXPECT_GT(device.unfilled(Unfilled::no_forecast), 0U);
  EXPECT_GT(device.unfilled(Unfilled::no_room), 15U);
  EXPECT_EQ(device.unfilled(Unfilled::no_forecast) + device.unfilled(Unfilled::no_room), 30U);
  EXPECT_TRUE(device.launches.empty()) << "an overrun could be seen";
}

TEST(Session, BubblesThatASliceWouldOutlastAreCounted) {
  VirtualDevice device(filling());
  device.slice = device.takes = 20ms;
  run(device, 30, 1ms, 4ms);
  EXPECT_EQ(device.unfilled(Unfilled::no_room), 30U - device.unfilled(Unfilled::no_forecast));
  EXPECT_TRUE(device.launches.empty());
}

// The feeder has none ready: nothing else is blamed, and with the next records filling goes on.
TEST(Session, BubblesWithoutRecordsAreCounted) {
  VirtualDevice device(filling());
  run(device, 15);
  const std::size_t before = device.launches.size();
  device.has_work = false;
  run(device, 5);
  EXPECT_EQ(device.unfilled(Unfilled::no_work), 5U);
  EXPECT_EQ(device.launches.size(), before);
  device.has_work = true;
  run(device, 5);
  EXPECT_GT(device.launches.size(), before);
  EXPECT_EQ(device.unfilled(Unfilled::no_work), 5U);
}

// Opened and closed between two steps: the same rule, asked in hindsight.
TEST(Session, ABubbleThatNobodySawIsCountedByTheSameRule) {
  VirtualDevice device(filling());
  run(device, 15);
  const std::uint64_t before = device.unfilled(Unfilled::other);
  device.paused = true;
  run(device, 3);
  EXPECT_EQ(device.unfilled(Unfilled::other), before + 3) << "there was a forecast and room";
  EXPECT_EQ(device.session.summary(0).bubbles, 18U);
}

TEST(Session, ADecisionCarriesItsReason) {
  VirtualDevice device(filling(0.01));
  EXPECT_FALSE(device.session.decide(device.time, device.view()).refusal.has_value()) << "no bubble is open";
  device.begin_microbatch(2ms, 8ms);
  device.advance(device.time + 3ms);
  device.slice = 5ms;  // a short one would be worth it
  const Decision first = device.session.decide(device.time, device.view());
  EXPECT_FALSE(first.launch);
  EXPECT_EQ(first.bubble, 1U);
  EXPECT_EQ(first.refusal, Unfilled::no_forecast);
  device.slice = device.takes;
  device.advance(device.in_bubble_to);
  // Iterations 9 to 12 since the rhythm was found go without fill.
  bool held_back = false;
  for (int microbatch = 0; microbatch < 60; ++microbatch) {
    device.begin_microbatch(2ms, 8ms);
    device.advance(device.time + 3ms);
    held_back = held_back || device.session.decide(device.time, device.view()).refusal == Unfilled::held_back;
    device.advance(device.in_bubble_to);
  }
  EXPECT_TRUE(held_back);
}

// Iterations of three microbatches, of which 46 to 51 are dark.
TEST(Session, DarkIterationsAreNotWatched) {
  SessionOptions options = filling(0.01);
  options.dark = true;
  VirtualDevice device(options);
  while (!device.session.is_dark() && device.records.size() < 100'000) device.microbatch(2ms, 8ms);
  ASSERT_TRUE(device.session.is_dark());
  EXPECT_TRUE(device.session.marks_only().has_value());
  EXPECT_TRUE(device.session.marks_are_missing());
  EXPECT_TRUE(device.session.leaves_out());
  const std::size_t launches = device.launches.size();
  const std::uint64_t bubbles = device.session.summary(0).bubbles;
  device.begin_microbatch(2ms, 8ms);
  device.advance(device.time + 4ms);
  EXPECT_FALSE(device.session.bubble_is_open());
  EXPECT_EQ(device.session.next_look(device.time, {}), device.time + 1ms);
  EXPECT_LE(device.session.next_look(device.time, {true, 0, false}), device.time + 50us) << "somebody waits";
  EXPECT_LE(device.session.next_look(device.time, {false, 1, false}), device.time + 50us) << "a slice runs";
  device.advance(device.in_bubble_to);
  for (int i = 0; i < 9; ++i) device.microbatch(2ms, 8ms);
  EXPECT_EQ(device.launches.size(), launches);
  EXPECT_EQ(device.session.summary(0).bubbles, bubbles);
  run(device, 30);
  EXPECT_FALSE(device.session.is_dark());
  EXPECT_FALSE(device.session.marks_only().has_value());
  EXPECT_FALSE(device.session.marks_are_missing());
  EXPECT_GT(device.launches.size(), launches) << "and filling goes on";
  const TraceSummary summary = device.session.summary(0);
  EXPECT_EQ(summary.dark, Duration(6 * 3 * 10ms));
  std::size_t dark = 0, watching = 0;
  for (const Record& record : device.records) {
    dark += record.kind == RecordKind::iteration && record.iteration.dark ? 1 : 0;
    watching += record.kind == RecordKind::watching ? 1 : 0;
  }
  EXPECT_EQ(dark, 6U);
  EXPECT_EQ(watching, 1U) << "at the end of the run";
}

// A checkpoint, an evaluation, a hang: the words are not read at every look for ever.
TEST(Session, ADarkIterationThatDoesNotEndIsLookedAtLikeAQuietTime) {
  SessionOptions options = filling(0.01);
  options.dark = true;
  VirtualDevice device(options);
  while (!device.session.is_dark() && device.records.size() < 100'000) device.microbatch(2ms, 8ms);
  ASSERT_TRUE(device.session.is_dark());
  device.begin_microbatch(2ms, 10s);
  const TimePoint began = device.time;
  const auto wait = [&] { return device.session.next_look(device.time, {}) - device.time; };
  device.advance(began + 29ms);
  EXPECT_EQ(wait(), Duration(50us)) << "its end is near";
  device.advance(began + 75ms);
  EXPECT_EQ(wait(), Duration(50us)) << "it may still come";
  device.advance(began + 85ms);
  EXPECT_EQ(wait(), Duration(1ms));
  device.advance(began + 5s);
  EXPECT_EQ(wait(), Duration(1ms));
}

TEST(Session, WithoutAFillJobIterationsGoDarkToo) {
  SessionOptions options;
  options.slowdown_budget = 0.01;
  options.dark = true;
  VirtualDevice device(options);
  run(device, 600);
  const TraceSummary summary = device.session.summary(0);
  EXPECT_EQ(summary.dark, Duration((6 + 8) * 3 * 10ms));
  ASSERT_TRUE(summary.watching.has_value());
  EXPECT_NEAR(summary.watching->estimate, 0, 1e-3);
  EXPECT_EQ(summary.watching->dark, 4U + 6U);
}

TEST(Session, NoIterationIsDarkUnlessThatIsWanted) {
  VirtualDevice device(filling(0.01));
  run(device, 600);
  EXPECT_EQ(device.session.summary(0).dark, Duration{});
  EXPECT_FALSE(device.session.summary(0).watching.has_value());
}

TEST(Session, NothingIsLaunchedWhileACaptureIsOpen) {
  VirtualDevice device(filling());
  run(device, 24);
  const std::size_t before = device.launches.size();
  EXPECT_GT(before, 0U);
  device.happens(EventKind::capture_begun);
  run(device, 6);
  EXPECT_EQ(device.launches.size(), before);
  device.happens(EventKind::capture_ended);
  run(device, 6);
  EXPECT_GT(device.launches.size(), before);
}

TEST(Session, TheEndOfFillingIsForTheRestOfTheRunAndSaidOnce) {
  VirtualDevice device(filling());
  run(device, 24);
  device.session.end_filling(device.time, "the test says so");
  device.session.end_filling(device.time, "and again");
  const std::size_t before = device.launches.size();
  run(device, 24);
  EXPECT_EQ(device.launches.size(), before);
  EXPECT_EQ(device.session.summary(0).reason, "the test says so");
  ASSERT_EQ(device.anomalies().size(), 1U);
  EXPECT_TRUE(device.anomalies()[0].stops_filling);
  // Every rank says it: one that stopped alone would otherwise go unnoticed.
  EXPECT_EQ(device.anomalies()[0].audience, Audience::every_rank);
  EXPECT_EQ(device.session.snapshot().filling, Snapshot::Filling::ended);
  EXPECT_EQ(device.session.summary(0).bubbles, 48U) << "observing goes on";
}

TEST(Session, TroubleWhereNothingIsFilledIsRecordedAndObservingGoesOn) {
  VirtualDevice device;
  run(device, 10);
  device.session.trouble(device.time, "more streams than Weft has room for", Audience::one_rank);
  run(device, 10);
  ASSERT_EQ(device.anomalies().size(), 1U);
  EXPECT_FALSE(device.anomalies()[0].stops_filling);
  EXPECT_EQ(device.anomalies()[0].audience, Audience::one_rank);
  EXPECT_EQ(device.session.summary(0).bubbles, 20U);
}

TEST(Session, FillsFromTheMomentOnAtWhichAJobIsReady) {
  VirtualDevice device;
  run(device, 30);
  EXPECT_TRUE(device.launches.empty());
  device.session.begin_filling(device.time, {});
  run(device, 3);
  EXPECT_GE(device.launches.size(), 3U * 30U);
  EXPECT_EQ(device.session.snapshot().filling, Snapshot::Filling::fills);
  EXPECT_FALSE(device.session.summary(0).filling_stopped);
}

TEST(Session, WhatWouldHaveEndedFillingBeforeAJobWasReadyDoesSoToo) {
  VirtualDevice device;
  run(device, 30);
  device.session.trouble(device.time, "an unknown state", Audience::trace);
  device.session.begin_filling(device.time, {});
  run(device, 3);
  EXPECT_TRUE(device.launches.empty());
  EXPECT_TRUE(device.session.summary(0).filling_stopped);
  EXPECT_EQ(device.session.summary(0).reason, "an unknown state");
}

TEST(Session, AReasonThatIsTooLongForARecordSaysThatItGoesOn) {
  VirtualDevice device(filling());
  const std::string path = "take away /" + std::string(RecordText::capacity, 'p') + "/results.weft";
  device.session.end_filling(device.time, path);
  const std::string reason{std::string_view(device.session.summary(0).reason)};
  EXPECT_EQ(reason.size(), RecordText::capacity);
  EXPECT_TRUE(reason.ends_with("pp ...")) << reason;
}

TEST(Session, TroubleEndsFilling) {
  VirtualDevice device(filling());
  run(device, 24);
  device.session.trouble(device.time, "more streams than Weft has room for", Audience::one_rank);
  EXPECT_FALSE(device.session.fills());
}

// An offline tool needs this to draw a lane per stream and to repeat the decisions of the budget.
TEST(Session, RecordsSayWhichStreamWaitedInWhichTurnOfWhichRhythm) {
  VirtualDevice device(filling(0.01));
  run(device, 30);
  std::uint64_t rhythm = 0, turn = 0, bubbles_of_it = 0;
  for (const Record& record : device.records) {
    if (record.kind == RecordKind::iteration) {
      EXPECT_NE(record.iteration.rhythm, 0U);
      rhythm = record.iteration.rhythm;
      turn = record.iteration.turn;
    }
    if (record.kind != RecordKind::bubble) continue;
    EXPECT_EQ(record.bubble.stream, 1U) << "the compute stream of the model";
    if (rhythm == 0) continue;
    EXPECT_EQ(record.bubble.rhythm, rhythm);
    EXPECT_EQ(record.bubble.turn, turn + 1) << "of the iteration that follows the last one that ended";
    ++bubbles_of_it;
  }
  EXPECT_GT(bubbles_of_it, 10U);
}

// Each bubble that fill was launched in makes the main job wait for longer than the budget allows.
TEST(Session, ABudgetThatCannotBeKeptEndsFilling) {
  VirtualDevice device(filling(0.01));
  for (int microbatch = 0; microbatch < 20000 && device.session.fills(); ++microbatch) {
    const std::size_t before = device.launches.size();
    device.microbatch(200us, 3ms);
    if (device.launches.size() != before) device.advance(device.time + 6ms);
  }
  const TraceSummary summary = device.session.summary(0);
  EXPECT_TRUE(summary.filling_stopped);
  EXPECT_NE(std::string(summary.reason).find("the slowdown budget of 1 % cannot be kept: +"), std::string::npos)
      << summary.reason.c_str();
  EXPECT_EQ(summary.slowdown->share, 0);
  EXPECT_GT(summary.slowdown->estimate, 0.01);
  EXPECT_GT(device.unfilled(Unfilled::held_back), 0U);
}

// One long bubble in an iteration, and two that no slice fits in.
TEST(Session, WaitsWithoutRoomForASliceAreNoPartOfTheShareThatIsFilled) {
  VirtualDevice device(filling(0.01));
  const auto filled_of = [&](int iterations, Duration cost) {
    int filled = 0;
    for (int i = 0; i < 3 * iterations; ++i) {
      const std::size_t before = device.launches.size();
      device.microbatch(200us, i % 3 == 0 ? Duration(5ms) : Duration(100us));
      if (device.launches.size() == before) continue;
      device.advance(device.time + cost);
      ++filled;
    }
    return filled;
  };
  filled_of(60, 20ms);
  ASSERT_EQ(device.session.snapshot().share, 1.0 / 64);
  const int filled = filled_of(128, {});
  EXPECT_GE(filled, 1);
  EXPECT_LE(filled, 4) << "with the others a sixty-fourth would be six";
}

TEST(Session, HarmlessFillKeepsTheBudgetAndAllBubblesButThoseOfControlIterations) {
  VirtualDevice device(filling(0.01));
  run(device, 600);
  const TraceSummary summary = device.session.summary(0);
  EXPECT_FALSE(summary.filling_stopped);
  EXPECT_NEAR(summary.slowdown->estimate, 0, 1e-9);
  EXPECT_EQ(summary.slowdown->share, 1);
  EXPECT_GT(device.unfilled(Unfilled::held_back), 30U);
  EXPECT_LT(device.unfilled(Unfilled::held_back), 145U);
}

// The executor knows what slices take alone, not how long these take: an overrun shows when they end.
TEST(Session, SlicesThatOutlastTheirBubblesMakeDelaysDearer) {
  const auto launches_at_last = [](Duration takes, double budget) {
    VirtualDevice device(filling(budget));
    device.takes = takes;
    const auto some = [&](int bubbles) {
      for (int i = 0; i < bubbles; ++i) device.microbatch(3ms, i % 3 == 0 ? 5ms : 8ms);
    };
    some(90);
    const std::size_t before = device.launches.size();
    some(6);
    return device.launches.size() - before;
  };
  EXPECT_EQ(launches_at_last(200us, 0.025), launches_at_last(200us, Budget::unlimited));
  EXPECT_LT(launches_at_last(900us, 0.005), launches_at_last(900us, Budget::unlimited));
}

// The training's kernels stand ahead of it: looks become rarer, as long as nothing ends.
TEST(Session, TheEndOfALateSliceIsLookedForMoreAndMoreSeldom) {
  VirtualDevice device(filling());
  run(device, 24);
  device.gpu_hangs = true;
  device.begin_microbatch(2ms, 8ms);
  device.advance(device.time + 6ms);
  ASSERT_EQ(device.fill.size(), 2U);
  const auto next = [&] { return device.session.next_look(device.time, {false, 2, true}) - device.time; };
  EXPECT_EQ(next(), 50us) << "as for anything else";
}

TEST(Session, LooksWithoutSleepNearTheEndOfABubbleThatIsFilled) {
  for (const bool fills : {true, false}) {
    SessionOptions options = filling();
    options.spin = 1;
    options.fills = fills;
    VirtualDevice device(options);
    for (int i = 0; i < 60; ++i) device.microbatch(2ms, 8ms + (i * i % 7) * 100us);
    EXPECT_EQ(device.session.summary(0).spun > Duration{}, fills);
  }
}

TEST(Session, ALateSlicePausesFillingAndOneSliceAtATimeFollows) {
  VirtualDevice device(filling());
  run(device, 24);
  device.gpu_hangs = true;
  run(device, 12);  // far longer than 20 ms
  ASSERT_EQ(device.anomalies().size(), 1U);
  const AnomalyRecord pause = device.anomalies()[0];
  EXPECT_FALSE(pause.stops_filling);
  EXPECT_EQ(pause.audience, Audience::every_rank);
  EXPECT_NE(std::string(pause.text).find("a slice of 200 us did not end within"), std::string::npos)
      << pause.text.c_str();
  EXPECT_NE(std::string(pause.text).find("pause 1 of 3"), std::string::npos) << pause.text.c_str();
  EXPECT_EQ(device.session.snapshot().filling, Snapshot::Filling::paused);
  const std::size_t before = device.launches.size();
  device.gpu_hangs = false;
  run(device, 95);  // 950 ms: still within the second after the late slice's end
  EXPECT_EQ(device.launches.size(), before);
  run(device, 15);
  EXPECT_GT(device.launches.size(), before);
  EXPECT_EQ(device.anomalies().size(), 2U) << "that filling goes on is recorded";
  EXPECT_TRUE(device.session.fills());
}

TEST(Session, TheFourthLateSliceEndsFilling) {
  VirtualDevice device(filling());
  run(device, 24);
  for (int late = 1; late <= 4; ++late) {
    ASSERT_TRUE(device.session.fills()) << late;
    device.gpu_hangs = true;
    run(device, 12);
    device.gpu_hangs = false;
    run(device, 7000);  // 70 s: longer than the longest rest, far shorter than what is forgiven
  }
  EXPECT_FALSE(device.session.fills());
  EXPECT_NE(std::string(device.session.summary(0).reason).find("a slice of 200 us did not end within"),
            std::string::npos);
}

TEST(Session, ASliceThatNeverEndsEndsFilling) {
  VirtualDevice device(filling());
  run(device, 24);
  device.gpu_hangs = true;
  run(device, 3500);
  EXPECT_FALSE(device.session.fills());
}

TEST(Session, LooksAtOnceNearAnExpectedBubbleAndSleepsElsewhere) {
  VirtualDevice device(filling());
  run(device, 30);
  const Pending nothing{};
  // Right after a bubble the next one is 2 ms away.
  EXPECT_GE(device.session.next_look(device.time, nothing) - device.time, Duration(250us));
  EXPECT_EQ(device.session.next_look(device.time, {true, 0, false}) - device.time, Duration(50us));
  EXPECT_EQ(device.session.next_look(device.time, {false, 1, false}) - device.time, Duration(50us));
}

TEST(Session, ASnapshotHasTheTotalsAndTheOpenBubble) {
  VirtualDevice device(filling());
  run(device, 24);
  const Snapshot snapshot = device.session.snapshot();
  const TraceSummary summary = device.session.summary(0);
  EXPECT_EQ(snapshot.filling, Snapshot::Filling::fills);
  EXPECT_EQ(snapshot.bubbles, summary.bubbles);
  EXPECT_EQ(snapshot.slices, summary.slices);
  EXPECT_EQ(snapshot.iterations, summary.iterations);
  EXPECT_EQ(snapshot.idle, summary.idle);
  EXPECT_EQ(snapshot.filled, summary.filled);
  EXPECT_EQ(snapshot.share, 1);
  EXPECT_FALSE(snapshot.open.has_value());
}

}  // namespace
}  // namespace weft
