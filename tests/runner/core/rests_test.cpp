// How long fill jobs rest.
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

}  // namespace
}  // namespace weft
