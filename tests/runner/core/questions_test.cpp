// Asking streams whether they have work left, with made-up answers.
#include "runner/core/questions.h"

#include <gtest/gtest.h>

#include <map>

namespace weft {
namespace {

using namespace std::chrono_literals;
using Given = std::vector<std::pair<StreamId, EventKind>>;

std::map<StreamId, StreamAnswer> streams;  // of device 1, and what each says
std::map<StreamId, Ticket> launched_before;
bool too_many = false;
int asked = 0;

struct NoRecords final : RecordSink {
  void push(const Record&) noexcept override {}
};

struct QuestionsTest : ::testing::Test {
  ShimServices shim;
  NoRecords records;
  Session session{{}, records};
  Questions questions{shim, 1};

  QuestionsTest() {
    streams = {{1, StreamAnswer::busy}, {2, StreamAnswer::dry}};
    launched_before.clear();
    too_many = false;
    asked = 0;
    shim.list_streams_to_ask = [](int device, StreamId* ids, int most) {
      EXPECT_EQ(device, 1);
      EXPECT_GE(most, 33);
      int count = 0;
      for (const auto& [id, answer] : streams)
        if (id != 9) ids[count++] = id;
      return too_many ? -1 : count;
    };
    shim.ask_stream = [](int, StreamId stream) {
      ++asked;
      return Answer{streams.count(stream) != 0 ? streams.at(stream) : StreamAnswer::unknown, launched_before[stream]};
    };
  }
  // A receive on stream 2 runs.
  void begin_receive() {
    Event event{};
    event.kind = EventKind::group_issued;
    event.time = TimePoint(10us);
    event.stream = 2;
    event.group = 1;
    event.ticket = 1;
    event.done_ticket = 2;
    event.summary.receives = 1;
    session.observe(event);
    event.kind = EventKind::group_started;
    session.observe(event);
  }
  // Stream 1 is at a wait for it, and stands there.
  void wait_for_receive() {
    Event wait{};
    wait.kind = EventKind::wait_issued;
    wait.time = TimePoint(11us);
    wait.stream = 1;
    wait.awaited = {2, 2};
    wait.ticket = 3;
    wait.done_ticket = 4;
    session.observe(wait);
    wait.kind = EventKind::wait_reached;
    session.observe(wait);
  }
  Given look(Duration time, bool ask = true) {
    Given given;
    for (const Event& event : questions.answers(session, TimePoint(time), ask)) {
      EXPECT_EQ(event.time, TimePoint(time));
      EXPECT_EQ(event.device, 1);
      given.emplace_back(event.stream, event.kind);
      session.observe(event);
    }
    return given;
  }
};

TEST_F(QuestionsTest, NobodyIsAskedWhileNothingIsUnderWay) {
  EXPECT_EQ(look(1us), Given{});
  EXPECT_EQ(asked, 0);
}

TEST_F(QuestionsTest, OnlyNewsIsTold) {
  begin_receive();
  EXPECT_EQ(look(20us), (Given{{1, EventKind::stream_busy}}));
  EXPECT_EQ(asked, 1) << "stream 2 is in its group";
  EXPECT_EQ(look(30us), Given{});
  EXPECT_EQ(asked, 2) << "an answer is true at its time only";
  streams[1] = StreamAnswer::dry;
  EXPECT_EQ(look(40us), (Given{{1, EventKind::stream_dry}}));
  EXPECT_EQ(look(50us), Given{});
  streams[1] = StreamAnswer::unknown;
  EXPECT_EQ(look(60us), (Given{{1, EventKind::stream_unknown}}));
}

// One that has work left is enough: the others are asked when it has none.
TEST_F(QuestionsTest, TheStreamThatWasBusyLastIsAskedFirstAndAlone) {
  streams = {{1, StreamAnswer::dry}, {2, StreamAnswer::dry}, {3, StreamAnswer::busy}, {4, StreamAnswer::busy}};
  begin_receive();
  EXPECT_EQ(look(20us), (Given{{1, EventKind::stream_dry}, {3, EventKind::stream_busy}}));
  asked = 0;
  EXPECT_EQ(look(30us), Given{});
  EXPECT_EQ(asked, 1);
  streams[3] = streams[4] = StreamAnswer::dry;
  EXPECT_EQ(look(40us), (Given{{3, EventKind::stream_dry}, {4, EventKind::stream_dry}}));
}

// The one that was busy last may stand behind a stream that waits: another may still run.
TEST_F(QuestionsTest, AllAreAskedWhileThatLeavesADoubt) {
  streams = {{1, StreamAnswer::dry}, {2, StreamAnswer::dry}, {3, StreamAnswer::busy}, {4, StreamAnswer::busy}};
  launched_before = {{3, 9}, {4, 9}};
  begin_receive();
  wait_for_receive();
  EXPECT_EQ(look(20us), (Given{{3, EventKind::stream_busy}}));
  EXPECT_TRUE(session.is_doubtful(3));
  EXPECT_EQ(look(30us), (Given{{4, EventKind::stream_busy}}));
  EXPECT_TRUE(session.is_doubtful(4));
  launched_before[4] = 2;
  EXPECT_EQ(look(40us), (Given{{4, EventKind::stream_busy}})) << "when it was launched is news";
  EXPECT_FALSE(session.is_doubtful(4)) << "before the wait";
  asked = 0;
  EXPECT_EQ(look(50us), Given{});
  EXPECT_EQ(asked, 1) << "now that one is enough";
  streams[4] = StreamAnswer::dry;
  EXPECT_EQ(look(60us), (Given{{4, EventKind::stream_dry}})) << "the other one is asked only after it";
}

TEST_F(QuestionsTest, ADoubtfulStreamIsNotEnoughOnceTheOtherOneIsDry) {
  streams = {{1, StreamAnswer::dry}, {2, StreamAnswer::dry}, {3, StreamAnswer::busy}, {4, StreamAnswer::busy}};
  launched_before = {{3, 2}, {4, 9}};
  begin_receive();
  wait_for_receive();
  streams[3] = StreamAnswer::dry;
  EXPECT_EQ(look(20us), (Given{{3, EventKind::stream_dry}, {4, EventKind::stream_busy}}));
  EXPECT_TRUE(session.is_doubtful(4));
  streams[3] = StreamAnswer::busy;
  EXPECT_EQ(look(30us), (Given{{3, EventKind::stream_busy}}));
  streams[3] = StreamAnswer::dry;
  EXPECT_EQ(look(40us), (Given{{3, EventKind::stream_dry}}));
}

TEST_F(QuestionsTest, WhereNotAllStreamsCanBeNamedThatIsSaidOnce) {
  begin_receive();
  too_many = true;
  EXPECT_EQ(look(20us), (Given{{0, EventKind::stream_unknown}}));
  EXPECT_EQ(look(30us), Given{});
}

TEST_F(QuestionsTest, AStreamThatTheDetectorKnowsAndNobodyMayAskIsUnknown) {
  begin_receive();
  Event event{};
  event.kind = EventKind::stream_busy;
  event.time = TimePoint(11us);
  event.stream = 9;
  session.observe(event);
  event.kind = EventKind::wait_issued;
  event.awaited = {2, 2};
  event.ticket = 3;
  event.done_ticket = 4;
  session.observe(event);
  event.kind = EventKind::wait_passed;
  event.ticket = 4;
  session.observe(event);
  streams[1] = StreamAnswer::dry;
  EXPECT_EQ(look(20us), (Given{{1, EventKind::stream_dry}, {9, EventKind::stream_unknown}}));
  EXPECT_EQ(look(30us), Given{});
  streams[9] = StreamAnswer::dry;  // the shim has counted what was launched on it
  EXPECT_EQ(look(40us), (Given{{9, EventKind::stream_dry}}));
  streams[9] = StreamAnswer::unknown;
  EXPECT_EQ(look(50us), (Given{{9, EventKind::stream_unknown}})) << "asked at each look";
}

TEST_F(QuestionsTest, NobodyIsAskedWhileThatIsNotAllowed) {
  begin_receive();
  EXPECT_EQ(look(20us, false), (Given{{0, EventKind::stream_unknown}}));
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace weft
