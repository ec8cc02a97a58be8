// How kernels of the example fill jobs are launched: little work on many blocks, much of it on full ones.
#include "fill/launch.h"

#include <gtest/gtest.h>

namespace fill {
namespace {

TEST(Launch, LittleWorkIsSpreadAndMuchHasFullBlocks) {
  const Launch to{124};
  EXPECT_EQ(blocks_for(to, 1), 1);
  for (const int items : {2, 124, 496, 497, 5000, 31744}) {
    EXPECT_LE(blocks_for(to, items), 124);
    EXPECT_GE(blocks_for(to, items) * threads_for(to, items), items) << "a thread has two";
  }
  EXPECT_EQ(threads_for(to, 496), 4);
  EXPECT_EQ(blocks_for(to, 496), 124);
  EXPECT_EQ(threads_for(to, 497), 8);
  EXPECT_EQ(threads_for(to, 31744), 256);
  EXPECT_EQ(threads_for(to, 1 << 30), 256);
  EXPECT_EQ(blocks_for(to, 1 << 30), 124);
}

}  // namespace
}  // namespace fill
