// Dark iterations: nothing but the end of each is watched, and its time is neither idle nor uncertain. One stream of a
// main job in virtual time that marks what the detector wants marked.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "detector/detector.h"
#include "detector/group_shape.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

// Every tenth iteration, and the one after it.
bool some(std::uint64_t turn) {
  return turn >= 10 && turn % 10 < 2;
}

class Job {
 public:
  explicit Job(bool (*goes_dark)(std::uint64_t)) : detector(options(goes_dark)) {}

  std::vector<Finding> found;
  Detector detector{{.checks_kept = true}};
  TimePoint time = TimePoint{} + 1s;
  std::uint64_t unmarked = 0;
  bool marks_all = false;  // the hooks have not heard yet
  bool ends_in_graph = false;

  // It waits for so many receives, and adds up gradients.
  void iteration(int receives = 4, bool marked_end = true) {
    for (int i = 0; i < receives; ++i) group(i);
    group(-1, marked_end);
  }
  void group(int number, bool may_be_marked = true) {
    time += 1ms;
    Event event = at(EventKind::group_issued);
    event.group = ++groups_;
    const bool collective = number < 0;
    event.communicator = collective ? 2 : 1;
    event.summary.signature = static_cast<std::uint64_t>(100 + number);
    event.summary.send_peer = -1;
    event.summary.receive_peer = collective ? -1 : 1;
    event.summary.receives = collective ? 0 : 1;
    event.summary.collectives = event.summary.reduces = collective ? 1 : 0;
    event.summary.collective_bytes = collective ? std::uint64_t{1} << (20 + number) : 0;
    if (collective && ends_in_graph) event.summary.captured = Captured::graph;
    const std::optional<std::uint64_t> only = marks_all ? std::nullopt : detector.marks_only();
    const bool marked = may_be_marked && (!only || *only == likeness_of(event.summary, event.communicator));
    if (!marked) ++unmarked;
    if (!marked) observe(held_back());
    if (marked) {
      event.ticket = ++tickets_;
      event.done_ticket = ++tickets_;
    }
    observe(event);
    if (!marked) return;
    say(EventKind::group_started);
    time += 2ms;
    say(EventKind::group_done);
  }
  void saying(EventKind kind, std::int64_t number) {
    Event event = at(kind);
    event.saying = {number, -1, 0, 1};
    observe(event);
  }

  std::vector<DarkTime> dark() const {
    std::vector<DarkTime> all;
    for (const Finding& each : found)
      if (each.kind == FindingKind::dark_time) all.push_back(each.dark);
    return all;
  }
  std::vector<Iteration> iterations() const {
    std::vector<Iteration> all;
    for (const Finding& each : found)
      if (each.kind == FindingKind::iteration_ended) all.push_back(each.iteration);
    return all;
  }
  // Bubbles and uncertain time that reach into a dark one.
  std::size_t seen_in_the_dark() const {
    std::size_t count = 0;
    for (const DarkTime& each : dark())
      for (const Finding& other : found) {
        const bool bubble = other.kind == FindingKind::bubble_closed,
                   unsure = other.kind == FindingKind::uncertain_time;
        const TimePoint from = bubble ? other.bubble.opened : other.uncertain.began;
        const TimePoint to = bubble ? other.bubble.closed : other.uncertain.ended;
        count += (bubble || unsure) && from < each.ended && to > each.began ? 1 : 0;
      }
    return count;
  }

 private:
  static DetectorOptions options(bool (*goes_dark)(std::uint64_t)) {
    DetectorOptions made{.checks_kept = true};
    made.longest_period = 64;
    made.most_groups = 64;
    made.goes_dark = goes_dark;
    return made;
  }
  Event at(EventKind kind) const {
    Event event{};
    event.kind = kind;
    event.time = time;
    event.stream = 1;
    return event;
  }
  Event held_back() const {
    Event event = at(EventKind::marks_held_back);
    event.ticket = tickets_ + 1;
    return event;
  }
  void say(EventKind kind) {
    Event event = at(kind);
    event.group = groups_;
    observe(event);
  }
  void observe(const Event& event) {
    for (const Finding& each : detector.observe(event)) found.push_back(each);
  }

  GroupId groups_ = 0;
  Ticket tickets_ = 0;
};

void expect_dark_iterations(const Job& job, std::uint64_t least) {
  std::uint64_t dark = 0;
  for (const Iteration& each : job.iterations()) {
    EXPECT_EQ(each.dark, some(each.turn)) << each.turn;
    EXPECT_EQ(each.idle_known, !each.dark) << each.turn;
    dark += each.dark ? 1 : 0;
  }
  EXPECT_GE(dark, least);
  EXPECT_EQ(job.seen_in_the_dark(), 0U);
  for (const Finding& each : job.found) {
    if (each.kind != FindingKind::uncertain_time) continue;
    EXPECT_EQ(std::string(each.uncertain.why).find("a dark iteration is just over"), 0U) << each.uncertain.why;
  }
}

TEST(Dark, BetweenTwoPeriodsOnlyTheEndIsMarked) {
  Job job(&some);
  for (int i = 0; i < 40; ++i) job.iteration();
  expect_dark_iterations(job, 4);
  EXPECT_GE(job.unmarked, 4U * 4U) << "all but the last group of each";
  for (const Iteration& each : job.iterations()) {
    if (!each.dark) continue;
    EXPECT_EQ(each.idle, Duration{});
    EXPECT_EQ(each.uncertain, Duration{});
  }
  ASSERT_GE(job.dark().size(), 2U);
  const std::vector<Iteration> iterations = job.iterations();
  const auto first = std::find_if(iterations.begin(), iterations.end(), [](const Iteration& i) { return i.dark; });
  EXPECT_EQ(job.dark()[0].began, first->started);
  EXPECT_EQ(job.dark()[0].ended, first->ended) << "each by itself";
  EXPECT_EQ(job.dark()[1].began, first->ended);
}

TEST(Dark, WithoutThatNothingIsWithheld) {
  Job job(nullptr);
  for (int i = 0; i < 40; ++i) job.iteration();
  EXPECT_EQ(job.unmarked, 0U);
  EXPECT_TRUE(job.dark().empty());
  for (const Iteration& each : job.iterations()) EXPECT_FALSE(each.dark);
}

TEST(Dark, BetweenBoundsWhoseContentDiffers) {
  Job job(&some);
  for (int i = 0; i < 60; ++i) job.iteration(8 + 2 * (i * i % 5));
  expect_dark_iterations(job, 4);
  EXPECT_GT(job.unmarked, 0U);
}

TEST(Dark, IterationsThatTheFrameworkSays) {
  Job job(&some);
  for (int i = 0; i < 40; ++i) {
    job.saying(EventKind::said_iteration_begun, i);
    job.iteration();
    job.saying(EventKind::said_iteration_ended, i);
  }
  expect_dark_iterations(job, 4);
  EXPECT_GT(job.unmarked, 0U);
}

// Another iteration ends later: its own end was not marked, perhaps for want of room.
TEST(Dark, EndsWhereItsEndIsNotSeen) {
  Job job(&some);
  while (!job.detector.is_dark()) job.iteration();
  job.iteration(4, false);
  for (int i = 0; i < 4; ++i) job.iteration();
  EXPECT_FALSE(job.detector.is_dark());
  EXPECT_FALSE(job.detector.marks_only().has_value());
  EXPECT_GE(job.dark().size(), 1U);
}

TEST(Dark, EndsWithTheRhythm) {
  Job job(&some);
  while (!job.detector.is_dark()) job.iteration();
  for (int i = 0; i < 40 && job.detector.is_dark(); ++i) job.group(40 + i);
  EXPECT_FALSE(job.detector.is_dark());
  EXPECT_FALSE(job.detector.marks_only().has_value());
  EXPECT_EQ(job.dark().size(), 1U);
}

// Another stream's receive is under way, and waited for, when the iteration before the dark one ends.
TEST(Dark, ABubbleThatIsOpenIsCutOffWhereItBegins) {
  Job job(&some);
  while (job.iterations().empty() || !some(job.iterations().back().turn + 1)) job.iteration();
  ASSERT_TRUE(job.detector.is_dark() || job.detector.marks_only());
  EXPECT_FALSE(job.detector.open_bubble().has_value());
  std::size_t opened = 0, closed = 0;
  for (const Finding& each : job.found) {
    opened += each.kind == FindingKind::bubble_opened ? 1 : 0;
    closed += each.kind == FindingKind::bubble_closed ? 1 : 0;
  }
  EXPECT_EQ(closed, opened);
}

// Sharded weights are gathered layer by layer, on the communicator of the gradients: only what moves as much as the
// last collective is marked.
TEST(Dark, OtherCollectivesOfItsCommunicatorAreNotMarked) {
  Job job(&some);
  for (int i = 0; i < 40; ++i) {
    job.group(-2);
    job.iteration();
  }
  expect_dark_iterations(job, 4);
  EXPECT_GE(job.unmarked, 4U * 5U);
}

// A graph that issues gets no marker by a hook of groups: nobody would see the end.
TEST(Dark, IterationsThatEndInAGraphAreNotDark) {
  Job job(&some);
  job.ends_in_graph = true;
  for (int i = 0; i < 40; ++i) job.iteration();
  EXPECT_TRUE(job.dark().empty());
  EXPECT_EQ(job.unmarked, 0U);
}

TEST(Dark, BubblesAreExpectedAgainAfterIt) {
  Job job(&some);
  while (!job.detector.is_dark()) job.iteration();
  while (job.detector.is_dark()) job.iteration();
  EXPECT_TRUE(job.detector.next_expected_bubble().has_value()) << "as before it";
}

TEST(Dark, StaysForEverWhenItIsTold) {
  Job job(nullptr);
  for (int i = 0; i < 10; ++i) job.iteration();
  EXPECT_FALSE(job.detector.is_dark());
  job.detector.stay_dark();
  for (int i = 0; i < 10; ++i) job.iteration();
  EXPECT_TRUE(job.detector.is_dark());
  EXPECT_EQ(job.unmarked, 4U * 10U);
  const std::size_t before = job.iterations().size();
  job.iteration();
  EXPECT_EQ(job.iterations().size(), before + 1) << "their ends are watched";
}

// The hooks hear of it one look later.
TEST(Dark, WhatIsMarkedInItIsNotUsed) {
  Job job(&some);
  job.marks_all = true;
  for (int i = 0; i < 40; ++i) job.iteration();
  EXPECT_EQ(job.unmarked, 0U);
  expect_dark_iterations(job, 4);
}

}  // namespace
}  // namespace weft
