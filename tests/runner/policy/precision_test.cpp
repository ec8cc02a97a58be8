// By how much the times of events may be wrong.
#include "runner/policy/precision.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

TimePoint at(int time) {
  return TimePoint(Duration(time));
}

Event event(EventKind kind, int time) {
  Event event{};
  event.kind = kind;
  event.time = at(time);
  return event;
}

TEST(Precision, IsThatOfTheLook) {
  Precision precision;
  precision.note(event(EventKind::group_issued, 100), 5ns);
  EXPECT_EQ(precision.of(at(100)), 5ns);
  precision.note(event(EventKind::wait_reached, 200), 25ns);
  precision.note(event(EventKind::stream_dry, 200), 25ns);
  EXPECT_EQ(precision.of(at(200)), 25ns);
  precision.note(event(EventKind::group_done, 900), 400ns);
  EXPECT_EQ(precision.of(at(200)), 25ns) << "a bubble is reported with the next event";
  EXPECT_EQ(precision.of(at(900)), 400ns);
}

TEST(Precision, IsTheWorseOneOfTwoAtTheSameTime) {
  Precision precision;
  precision.note(event(EventKind::group_started, 100), 25ns);
  precision.note(event(EventKind::stream_dry, 100), 70ns);
  EXPECT_EQ(precision.of(at(100)), 70ns);
}

// Answers have the time of the look, and so may be told after a call that was made since.
TEST(Precision, OfAnEventThatIsToldLateIsThatOfTheTimeThatTheDetectorGivesIt) {
  Precision precision;
  precision.note(event(EventKind::wait_reached, 100), 25ns);
  precision.note(event(EventKind::host_wait_begun, 200), 25ns);
  precision.note(event(EventKind::stream_dry, 150), 60ns);
  EXPECT_EQ(precision.of(at(200)), 60ns);
  precision.note(event(EventKind::group_done, 900), 30ns);
  EXPECT_EQ(precision.of(at(200)), 60ns);
}

}  // namespace
}  // namespace weft
