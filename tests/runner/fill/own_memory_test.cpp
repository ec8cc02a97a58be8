// Device memory past the reservation: what is the job's, and what is somebody else's on the same device.
#include "runner/fill/own_memory.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(OwnMemory, IsWhatComesBackBesidesTheReservation) {
  EXPECT_EQ(own_memory({1000, 300, 800}, 200), 500U);
}

TEST(OwnMemory, ThereIsNoneWhereOnlyTheReservationWasTaken) {
  EXPECT_EQ(own_memory({1000, 800, 800}, 200), 0U);
}

TEST(OwnMemory, CodeThatStaysIsNone) {
  EXPECT_EQ(own_memory({1000, 700, 700}, 200), 0U);
}

TEST(OwnMemory, OthersOnTheDeviceMayAllocateOrFree) {
  EXPECT_EQ(own_memory({1000, 400, 400}, 200), 0U) << "allocated meanwhile";
  EXPECT_EQ(own_memory({1000, 800, 950}, 200), 0U) << "freed at the end";
  EXPECT_EQ(own_memory({1000, 1400, 1400}, 200), 0U) << "freed meanwhile";
  EXPECT_EQ(own_memory({1000, 800, 700}, 200), 0U) << "allocated at the end";
}

TEST(OwnMemory, IsTheJobsWhereASecondTryShowsTheSame) {
  constexpr std::uint64_t mebibyte = 1 << 20;
  EXPECT_TRUE(is_of_the_job(128 * mebibyte, 128 * mebibyte));
  EXPECT_TRUE(is_of_the_job(128 * mebibyte, 130 * mebibyte));
  EXPECT_FALSE(is_of_the_job(128 * mebibyte, 0)) << "another process, once";
  EXPECT_FALSE(is_of_the_job(128 * mebibyte, 192 * mebibyte)) << "another process, by chance twice";
  EXPECT_FALSE(is_of_the_job(64 * mebibyte, 64 * mebibyte)) << "the workspace of a library";
}

}  // namespace
}  // namespace weft
