// Events without sense: the detector must neither fail nor contradict itself, whatever arrives.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "detector/detector.h"

namespace weft {
namespace {

class RandomEvents : public ::testing::TestWithParam<unsigned> {};

constexpr GroupId most_groups = 16;

Event random_event(std::minstd_rand& random, TimePoint time, GroupId newest, bool of_all_kinds) {
  Event e{};
  e.time = time;
  // The kinds up to 18, and what is said; or all there are.
  const auto kind = random() % (of_all_kinds ? 40 : 26);
  e.kind = static_cast<EventKind>(of_all_kinds || kind < 19 ? kind : kind + 13);
  // An open capture would keep everything quiet for most of the time, and as rare is what all streams have to do with.
  const bool is_rare = e.kind == EventKind::capture_begun || e.kind == EventKind::queues_shared ||
                       e.kind == EventKind::order_unsure || e.kind == EventKind::context_waits;
  if (is_rare && random() % 8 != 0) e.kind = EventKind::capture_ended;
  e.stream = static_cast<StreamId>(random() % 4);
  e.communicator = static_cast<CommunicatorId>(random() % 4);
  e.group = e.kind == EventKind::group_issued ? newest : newest - std::min<GroupId>(newest, random() % 12);
  e.ticket = static_cast<Ticket>(1 + random() % 4);
  e.done_ticket = static_cast<Ticket>(random() % 8);
  if (of_all_kinds) {
    e.nothing_launched = random() % 2 == 0;
    e.more_follow = random() % 4 == 0;
    e.order = static_cast<StreamOrder>(random() % 8 == 0 ? 1 + random() % 2 : 0);
    e.in_graph = static_cast<InGraph>(random() % 3);
    // Late, or once more.
    if (e.kind == EventKind::group_issued && random() % 4 == 0)
      e.group = newest - std::min<GroupId>(newest - 1, random() % (2 * most_groups));
  }
  if (e.kind == EventKind::wait_issued || e.kind == EventKind::context_waits) {
    e.awaited = {static_cast<StreamId>(random() % 4), static_cast<Ticket>(random() % 8), random() % 4 == 0};
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
  if (of_all_kinds && random() % 8 == 0) e.summary.captured = static_cast<Captured>(random() % 3);
  return e;
}

DetectorOptions options_of(unsigned seed) {
  DetectorOptions options;
  options.checks_kept = true;
  if (seed % 2 == 0) options.most_groups = most_groups;
  options.one_queue = seed % 8 == 0;
  return options;
}

TEST_P(RandomEvents, BubblesOpenAndCloseInTurn) {
  std::minstd_rand random(GetParam());
  const bool of_all_kinds = GetParam() % 2 == 0;
  Detector detector{options_of(GetParam())};
  TimePoint time{Duration{1000}};
  GroupId newest = 0;
  std::uint64_t open = 0, last = 0;
  std::size_t bubbles = 0;
  for (int i = 0; i < 100000; ++i) {
    // Times of two sources may cross a little.
    time += Duration{static_cast<std::int64_t>(random() % 50)};
    Event event =
        random_event(random, time - Duration{static_cast<std::int64_t>(random() % 100)}, newest + 1, of_all_kinds);
    if (event.kind == EventKind::group_issued) newest = std::max(newest, event.group);
    if (of_all_kinds && random() % 4 == 0) detector.looked(time);
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
  // Most of the time is uncertain, because so much is not known.
  EXPECT_GT(bubbles, of_all_kinds ? 0U : 1U);
  EXPECT_GT(detector.dropped(), 0u);
}

// Work that is not followed any more may be running, so that filling has to end.
TEST(Losses, AreAnAnomalyThatIsSaidOnce) {
  Detector detector{{.checks_kept = true}};
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

INSTANTIATE_TEST_SUITE_P(Seeds, RandomEvents, ::testing::Range(1u, 17u));

}  // namespace
}  // namespace weft
