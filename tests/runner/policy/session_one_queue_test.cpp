// Where all streams stand in one hardware queue: when a Session fills, in virtual time.
#include <gtest/gtest.h>

#include "runner/policy/session.h"
#include "tests/runner/policy/virtual_device.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::filling;
using testing::VirtualDevice;

// One hardware queue. In this model a stream waits in each bubble.
struct OneQueue : ::testing::Test {
  VirtualDevice device{[] {
    SessionOptions options = filling();
    options.detector.one_queue = true;
    return options;
  }()};

  OneQueue() {
    device.fillable = Fillable::host_waits;
    device.nothing_enqueued = true;
  }
  // The host waits from the moment on at which it has launched everything.
  void run_with_host_waits(int microbatches) {
    for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
      device.begin_microbatch(2ms, 8ms);
      device.happens_first(EventKind::host_wait_begun);
      device.advance(device.in_bubble_to);
      device.happens_first(EventKind::host_wait_ended);
      ASSERT_LE(device.fill.size(), 1U);
    }
  }
};

TEST_F(OneQueue, IsFilledWhileTheHostWaitsWithOneSliceAtATime) {
  run_with_host_waits(30);
  EXPECT_GT(device.launches.size(), 100U);
  for (const VirtualDevice::Launch& launch : device.launches) ASSERT_TRUE(launch.in_bubble);
}

TEST_F(OneQueue, IsNotFilledWhileTheHostGoesOn) {
  run(device, 30);
  EXPECT_TRUE(device.launches.empty());
  EXPECT_GT(device.unfilled(Unfilled::one_queue), 10U);
}

TEST_F(OneQueue, IsNotFilledBehindAStreamThatWaitsUnlessTheMachineHasAnsweredSo) {
  device.fillable = Fillable::host_waits_alone;
  run_with_host_waits(30);
  EXPECT_TRUE(device.launches.empty());
}

TEST_F(OneQueue, IsNotFilledBehindALaunch) {
  device.nothing_enqueued = false;
  run_with_host_waits(30);
  EXPECT_TRUE(device.launches.empty());
  EXPECT_GT(device.unfilled(Unfilled::one_queue), 10U);
}

TEST_F(OneQueue, IsFilledNoMoreWhenSlicesAreHeldUpAgainstTheAnswers) {
  device.takes = 9ms;  // until the bubble is over
  run_with_host_waits(40);
  EXPECT_EQ(device.launches.size(), 3U);
  EXPECT_TRUE(device.session.summary(0).filling_stopped);
  EXPECT_EQ(device.session.summary(0).reason,
            "one hardware queue: 3 slices in a row did not end while the host waited for the GPU, against the answers "
            "of weft check");
}

}  // namespace
}  // namespace weft
