// Asking streams whether they have run dry, with made-up answers.
#include "runner/core/drains.h"

#include <gtest/gtest.h>

#include <set>

namespace weft {
namespace {

using namespace std::chrono_literals;

std::set<StreamId> busy;
int questions = 0;

struct DrainsTest : ::testing::Test {
  ShimServices shim;
  std::vector<Event> happened;

  DrainsTest() {
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
  std::vector<EventKind> look(Drains& drains, Duration last = {}, Duration now = {}) {
    happened.clear();
    drains.look(TimePoint(last + (now - last) / 2), happened);
    std::vector<EventKind> kinds;
    for (const Event& next : happened) kinds.push_back(next.kind);
    return kinds;
  }
};

using Kinds = std::vector<EventKind>;

TEST_F(DrainsTest, AStreamIsDryOnceAndNotBeforeItWasAskedFor) {
  Drains drains(shim, 1);
  EXPECT_EQ(look(drains), Kinds{});
  busy = {3};
  drains.note(event(EventKind::drain_issued, 3, 10us));
  drains.note(event(EventKind::host_wait_begun, 0, 10us));
  EXPECT_EQ(look(drains), Kinds{});
  busy.clear();
  EXPECT_EQ(look(drains, 20us, 40us), Kinds{EventKind::drain_reached});
  EXPECT_EQ(happened[0].stream, 3u);
  EXPECT_EQ(happened[0].time, TimePoint(30us));
  EXPECT_EQ(look(drains), Kinds{});
}

TEST_F(DrainsTest, NoAnswerIsEarlierThanTheBeginOfTheWait) {
  Drains drains(shim, 1);
  drains.note(event(EventKind::drain_issued, 3, 10us));
  EXPECT_EQ(look(drains, 0us, 11us), Kinds{});
  EXPECT_EQ(questions, 0);
  drains.note(event(EventKind::host_wait_begun, 4, 12us));
  EXPECT_EQ(look(drains, 0us, 14us), Kinds{EventKind::drain_reached});
  EXPECT_EQ(happened[0].time, TimePoint(12us));
}

TEST_F(DrainsTest, NothingHappensBeforeTheStreamIsNamed) {
  Drains drains(shim, 1);
  drains.note(event(EventKind::host_wait_begun, 0, 10us));
  drains.note(event(EventKind::drain_issued, 3, 35us));
  look(drains, 20us, 40us);
  ASSERT_EQ(happened.size(), 1u);
  EXPECT_EQ(happened[0].time, TimePoint(35us));
}

// A thread that does not wait launches on it: what it does between two looks is not seen, so it stays running.
TEST_F(DrainsTest, AStreamThatHasWorkAgainStaysSoUntilTheNextHostWait) {
  Drains drains(shim, 1);
  drains.note(event(EventKind::drain_issued, 3));
  drains.note(event(EventKind::host_wait_begun, 0));
  look(drains);
  busy = {3};
  EXPECT_EQ(look(drains), Kinds{EventKind::drain_issued});
  busy.clear();
  EXPECT_EQ(look(drains), Kinds{});
  drains.note(event(EventKind::drain_issued, 3));
  EXPECT_EQ(look(drains), Kinds{EventKind::drain_reached});
}

TEST_F(DrainsTest, AfterAHostWaitAndADestructionNobodyIsAsked) {
  Drains drains(shim, 1);
  drains.note(event(EventKind::drain_issued, 3));
  drains.note(event(EventKind::stream_destroyed, 3));
  look(drains);
  EXPECT_EQ(questions, 0);
  drains.note(event(EventKind::drain_issued, 4));
  drains.note(event(EventKind::host_wait_begun, 0));
  look(drains);
  EXPECT_EQ(questions, 1);
  drains.note(event(EventKind::host_wait_ended, 0));
  look(drains);
  EXPECT_EQ(questions, 1);
}

}  // namespace
}  // namespace weft
