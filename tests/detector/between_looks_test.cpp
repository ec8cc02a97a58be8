// Compute that is launched, and over, between two looks: no answer says that a stream was busy, and the number of its
// launches has changed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "detector/detector.h"

namespace weft {
namespace {

constexpr StreamId receiving = 1, computing = 2, idle = 3;

// A receive that runs from 10 to 1000, one look every 100, two other streams.
class BetweenLooks : public ::testing::Test {
 protected:
  BetweenLooks() {
    Event group = event(0, EventKind::group_issued, receiving);
    group.communicator = 1;
    group.ticket = 1;
    group.done_ticket = 2;
    group.summary.receives = 1;
    group.summary.send_peer = -1;
    give(group);
    give(event(10, EventKind::group_started, receiving));
  }

  static Event event(std::int64_t time, EventKind kind, StreamId stream) {
    Event event{};
    event.time = TimePoint(Duration(time));
    event.kind = kind;
    event.stream = stream;
    event.group = stream == receiving ? 1 : 0;
    return event;
  }

  void give(const Event& event) {
    for (const Finding& found : detector_.observe(event)) {
      const auto at = [](TimePoint time) { return std::to_string(time.time_since_epoch().count()); };
      if (found.kind == FindingKind::bubble_closed)
        found_ += " idle " + at(found.bubble.opened) + "-" + at(found.bubble.closed);
      if (found.kind == FindingKind::uncertain_time)
        found_ += " uncertain " + at(found.uncertain.began) + "-" + at(found.uncertain.ended);
    }
  }

  // The launches of both streams so far, as the dispatcher tells them: what is news.
  void look(std::int64_t time, std::uint32_t launched, std::uint32_t launched_on_idle = 7) {
    detector_.looked(TimePoint(Duration(time)));
    std::vector<Event> news;
    for (const auto& [stream, number] : {std::pair(computing, launched), std::pair(idle, launched_on_idle)}) {
      const Answer answer{StreamAnswer::dry, 3, number};
      if (detector_.answer_of(stream) == answer) continue;
      news.push_back(event(time, EventKind::stream_dry, stream));
      news.back().ticket = answer.launched_before;
      news.back().done_ticket = answer.launched;
    }
    for (std::size_t i = 0; i + 1 < news.size(); ++i) news[i].more_follow = true;
    for (const Event& each : news) give(each);
  }

  std::string end() {
    give(event(1000, EventKind::group_done, receiving));
    give(event(1001, EventKind::host_acts, 0));
    return found_;
  }

  Detector detector_{{.checks_kept = true}};
  std::string found_;
};

TEST_F(BetweenLooks, NothingWasLaunched) {
  for (const std::int64_t time : {100, 200, 300}) look(time, 5);
  EXPECT_EQ(end(), " idle 10-1000");
}

TEST_F(BetweenLooks, TheLookInWhichItRanIsUncertain) {
  look(100, 5);
  look(200, 5);
  look(300, 6);
  look(400, 6);
  EXPECT_EQ(end(), " idle 10-200 uncertain 200-300 idle 300-1000");
}

TEST_F(BetweenLooks, OfTwoStreamsItIsSaidOnce) {
  look(100, 5);
  look(200, 5);
  look(300, 6, 8);
  EXPECT_EQ(end(), " idle 10-200 uncertain 200-300 idle 300-1000");
}

TEST_F(BetweenLooks, InEveryLook) {
  for (int i = 1; i <= 9; ++i) look(i * 100, 5 + static_cast<std::uint32_t>(i));
  const std::string found = end();
  EXPECT_EQ(found,
            " idle 10-100 uncertain 100-200 uncertain 200-300 uncertain 300-400 uncertain 400-500 uncertain 500-600 "
            "uncertain "
            "600-700 uncertain 700-800 uncertain 800-900 idle 900-1000");
}

TEST_F(BetweenLooks, ANumberThatIsNotKnownSaysNothing) {
  look(100, 5);
  look(200, 0);
  look(300, 6);
  EXPECT_EQ(end(), " idle 10-1000");
}

// The bubble that begins at 200 is announced by a call of the host: it keeps some length.
TEST_F(BetweenLooks, ABubbleThatWasAnnouncedDoesNotVanish) {
  look(100, 5);
  look(200, 6);
  give(event(250, EventKind::host_wait_begun, computing));
  look(300, 7);
  EXPECT_EQ(end(), " idle 10-100 uncertain 100-200 idle 200-1000");
}

}  // namespace
}  // namespace weft
