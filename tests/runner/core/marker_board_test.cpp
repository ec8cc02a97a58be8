// Words in, events out.
#include "runner/core/marker_board.h"

#include <gtest/gtest.h>

#include <array>

namespace weft {
namespace {

using namespace std::chrono_literals;

TimePoint at(Duration time) {
  return TimePoint{} + time;
}

struct MarkerBoardTest : ::testing::Test {
  std::array<std::atomic<std::uint32_t>, 8> words{};
  MarkerBoard board{MarkerWords{words.data(), 0, 8}};
  std::vector<Event> happened;

  void write(Ticket ticket) { words[ticket % 8] = ticket; }
  void look() {
    happened.clear();
    board.look(happened);
  }
  static Event group(Duration time, StreamId stream, GroupId group, Ticket ticket, Ticket done) {
    Event event{};
    event.time = at(time);
    event.kind = EventKind::group_issued;
    event.stream = stream;
    event.group = group;
    event.ticket = ticket;
    event.done_ticket = done;
    event.summary.sends = 3;
    return event;
  }
};

TEST_F(MarkerBoardTest, AGroupStartsAndEnds) {
  board.note(group(1us, 5, 9, 1, 2));
  EXPECT_EQ(board.outstanding(), 2U);
  EXPECT_EQ(board.groups_pending(), 1U);
  look();
  EXPECT_TRUE(happened.empty());
  write(1);
  look();
  ASSERT_EQ(happened.size(), 1U);
  EXPECT_EQ(happened[0].kind, EventKind::group_started);
  EXPECT_EQ(happened[0].time, at(1us)) << "of the event that announced it";
  EXPECT_EQ(happened[0].stream, 5U);
  EXPECT_EQ(happened[0].group, 9U);
  EXPECT_EQ(happened[0].ticket, 1U);
  EXPECT_EQ(happened[0].summary.sends, 0U);
  write(2);
  look();
  ASSERT_EQ(happened.size(), 1U);
  EXPECT_EQ(happened[0].kind, EventKind::group_done);
  EXPECT_EQ(board.outstanding(), 0U);
  EXPECT_EQ(board.groups_pending(), 0U);
}

TEST_F(MarkerBoardTest, StreamsDoNotWaitForEachOther) {
  board.note(group(1us, 1, 1, 1, 2));
  board.note(group(1us, 2, 2, 3, 4));
  write(3);
  write(4);
  look();
  ASSERT_EQ(happened.size(), 2U);
  EXPECT_EQ(happened[0].stream, 2U);
  EXPECT_EQ(board.groups_pending(), 1U);
}

TEST_F(MarkerBoardTest, AWordThatIsUsedAgainStillCounts) {
  board.note(group(1us, 1, 1, 3, 0));
  write(11);  // the next ticket of the same word
  look();
  EXPECT_EQ(happened.size(), 1U);
}

TEST_F(MarkerBoardTest, AnOldNumberInTheWordDoesNotCount) {
  write(3);
  board.note(group(1us, 1, 1, 11, 0));
  look();
  EXPECT_TRUE(happened.empty());
}

TEST_F(MarkerBoardTest, TicketsMayWrapAround) {
  board.note(group(1us, 1, 1, 0xfffffffe, 6));
  words[0xfffffffe % 8] = 0xfffffffe;
  look();
  ASSERT_EQ(happened.size(), 1U);
  write(6);
  look();
  EXPECT_EQ(happened.size(), 1U);
}

// The shim writes it when tickets have gone round: a sign that everything before it was reached.
TEST_F(MarkerBoardTest, TheNumberThatIsNoTicketCountsAsReached) {
  words[0] = 0xfffffff0;
  board.note(group(1us, 1, 1, 0xfffffff8, 0));
  look();
  EXPECT_TRUE(happened.empty());
  words[0] = 0;
  look();
  EXPECT_EQ(happened.size(), 1U);
}

TEST_F(MarkerBoardTest, AGroupWithoutMarkersIsNotWaitedFor) {
  board.note(group(1us, 1, 1, 0, 0));
  EXPECT_EQ(board.outstanding(), 0U);
  EXPECT_EQ(board.groups_pending(), 0U);
}

TEST_F(MarkerBoardTest, GivesUpTheOldestWhenThereAreTooMany) {
  MarkerBoard small(MarkerWords{words.data(), 0, 8}, {}, 2);
  small.note(group(1us, 1, 1, 1, 2));
  small.note(group(1us, 1, 2, 3, 4));
  EXPECT_EQ(small.outstanding(), 2U);
  EXPECT_EQ(small.given_up(), 2U);
  write(3);
  happened.clear();
  small.look(happened);
  ASSERT_EQ(happened.size(), 1U);
  EXPECT_EQ(happened[0].group, 2U);
}

// Events in place of words: each says whether it has happened.
struct RecordedEvents : MarkerBoardTest {
  std::array<bool, 8> happened_by_now{};
  std::array<MarkerEvent, 8> places{};
  Driver driver;
  MarkerWords with_events{words.data(), 0, 8, places.data()};
  MarkerBoard asking{with_events, MarkedEvents(&driver, with_events)};

  void SetUp() override {
    driver.cuEventQuery = [](CUevent event) {
      return *reinterpret_cast<bool*>(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    };
    for (std::size_t i = 0; i < places.size(); ++i) places[i].event = &happened_by_now[i];
  }
  void record(Ticket ticket) { places[ticket % 8].recorded = ticket; }
  void look(bool ask = true) {
    happened.clear();
    asking.look(happened, ask);
  }
};

TEST_F(RecordedEvents, AnEventThatHasHappenedWritesItsWord) {
  asking.note(group(1us, 1, 1, 1, 2));
  record(1);
  look();
  EXPECT_TRUE(happened.empty());
  happened_by_now[1] = true;
  look(false);
  EXPECT_TRUE(happened.empty()) << "the context is going";
  look();
  ASSERT_EQ(happened.size(), 1U);
  EXPECT_EQ(happened[0].kind, EventKind::group_started);
  EXPECT_EQ(words[1], 1U);
}

TEST_F(RecordedEvents, AnEventThatIsNotRecordedYetAnswersForNobody) {
  asking.note(group(1us, 1, 1, 9, 10));
  record(1);  // a lap ago
  happened_by_now[1] = true;
  look();
  EXPECT_TRUE(happened.empty());
  record(9);
  look();
  EXPECT_EQ(happened.size(), 1U);
}

TEST_F(RecordedEvents, AWordThatTheHostWroteNeedsNoEvent) {
  asking.note(group(1us, 1, 1, 1, 2));
  write(1);
  look();
  EXPECT_EQ(happened.size(), 1U);
}

TEST_F(RecordedEvents, ThoseNobodyWillAskForAreAskedAtOnce) {
  record(3);
  record(4);
  happened_by_now[3] = true;
  asking.look_at_all();
  EXPECT_EQ(words[3], 3U);
  EXPECT_EQ(words[4], 0U);
}

}  // namespace
}  // namespace weft
