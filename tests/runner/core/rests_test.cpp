// How long fill jobs rest, and how often their memory is looked after that cannot go back at once.
#include "runner/core/rests.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

TEST(Rests, GetLongerAndNotForEver) {
  Rests rests;
  EXPECT_FALSE(rests.have_been());
  EXPECT_EQ(rests.head_room(100), 100U);
  TimePoint time{1h};
  EXPECT_TRUE(rests.is_over(time));
  for (const Duration pause : {2s, 4s, 8s, 16s, 32s, 64s, 120s, 120s}) {
    rests.begin(time);
    EXPECT_EQ(rests.pause(), pause);
    EXPECT_FALSE(rests.is_over(time + pause - 1ns));
    EXPECT_TRUE(rests.is_over(time + pause));
    time += 1h;
  }
  EXPECT_EQ(rests.head_room(100), 125U);
  rests.go_on(time);
  EXPECT_FALSE(rests.is_over(time + 119s));
}

TEST(GivingBack, IsTriedMoreAndMoreSeldomAndSaidOnce) {
  GivingBack giving_back;
  TimePoint time{1h};
  for (int round = 0; round < 2; ++round) {
    giving_back.begin(time);
    EXPECT_TRUE(giving_back.is_due(time));
    EXPECT_FALSE(giving_back.is_to_be_said(time + 5s - 1ns));
    EXPECT_TRUE(giving_back.is_to_be_said(time + 5s));
    EXPECT_FALSE(giving_back.is_to_be_said(time + 6s));
    for (const Duration pause : {100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
      giving_back.note_try(time);
      EXPECT_FALSE(giving_back.is_due(time + pause - 1ns));
      time += pause;
      EXPECT_TRUE(giving_back.is_due(time));
    }
  }
}

}  // namespace
}  // namespace weft
