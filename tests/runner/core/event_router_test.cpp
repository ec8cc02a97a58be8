// One ring, several devices.
#include "runner/core/event_router.h"

#include <gtest/gtest.h>

#include "shim/seam/ring.h"
#include "tests/shim/push.h"

namespace weft {
namespace {

Event event(EventKind kind, int device, GroupId group = 0) {
  Event made{};
  made.kind = kind;
  made.device = static_cast<std::int16_t>(device);
  made.group = group;
  return made;
}

struct EventRouterTest : ::testing::Test {
  std::unique_ptr<EventRing> ring = std::make_unique<EventRing>();
  EventRouter router{*ring};
  std::vector<Event> taken;

  std::vector<GroupId> take(int device) {
    taken.clear();
    router.take(device, taken);
    std::vector<GroupId> groups;
    for (const Event& each : taken) groups.push_back(each.group);
    return groups;
  }
};

TEST_F(EventRouterTest, EachDeviceGetsItsOwnInOrder) {
  for (GroupId group = 1; group <= 6; ++group)
    push(*ring, event(EventKind::group_issued, static_cast<int>(group % 2), group));
  EXPECT_EQ(take(0), (std::vector<GroupId>{2, 4, 6}));
  EXPECT_EQ(take(1), (std::vector<GroupId>{1, 3, 5}));
  EXPECT_EQ(take(1), std::vector<GroupId>{});
}

TEST_F(EventRouterTest, WhatCameBeforeTheFirstDrainOfADeviceIsKept) {
  push(*ring, event(EventKind::communicator_aborted, 1, 7));
  EXPECT_EQ(take(0), std::vector<GroupId>{});
  EXPECT_EQ(take(1), std::vector<GroupId>{7});
}

TEST_F(EventRouterTest, ADeviceGetsTheCapturesOfTheTimeBeforeItsDispatcher) {
  router.add(1);
  push(*ring, event(EventKind::capture_begun, 0));
  take(0);
  take(1);
  EXPECT_EQ(taken.size(), 1U);
}

TEST_F(EventRouterTest, AnnotationsWithoutADeviceGoToAll) {
  router.add(0);
  router.add(1);
  push(*ring, event(EventKind::said_iteration_begun, -1));
  push(*ring, event(EventKind::said_iteration_ended, 1));
  take(0);
  EXPECT_EQ(taken.size(), 1U);
  take(1);
  EXPECT_EQ(taken.size(), 2U);
}

TEST_F(EventRouterTest, AnnotationsOfADeviceThatNobodyObservesAreNotKept) {
  router.add(0);
  push(*ring, event(EventKind::said_bubble_begun, 3));
  take(0);
  EXPECT_TRUE(taken.empty());
  take(3);
  EXPECT_TRUE(taken.empty());
}

// A process that sees one GPU may take its local rank for the number of that.
TEST_F(EventRouterTest, ADeviceThatNobodyObservesAndManyAnnotationsNameIsToldOnce) {
  router.add(0);
  for (int i = 0; i < 3; ++i) {
    push(*ring, event(EventKind::said_iteration_begun, 3));
    push(*ring, event(EventKind::said_iteration_begun, 0));
  }
  take(0);
  EXPECT_EQ(router.unobserved(), 3);
  EXPECT_EQ(router.unobserved(), std::nullopt);
}

TEST_F(EventRouterTest, ADeviceThatIsObservedLaterIsNotTold) {
  router.add(0);
  push(*ring, event(EventKind::said_iteration_begun, 1));
  take(0);
  router.add(1);
  EXPECT_EQ(router.unobserved(), std::nullopt);
}

TEST_F(EventRouterTest, CapturesGoToAll) {
  take(0);
  take(1);
  push(*ring, event(EventKind::capture_begun, 0));
  EXPECT_EQ(take(1).size(), 1U);
  EXPECT_EQ(take(0).size(), 1U);
}

TEST_F(EventRouterTest, AnInboxNobodyEmptiesIsBounded) {
  for (int turn = 0; turn < 70000; ++turn) {
    push(*ring, event(EventKind::group_issued, 3));
    if (turn % 1000 == 0) take(0);
  }
  take(0);
  EXPECT_EQ(router.lost(), 70000U - 65536U);
}

}  // namespace
}  // namespace weft
