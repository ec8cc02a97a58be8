// Placement of thread blocks, on its own.
#include <gtest/gtest.h>

#include "engine/multiprocessors.h"

namespace simgpu {
namespace {

TEST(Multiprocessors, LimitsOfOneMultiprocessor) {
  EXPECT_EQ(resident_blocks(BlockNeeds::of(256, 32, 0)), 8U);          // threads
  EXPECT_EQ(resident_blocks(BlockNeeds::of(640, 96, 0)), 1U);          // registers: NCCL owns its multiprocessor
  EXPECT_EQ(resident_blocks(BlockNeeds::of(32, 16, 0)), 32U);          // blocks
  EXPECT_EQ(resident_blocks(BlockNeeds::of(32, 16, 100 * 1024)), 2U);  // shared memory
  EXPECT_EQ(resident_blocks(BlockNeeds::of(1024, 128, 0)), 0U);        // does not fit at all
  EXPECT_EQ(resident_blocks(BlockNeeds::of(1, 16, 0)), 32U);           // a block is at least a warp
}

TEST(Multiprocessors, SpreadsBlocksAndPrefersEmptyOnes) {
  Multiprocessors all(4);
  const BlockNeeds needs = BlockNeeds::of(256, 32, 0);
  EXPECT_EQ(all.place(needs, 2), (Multiprocessors::Counts{1, 1, 0, 0}));
  EXPECT_EQ(all.place(needs, 2), (Multiprocessors::Counts{0, 0, 1, 1}));
  EXPECT_EQ(all.place(needs, 6), (Multiprocessors::Counts{2, 2, 1, 1}));
}

TEST(Multiprocessors, RoomGrowsBackOnRelease) {
  Multiprocessors all(2);
  const BlockNeeds wide = BlockNeeds::of(640, 96, 0);
  const BlockNeeds small = BlockNeeds::of(128, 32, 0);
  EXPECT_EQ(all.room(small), 32U);
  const auto placed = all.place(wide, 1);
  EXPECT_EQ(all.room(wide), 1U);
  EXPECT_EQ(all.room(small), 16U + 1U);  // beside it only what the registers leave
  EXPECT_EQ(all.resident_threads(0), 640U);
  all.release(wide, placed);
  EXPECT_EQ(all.room(small), 32U);
  EXPECT_EQ(all.resident_threads(0), 0U);
}

}  // namespace
}  // namespace simgpu
