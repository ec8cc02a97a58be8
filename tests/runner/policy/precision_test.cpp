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

TEST(Precision, IsThatOfTheLookAndHooksAreExact) {
  Precision precision;
  precision.note(event(EventKind::group_issued, 100), 25ns);
  EXPECT_EQ(precision.of(at(100)), 0ns);
  precision.note(event(EventKind::wait_reached, 200), 25ns);
  precision.note(event(EventKind::stream_dry, 200), 25ns);
  EXPECT_EQ(precision.of(at(200)), 25ns);
  precision.note(event(EventKind::group_done, 900), 400ns);
  EXPECT_EQ(precision.of(at(200)), 25ns) << "a bubble is reported with the next event";
  EXPECT_EQ(precision.of(at(900)), 400ns);
  EXPECT_EQ(precision.of(at(100)), 0ns);
}

TEST(Precision, IsTheWorseOneOfTwoAtTheSameTime) {
  Precision precision;
  precision.note(event(EventKind::group_started, 100), 25ns);
  precision.note(event(EventKind::host_wait_begun, 100), 25ns);
  EXPECT_EQ(precision.of(at(100)), 25ns);
}

}  // namespace
}  // namespace weft
