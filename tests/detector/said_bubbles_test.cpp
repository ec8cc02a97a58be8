// Bubbles that the framework says: only while nothing contradicts them.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "detector/detector.h"
#include "programs.h"
#include "questions.h"

namespace weft::testing {
namespace {

class SaidBubbles : public ::testing::Test {
 protected:
  Detector detector{{.checks_kept = true}};
  std::vector<Bubble> bubbles;
  Duration uncertain{};
  TimePoint time{Duration{1000}};

  Event at(EventKind kind, StreamId stream = 0) {
    Event event{};
    event.time = time += Duration{10};
    event.kind = kind;
    event.stream = stream;
    return event;
  }
  void observe(const Event& event) {
    for (const Finding& f : detector.observe(event)) {
      if (f.kind == FindingKind::bubble_closed) bubbles.push_back(f.bubble);
      if (f.kind == FindingKind::uncertain_time) uncertain += f.uncertain.ended - f.uncertain.began;
    }
  }
  void say(EventKind kind, std::int64_t number = 0) {
    Event event = at(kind);
    event.saying = {number, -1, 0, 1};
    observe(event);
  }
  void begin() { say(EventKind::said_bubble_begun); }
  void end() { say(EventKind::said_bubble_ended); }
  void answer(EventKind kind, StreamId stream = 1) { observe(at(kind, stream)); }
  bool is_open() { return detector.open_bubble().has_value(); }
  void issue(GroupId id, StreamId stream = 2) {
    Event event = at(EventKind::group_issued, stream);
    event.group = id;
    event.ticket = static_cast<Ticket>(2 * id - 1);
    event.done_ticket = static_cast<Ticket>(2 * id);
    event.communicator = 1;
    event.summary.signature = 1;
    event.summary.receives = 1;
    event.summary.send_peer = -1;
    observe(event);
  }
  void word(EventKind kind, GroupId id, StreamId stream = 2) {
    Event event = at(kind, stream);
    event.group = id;
    observe(event);
  }
};

TEST_F(SaidBubbles, OpenWhenAllStreamsAreDry) {
  begin();
  EXPECT_TRUE(detector.wants_answers());
  EXPECT_FALSE(is_open()) << "nobody has been asked yet";
  answer(EventKind::stream_dry);
  ASSERT_TRUE(is_open());
  EXPECT_EQ(detector.open_bubble()->pattern, Pattern::said);
  EXPECT_EQ(detector.open_bubble()->cause, Cause::schedule);
  EXPECT_EQ(detector.open_bubble()->group, 0u);
  const TimePoint opened = time;
  end();
  EXPECT_FALSE(is_open());
  ASSERT_EQ(bubbles.size(), 1u);
  EXPECT_EQ(bubbles[0].opened, opened);
  EXPECT_EQ(bubbles[0].closed, time);
  EXPECT_FALSE(detector.wants_answers());
  EXPECT_EQ(uncertain, Duration{0});
}

TEST_F(SaidBubbles, EndWhenAStreamAnswersBusy) {
  begin();
  answer(EventKind::stream_dry);
  answer(EventKind::stream_busy);
  EXPECT_FALSE(is_open());
  answer(EventKind::stream_dry);
  EXPECT_TRUE(is_open()) << "what was launched has run";
  end();
  ASSERT_EQ(bubbles.size(), 2u);
  EXPECT_EQ(bubbles[1].slot.ordinal, -1) << "a piece has no slot";
}

TEST_F(SaidBubbles, DoNotOpenWhileAStreamRuns) {
  issue(1);
  begin();
  EXPECT_FALSE(detector.wants_answers()) << "it runs up to its receive, nobody has to be asked";
  answer(EventKind::stream_dry);
  EXPECT_FALSE(is_open());
  end();
  EXPECT_TRUE(bubbles.empty());
}

// It is idle time, but nothing is filled: see Detector::capture_is_open().
TEST_F(SaidBubbles, OpenInACapture) {
  observe(at(EventKind::capture_begun));
  begin();
  answer(EventKind::stream_dry);
  EXPECT_TRUE(is_open());
}

TEST_F(SaidBubbles, AreUncertainWhereAStreamCannotBeAsked) {
  begin();
  answer(EventKind::stream_dry, 1);
  time -= Duration{10};  // of one look
  answer(EventKind::stream_unknown, 0);
  EXPECT_FALSE(is_open());
  time += Duration{490};
  end();
  EXPECT_EQ(uncertain, Duration{500});
  EXPECT_TRUE(bubbles.empty());
}

// A receive that is posted early runs on: without the saying nobody would know when it is computed again.
TEST_F(SaidBubbles, NameAPostedReceive) {
  issue(1);
  word(EventKind::group_started, 1);
  begin();
  ASSERT_TRUE(is_open());
  EXPECT_EQ(detector.open_bubble()->pattern, Pattern::said);
  word(EventKind::group_done, 1);
  answer(EventKind::stream_dry, 2);
  end();
  ASSERT_FALSE(bubbles.empty());
  EXPECT_EQ(bubbles.front().pattern, Pattern::posted_early) << "until it was said";
  EXPECT_EQ(bubbles.back().pattern, Pattern::said);
}

// Communication explains more than a saying.
TEST_F(SaidBubbles, GiveWayToABubbleThatIsSeen) {
  issue(1);
  Event wait = at(EventKind::wait_issued, 1);
  wait.awaited = {2, 2};
  wait.ticket = 11;
  wait.done_ticket = 12;
  wait.nothing_launched = true;
  observe(wait);
  word(EventKind::group_started, 1);
  begin();
  ASSERT_TRUE(is_open());
  EXPECT_EQ(detector.open_bubble()->pattern, Pattern::said);
  Event reached = at(EventKind::wait_reached, 1);
  reached.ticket = 11;
  observe(reached);
  ASSERT_TRUE(is_open());
  EXPECT_EQ(detector.open_bubble()->pattern, Pattern::event_wait);
  EXPECT_EQ(detector.open_bubble()->group, 1u);
  EXPECT_EQ(bubbles.back().pattern, Pattern::said);
  EXPECT_EQ(bubbles.back().closed, time) << "and goes on as another one";
}

TEST_F(SaidBubbles, HaveForecastsByTheirNumberInTheIteration) {
  for (std::int64_t iteration = 0; iteration < 5; ++iteration) {
    say(EventKind::said_iteration_begun, iteration);
    issue(static_cast<GroupId>(iteration + 1));
    word(EventKind::group_started, static_cast<GroupId>(iteration + 1));
    word(EventKind::group_done, static_cast<GroupId>(iteration + 1));
    for (const Duration length : {Duration{500}, Duration{3000}}) {
      begin();
      answer(EventKind::stream_dry, 2);
      if (iteration == 4) {
        ASSERT_TRUE(detector.open_bubble()->forecast);
        EXPECT_EQ(detector.open_bubble()->forecast->median, length + Duration{10});
        EXPECT_EQ(detector.open_bubble()->iteration, 5u);
      }
      time += length;
      end();
    }
    say(EventKind::said_iteration_ended, iteration);
  }
  EXPECT_EQ(bubbles.back().slot.ordinal, 1);
  // Without an iteration there is no slot.
  begin();
  answer(EventKind::stream_dry, 2);
  EXPECT_FALSE(detector.open_bubble()->forecast);
  EXPECT_EQ(detector.open_bubble()->slot.ordinal, -1);
}

// An early return, an exception.
TEST_F(SaidBubbles, EndWithTheirIterationAtTheLatest) {
  say(EventKind::said_iteration_begun, 1);
  begin();
  answer(EventKind::stream_dry);
  ASSERT_TRUE(is_open());
  time += Duration{500};
  say(EventKind::said_iteration_ended, 1);
  EXPECT_FALSE(is_open());
  time += Duration{500};
  answer(EventKind::stream_dry);
  EXPECT_FALSE(is_open()) << "a gap of the host";
  ASSERT_EQ(bubbles.size(), 1u);
  EXPECT_EQ(detector.refused_annotations(), 1u);
}

TEST_F(SaidBubbles, EndWhereCommunicationGoesOn) {
  begin();
  for (GroupId group = 1; group <= 3; ++group) {
    EXPECT_TRUE(detector.bubble_is_said());
    issue(group);
    word(EventKind::group_started, group);
    word(EventKind::group_done, group);
  }
  EXPECT_FALSE(detector.bubble_is_said());
  EXPECT_EQ(detector.refused_annotations(), 1u);
}

TEST_F(SaidBubbles, AreOffAfterAContradiction) {
  begin();
  answer(EventKind::stream_dry);
  EXPECT_TRUE(is_open());
  begin();
  EXPECT_FALSE(is_open());
  EXPECT_FALSE(detector.bubble_is_said());
  EXPECT_EQ(detector.refused_annotations(), 1u);
}

std::int64_t nanoseconds(TimePoint point) {
  return point.time_since_epoch().count();
}

// Looks at a random program whenever anything has changed, as the dispatcher does.
struct Watch {
  Detector& detector;
  Intervals idle{}, uncertain{};

  void give(const Event& event) {
    for (const Finding& f : detector.observe(event)) {
      if (f.kind == FindingKind::bubble_closed)
        idle.push_back({nanoseconds(f.bubble.opened), nanoseconds(f.bubble.closed)});
      if (f.kind == FindingKind::uncertain_time)
        uncertain.push_back({nanoseconds(f.uncertain.began), nanoseconds(f.uncertain.ended)});
    }
  }
  void ask(const RandomProgram& program, std::int64_t time) {
    detector.looked(TimePoint(Duration(time)));
    if (!detector.wants_answers()) return;
    for (const Event& event : news_for(detector, program, time, time)) give(event);
  }
};

// With the third one a bubble that is said is over.
std::int64_t before_third_group(const RandomProgram& program, std::int64_t begin) {
  int groups = 0;
  for (const Event& event : program.events())
    if (event.kind == EventKind::group_issued && nanoseconds(event.time) > begin && ++groups == 3)
      return nanoseconds(event.time) - 1;
  return std::numeric_limits<std::int64_t>::max();
}

// The program says at random that it has nothing to compute, mostly wrongly.
Intervals random_sayings(const RandomProgram& program, std::minstd_rand& random) {
  Intervals said;
  std::int64_t time = program.changes().front();
  const std::int64_t end = program.changes().back();
  while (true) {
    const std::int64_t begin = time + 1 + static_cast<std::int64_t>(random() % 400);
    time = std::min(begin + 1 + static_cast<std::int64_t>(random() % 400), before_third_group(program, begin));
    if (time >= end) return said;
    if (time > begin) said.push_back({begin, time});
    time = std::max(time, begin);
  }
}

void watch(Watch& watching, const RandomProgram& program, const Intervals& said) {
  std::vector<Event> events = program.events();
  std::vector<std::int64_t> looks = program.changes();
  for (const auto& [begin, end] : said)
    for (const std::int64_t time : {begin, end}) {
      Event event{};
      event.time = TimePoint(Duration(time));
      event.kind = time == begin ? EventKind::said_bubble_begun : EventKind::said_bubble_ended;
      events.push_back(event);
      looks.push_back(time);
    }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
  std::sort(looks.begin(), looks.end());
  std::size_t next = 0;
  for (const std::int64_t time : looks) {
    for (; next < events.size() && nanoseconds(events[next].time) <= time; ++next) watching.give(events[next]);
    watching.ask(program, time);
  }
}

TEST(SaidBubblesInRandomPrograms, AreIdleTimeExactlyWhereNothingRuns) {
  std::minstd_rand random(7);
  std::int64_t more = 0;
  for (std::uint32_t seed = 1; seed <= 3000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("program " + std::to_string(seed));
    RandomProgram::Counters counters;
    ProgramOptions options;
    options.streams = 1 + static_cast<int>(seed % 6);
    const RandomProgram program(options, seed, counters);
    const Intervals said = random_sayings(program, random);
    Detector detector{{.checks_kept = true}};
    Watch watching{detector};
    watch(watching, program, said);
    EXPECT_EQ(united(watching.idle), program.idle_with(said));
    more += length(without(program.idle_with(said), program.idle()));
  }
  EXPECT_GT(more, 1000) << "some of what was said was true";
}

}  // namespace
}  // namespace weft::testing
