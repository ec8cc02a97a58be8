// Asking streams whether they have run dry, with made-up answers.
#include "runner/core/idle_checks.h"

#include <gtest/gtest.h>

#include <set>

namespace weft {
namespace {

using namespace std::chrono_literals;

std::set<StreamId> busy;
int questions = 0;

struct IdleChecksTest : ::testing::Test {
  ShimServices shim;
  std::vector<Event> happened;

  IdleChecksTest() {
    busy.clear();
    questions = 0;
    shim.is_dry = [](int device, StreamId stream) {
      ++questions;
      return device == 1 && busy.count(stream) == 0;
    };
  }
  static Event event(EventKind kind, StreamId stream, Duration time = {}) {
    Event made{};
    made.kind = kind;
    made.stream = stream;
    made.time = TimePoint(time);
    return made;
  }
  // The kinds of what is new.
  std::vector<EventKind> look(IdleChecks& idle_checks, Duration last = {}, Duration now = {}) {
    happened.clear();
    idle_checks.look(TimePoint(last + (now - last) / 2), happened);
    std::vector<EventKind> kinds;
    for (const Event& next : happened) kinds.push_back(next.kind);
    return kinds;
  }
};

using Kinds = std::vector<EventKind>;

TEST_F(IdleChecksTest, AStreamIsDryOnceAndNotBeforeItWasAskedFor) {
  IdleChecks idle_checks(shim, 1);
  EXPECT_EQ(look(idle_checks), Kinds{});
  busy = {3};
  idle_checks.note(event(EventKind::idle_check_issued, 3, 10us));
  idle_checks.note(event(EventKind::host_wait_begun, 0, 10us));
  EXPECT_EQ(look(idle_checks), Kinds{});
  busy.clear();
  EXPECT_EQ(look(idle_checks, 20us, 40us), Kinds{EventKind::idle_check_reached});
  EXPECT_EQ(happened[0].stream, 3u);
  EXPECT_EQ(happened[0].time, TimePoint(30us));
  EXPECT_EQ(look(idle_checks), Kinds{});
}

TEST_F(IdleChecksTest, NoAnswerIsEarlierThanTheBeginOfTheWait) {
  IdleChecks idle_checks(shim, 1);
  idle_checks.note(event(EventKind::idle_check_issued, 3, 10us));
  EXPECT_EQ(look(idle_checks, 0us, 11us), Kinds{});
  EXPECT_EQ(questions, 0);
  idle_checks.note(event(EventKind::host_wait_begun, 4, 12us));
  EXPECT_EQ(look(idle_checks, 0us, 14us), Kinds{EventKind::idle_check_reached});
  EXPECT_EQ(happened[0].time, TimePoint(12us));
}

TEST_F(IdleChecksTest, NothingHappensBeforeTheStreamIsNamed) {
  IdleChecks idle_checks(shim, 1);
  idle_checks.note(event(EventKind::host_wait_begun, 0, 10us));
  idle_checks.note(event(EventKind::idle_check_issued, 3, 35us));
  look(idle_checks, 20us, 40us);
  ASSERT_EQ(happened.size(), 1u);
  EXPECT_EQ(happened[0].time, TimePoint(35us));
}

// A thread that does not wait launches on it: what it does between two looks is not seen, so it stays running.
TEST_F(IdleChecksTest, AStreamThatHasWorkAgainStaysSoUntilTheNextHostWait) {
  IdleChecks idle_checks(shim, 1);
  idle_checks.note(event(EventKind::idle_check_issued, 3));
  idle_checks.note(event(EventKind::host_wait_begun, 0));
  look(idle_checks);
  busy = {3};
  EXPECT_EQ(look(idle_checks), Kinds{EventKind::idle_check_issued});
  busy.clear();
  EXPECT_EQ(look(idle_checks), Kinds{});
  idle_checks.note(event(EventKind::idle_check_issued, 3));
  EXPECT_EQ(look(idle_checks), Kinds{EventKind::idle_check_reached});
}

TEST_F(IdleChecksTest, AfterAHostWaitAndADestructionNobodyIsAsked) {
  IdleChecks idle_checks(shim, 1);
  idle_checks.note(event(EventKind::idle_check_issued, 3));
  idle_checks.note(event(EventKind::stream_destroyed, 3));
  look(idle_checks);
  EXPECT_EQ(questions, 0);
  idle_checks.note(event(EventKind::idle_check_issued, 4));
  idle_checks.note(event(EventKind::host_wait_begun, 0));
  look(idle_checks);
  EXPECT_EQ(questions, 1);
  idle_checks.note(event(EventKind::host_wait_ended, 0));
  look(idle_checks);
  EXPECT_EQ(questions, 1);
}

}  // namespace
}  // namespace weft
