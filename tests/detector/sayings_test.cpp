// Which annotations are believed: their order and numbers alone.
#include "detector/sayings.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

Saying saying(std::int64_t number, std::uint64_t thread = 1) {
  return {number, -1, 0, thread};
}

struct SayingsTest : ::testing::Test {
  Sayings sayings;
  std::uint64_t groups = 0;

  const char* begin(std::int64_t number, std::uint64_t thread = 1) {
    return sayings.iteration_begun(saying(number, thread), groups);
  }
  const char* end(std::int64_t number, std::uint64_t thread = 1) {
    return sayings.iteration_ended(saying(number, thread), groups);
  }
  void whole(std::int64_t number) {
    EXPECT_EQ(begin(number), nullptr);
    groups += 8;
    EXPECT_EQ(end(number), nullptr);
  }
};

TEST_F(SayingsTest, IterationsThatRiseAreBelieved) {
  for (const std::int64_t number : {0, 1, 2, 7, 1000}) whole(number);
  EXPECT_TRUE(sayings.iterations_are_believed());
  EXPECT_EQ(sayings.refused(), 0u);
}

// The core is loaded in the middle of the first one.
TEST_F(SayingsTest, TheFirstOfAllMayBeAnEnd) {
  EXPECT_EQ(end(4), nullptr);
  whole(5);
  EXPECT_EQ(sayings.microbatch_ended(saying(3)), nullptr);
  EXPECT_EQ(sayings.bubble_ended(saying(0)), nullptr);
  EXPECT_EQ(sayings.refused(), 0u);
  EXPECT_NE(end(5), nullptr);
  EXPECT_NE(sayings.microbatch_ended(saying(3)), nullptr);
  EXPECT_NE(sayings.bubble_ended(saying(0)), nullptr);
  EXPECT_EQ(sayings.refused(), 3u);
}

TEST_F(SayingsTest, TwoWholeOnesFollowAContradiction) {
  whole(1);
  EXPECT_STREQ(begin(1), "annotations: the numbers of iterations do not rise");
  EXPECT_FALSE(sayings.iterations_are_believed());
  EXPECT_EQ(end(1), nullptr);
  EXPECT_FALSE(sayings.iterations_are_believed());
  whole(2);
  EXPECT_TRUE(sayings.iterations_are_believed());
  EXPECT_EQ(sayings.refused(), 1u);
}

TEST_F(SayingsTest, EachContradictionHasItsName) {
  EXPECT_STREQ(begin(-1), "annotations: an iteration has a negative number");
  EXPECT_STREQ(begin(3), "annotations: an iteration begins before the one before has ended");
  EXPECT_STREQ(end(4), "annotations: an iteration ends with another number than it began with");
  EXPECT_STREQ(end(3), "annotations: an iteration ends that has not begun");
  EXPECT_EQ(begin(5), nullptr);
  EXPECT_STREQ(begin(6, 2), "annotations: two threads say iterations at a time");
  EXPECT_STREQ(end(6, 1), "annotations: two threads say iterations at a time");
  EXPECT_EQ(begin(7, 2), nullptr);
  EXPECT_EQ(end(7, 2), nullptr);
  EXPECT_EQ(sayings.refused(), 6u);
}

TEST_F(SayingsTest, TheyCeaseAfterSeveralIterationsOfGroups) {
  whole(1);
  groups += 256;
  EXPECT_FALSE(sayings.iterations_have_ceased(groups));
  EXPECT_TRUE(sayings.iterations_have_ceased(groups + 1));
  groups += 1;
  begin(2);
  groups += 1000;
  end(2);
  EXPECT_FALSE(sayings.iterations_have_ceased(groups + 8000));
  EXPECT_TRUE(sayings.iterations_have_ceased(groups + 8001));
}

// The first one says how long they are.
TEST_F(SayingsTest, OneThatHasBegunMayBeLongerThanAllBefore) {
  EXPECT_EQ(begin(0), nullptr);
  EXPECT_FALSE(sayings.iterations_have_ceased(groups + 65536));
  EXPECT_TRUE(sayings.iterations_have_ceased(groups + 65537)) << "its end was forgotten";
  groups += 10;
  end(0);
  EXPECT_TRUE(sayings.iterations_have_ceased(groups + 257));
  EXPECT_EQ(begin(1), nullptr);
  EXPECT_FALSE(sayings.iterations_have_ceased(groups + 4000));
}

TEST_F(SayingsTest, NoBubbleOutlivesItsIteration) {
  begin(0);
  sayings.bubble_begun(saying(0));
  EXPECT_STREQ(sayings.bubble_left_open(), "annotations: a bubble was not ended before its iteration was");
  EXPECT_FALSE(sayings.in_bubble());
  EXPECT_EQ(sayings.bubble_left_open(), nullptr);
  EXPECT_EQ(sayings.bubble_ended(saying(0)), nullptr) << "the end that comes late is not counted again";
  EXPECT_EQ(sayings.bubble_begun(saying(0)), nullptr);
  EXPECT_EQ(sayings.bubble_ended(saying(0)), nullptr);
  EXPECT_EQ(sayings.refused(), 1u);
}

TEST_F(SayingsTest, NoMicrobatchOutlivesItsIteration) {
  sayings.microbatch_begun(saying(4));
  EXPECT_STREQ(sayings.microbatch_left_open(), "annotations: a microbatch was not ended before its iteration was");
  EXPECT_EQ(sayings.present().microbatch, -1);
  EXPECT_EQ(sayings.microbatch_ended(saying(4)), nullptr);
  EXPECT_EQ(sayings.refused(), 1u);
}

// A send and a receive are what it waits for.
TEST_F(SayingsTest, ABubbleInWhichCommunicationGoesOnIsNone) {
  EXPECT_EQ(sayings.group_issued(), nullptr);
  for (int bubble = 0; bubble < 2; ++bubble) {
    EXPECT_EQ(sayings.bubble_begun(saying(0)), nullptr);
    EXPECT_EQ(sayings.group_issued(), nullptr);
    EXPECT_EQ(sayings.group_issued(), nullptr);
    EXPECT_TRUE(sayings.in_bubble());
    EXPECT_EQ(sayings.bubble_ended(saying(0)), nullptr);
  }
  sayings.bubble_begun(saying(0));
  for (int group = 0; group < 2; ++group) sayings.group_issued();
  EXPECT_STREQ(sayings.group_issued(), "annotations: communication goes on in a bubble that was not ended");
  EXPECT_FALSE(sayings.in_bubble());
  EXPECT_EQ(sayings.refused(), 1u);
}

TEST_F(SayingsTest, TheLatestMicrobatchIsThePresentOne) {
  Saying stage = saying(2);
  stage.chunk = 1;
  EXPECT_EQ(sayings.stage(stage), nullptr);
  EXPECT_EQ(sayings.microbatch_begun(saying(0)), nullptr);
  EXPECT_EQ(sayings.microbatch_begun(saying(5)), nullptr);
  EXPECT_EQ(sayings.present().stage, 2);
  EXPECT_EQ(sayings.present().chunk, 1);
  EXPECT_EQ(sayings.present().microbatch, 5);
  EXPECT_EQ(sayings.microbatch_ended(saying(5)), nullptr);
  EXPECT_EQ(sayings.present().microbatch, -1);
  EXPECT_STREQ(sayings.microbatch_ended(saying(0)), "annotations: a microbatch ends that is not the present one");
  EXPECT_EQ(sayings.microbatch_begun(saying(1)), nullptr);
  EXPECT_STREQ(sayings.microbatch_begun(saying(2, 9)), "annotations: two threads say microbatches at a time");
  EXPECT_EQ(sayings.present().microbatch, -1) << "nobody knows whose it is";
  EXPECT_STREQ(sayings.microbatch_begun(saying(-4, 9)), "annotations: a microbatch has a negative number");
  EXPECT_STREQ(sayings.stage(saying(-2)), "annotations: a stage is not a number from 0");
  EXPECT_EQ(sayings.present().stage, -1);
}

TEST_F(SayingsTest, ABubbleInABubbleIsNone) {
  EXPECT_EQ(sayings.bubble_begun(saying(0)), nullptr);
  EXPECT_TRUE(sayings.in_bubble());
  EXPECT_STREQ(sayings.bubble_begun(saying(0)), "annotations: a bubble begins before the one before has ended");
  EXPECT_FALSE(sayings.in_bubble());
  EXPECT_STREQ(sayings.bubble_ended(saying(0)), "annotations: a bubble ends that has not begun");
  EXPECT_EQ(sayings.bubble_begun(saying(0)), nullptr);
  EXPECT_STREQ(sayings.bubble_begun(saying(0, 2)), "annotations: two threads say bubbles at a time");
  EXPECT_FALSE(sayings.in_bubble());
}

}  // namespace
}  // namespace weft
