// The pause between two slices, in virtual time: how early the next one is launched, by how late the thread looks.
#include <gtest/gtest.h>

#include "tests/runner/policy/virtual_device.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::filling;
using testing::VirtualDevice;

// Bubbles end anywhere between 4 and 12 ms, so nothing waits behind another slice for long.
void some_bubbles(VirtualDevice& device, int bubbles) {
  for (int i = 0; i < bubbles; ++i) device.microbatch(2ms, 4ms + (i * i % 17) * 500us);
}

// From the sixth millisecond of a long one on, for so many slices.
std::size_t launches_in(VirtualDevice& device, int slices) {
  device.begin_microbatch(2ms, 12ms);
  device.advance(device.in_bubble_from + 6ms);
  const std::size_t before = device.launches.size();
  device.advance(device.time + slices * device.slice);
  const std::size_t launched = device.launches.size() - before;
  device.advance(device.in_bubble_to);
  return launched;
}

TEST(Session, SlicesFollowEachOtherWithoutAPauseAlsoWhereABubbleMayEnd) {
  VirtualDevice device(filling());
  device.slice = device.takes = 50us;
  some_bubbles(device, 90);
  EXPECT_GE(launches_in(device, 40), 38U);
  device.begin_microbatch(2ms, 12ms);
  device.advance(device.in_bubble_from + 6ms);
  for (const TimePoint end = device.time + 2ms; device.time < end; device.advance(device.time + 1us))
    ASSERT_FALSE(device.fill.size() == 2 && device.fill[0].ends > device.time + 30us) << "too early";
}

TEST(Session, AThreadThatIsAlwaysLateWantsToLaunchEarlier) {
  VirtualDevice device(filling());
  device.late = 60us;
  some_bubbles(device, 90);
  EXPECT_GE(launches_in(device, 20), 19U);
}

TEST(Session, AThreadThatWasLateOnceIsNotTakenToBeLateForEver) {
  VirtualDevice device(filling());
  device.slice = device.takes = 25us;
  some_bubbles(device, 90);
  const std::size_t before = launches_in(device, 80);
  device.late = 1ms;
  some_bubbles(device, 4);
  device.late = {};
  some_bubbles(device, 30);
  EXPECT_EQ(launches_in(device, 80), before);
}

TEST(Session, AThreadThatIsLateAfterASleepDoesNotLaunchEarlierWhereItDoesNotSleep) {
  SessionOptions options = filling();
  options.spin = 1;
  VirtualDevice device(options);
  device.late = 60us;
  some_bubbles(device, 90);
  int seen = 0;
  for (int i = 0; i < 40; ++i) {
    device.begin_microbatch(2ms, 4ms + (i * i % 17) * 500us);
    TimePoint slept = device.time;
    while (device.time < device.in_bubble_to) {
      device.advance(device.time + 2us);
      if (device.session.next_look(device.time, {false, 1, true}) != device.time) slept = device.time;
      if (device.fill.size() < 2 || device.fill[1].launched < slept + 20us) continue;
      ++seen;
      ASSERT_LT(device.fill[0].ends - device.fill[1].launched, 40us) << i;
    }
  }
  EXPECT_GT(seen, 100);
}

}  // namespace
}  // namespace weft
