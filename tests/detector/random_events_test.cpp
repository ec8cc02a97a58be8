// Events without sense: the detector must neither fail nor contradict itself, whatever arrives.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "detector/detector.h"

namespace weft {
namespace {

class RandomEvents : public ::testing::TestWithParam<unsigned> {};

Event random_event(std::minstd_rand& random, TimePoint time, GroupId newest) {
  Event e{};
  e.time = time;
  // The kinds up to 18, and what is said.
  const auto kind = random() % 26;
  e.kind = static_cast<EventKind>(kind < 19 ? kind : kind + 13);
  // An open capture would keep everything quiet for most of the time.
  if (e.kind == EventKind::capture_begun && random() % 8 != 0) e.kind = EventKind::capture_ended;
  e.stream = static_cast<StreamId>(random() % 4);
  e.communicator = static_cast<CommunicatorId>(random() % 4);
  e.group = e.kind == EventKind::group_issued ? newest : newest - std::min<GroupId>(newest, random() % 12);
  e.ticket = static_cast<Ticket>(1 + random() % 4);
  e.done_ticket = static_cast<Ticket>(random() % 8);
  if (e.kind == EventKind::wait_issued) {
    e.awaited = {static_cast<StreamId>(random() % 4), static_cast<Ticket>(random() % 8)};
    return e;
  }
  if (is_said(e.kind)) {
    e.saying = {static_cast<std::int64_t>(random() % 4) - 1, 0, 0, random() % 2};
    return e;
  }
  e.summary.signature = random() % 3;
  e.summary.sends = static_cast<std::uint16_t>(random() % 2);
  e.summary.receives = static_cast<std::uint16_t>(random() % 2);
  e.summary.collectives = static_cast<std::uint16_t>(random() % 2);
  return e;
}

TEST_P(RandomEvents, BubblesOpenAndCloseInTurn) {
  std::minstd_rand random(GetParam());
  Detector detector;
  TimePoint time{Duration{1000}};
  GroupId newest = 0;
  std::uint64_t open = 0, last = 0;
  std::size_t bubbles = 0;
  for (int i = 0; i < 100000; ++i) {
    // Times of two sources may cross a little.
    time += Duration{static_cast<std::int64_t>(random() % 50)};
    Event event = random_event(random, time - Duration{static_cast<std::int64_t>(random() % 100)}, newest + 1);
    if (event.kind == EventKind::group_issued) ++newest;
    for (const Finding& f : detector.observe(event)) {
      if (f.kind == FindingKind::bubble_opened) {
        ASSERT_EQ(open, 0u);
        ASSERT_GT(f.bubble.id, last);
        open = last = f.bubble.id;
      }
      if (f.kind != FindingKind::bubble_closed) continue;
      ASSERT_EQ(f.bubble.id, open);
      ASSERT_GE(f.bubble.closed, f.bubble.opened);
      open = 0;
      ++bubbles;
    }
    // One that has only just opened is not told of yet, and one that has just ended may go on at the same time.
    if (open != 0 && detector.open_bubble().has_value()) {
      ASSERT_EQ(detector.open_bubble()->id, open);
    }
  }
  EXPECT_GT(bubbles, 1u);  // what is not known makes most of it uncertain
  EXPECT_GT(detector.dropped(), 0u);
}

// Work that is not followed any more may be running, so that filling has to end.
TEST(Losses, AreAnAnomalyThatIsSaidOnce) {
  Detector detector;
  Event event{};
  event.kind = EventKind::wait_issued;
  event.stream = 1;
  std::vector<std::string> said;
  for (int i = 1; i <= 70'000; ++i) {
    event.time = TimePoint(Duration(i));
    event.ticket = static_cast<Ticket>(i);
    for (const Finding& finding : detector.observe(event))
      if (finding.kind == FindingKind::anomaly) said.emplace_back(finding.text);
  }
  EXPECT_EQ(said, std::vector<std::string>{"more is outstanding than the detector has room for"});
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomEvents, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace weft
