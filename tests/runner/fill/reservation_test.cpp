// The reservation: its cap, its alignment, what trial runs may not leave behind.
#include "runner/fill/reservation.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/runner/fake_driver.h"

namespace weft {
namespace {

using testing::FakeGpu;

TEST(BumpAllocator, HandsOutAlignedPartsUpToTheCap) {
  BumpAllocator bump(1024);
  EXPECT_EQ(bump.allocate(1), 0U);
  EXPECT_EQ(bump.allocate(256), 256U);
  EXPECT_EQ(bump.allocate(257), 512U);
  EXPECT_EQ(bump.allocate(1), std::nullopt);
  EXPECT_EQ(bump.used(), 1024U);
}

TEST(BumpAllocator, RefusesWithoutSpendingAnything) {
  BumpAllocator bump(1000);
  EXPECT_EQ(bump.allocate(0), std::nullopt);
  EXPECT_EQ(bump.allocate(1001), std::nullopt);
  EXPECT_EQ(bump.allocate(~std::uint64_t{0}), std::nullopt);
  EXPECT_EQ(bump.used(), 0U);
  EXPECT_EQ(bump.allocate(1000), 0U);
  EXPECT_EQ(bump.used(), 1000U);
}

TEST(Reservation, IsOneZeroedAllocation) {
  FakeGpu gpu;
  const Driver driver = testing::fake_driver(gpu);
  Reservation reservation(driver, 4096);
  const CUdeviceptr first = reservation.allocate(100);
  const CUdeviceptr second = reservation.allocate(100);
  EXPECT_EQ(second - first, 256U);
  EXPECT_EQ(gpu.allocations, 1);
  for (int byte = 0; byte < 100; ++byte) EXPECT_EQ(reinterpret_cast<const char*>(second)[byte], 0);
  EXPECT_EQ(reservation.allocate(4096), 0U);
  EXPECT_EQ(reservation.refused(), 4096U);
  EXPECT_EQ(gpu.allocations, 1);
}

TEST(Reservation, SaysWhyItCannotBeHad) {
  FakeGpu gpu;
  const Driver driver = testing::fake_driver(gpu);
  gpu.allocation_result = CUDA_ERROR_OUT_OF_MEMORY;
  try {
    Reservation reservation(driver, std::uint64_t{1} << 30);
    FAIL() << "no failure";
  } catch (const SetUpError& error) {
    EXPECT_STREQ(
        error.what(),
        "the reservation of 1024 MiB (WEFT_MEMORY) cannot be made: cuMemCreate failed with CUDA_ERROR_OUT_OF_MEMORY");
  }
}

TEST(Reservation, PutsBackWhatWasThere) {
  FakeGpu gpu;
  const Driver driver = testing::fake_driver(gpu);
  Reservation reservation(driver, 4096);
  const auto stream = reinterpret_cast<CUstream>(std::uintptr_t{64});
  reservation.use(stream);
  char* const device = reinterpret_cast<char*>(reservation.allocate(4));
  EXPECT_EQ(std::exchange(gpu.last_stream, nullptr), stream);
  char* const host = static_cast<char*>(reservation.allocate_host(4));
  std::memcpy(device, "dev", 4);
  std::memcpy(host, "hos", 4);
  reservation.save();
  EXPECT_EQ(std::exchange(gpu.last_stream, nullptr), stream);
  std::memcpy(device, "xxx", 4);
  std::memcpy(host, "yyy", 4);
  reservation.restore();
  EXPECT_EQ(gpu.last_stream, stream);
  EXPECT_STREQ(device, "dev");
  EXPECT_STREQ(host, "hos");
}

// The training and the fill jobs of all ranks of the machine live from the same host memory.
TEST(Reservation, IsCopiedOnlyWhereThatLeavesHostMemoryToTheTraining) {
  FakeGpu gpu;
  const Driver driver = testing::fake_driver(gpu);
  Reservation reservation(driver, 8 << 20, [] { return std::optional<std::uint64_t>(std::uint64_t{12} << 20); });
  reservation.allocate(2 << 20);
  reservation.allocate_host(1 << 20);
  reservation.save();
  reservation.allocate(1);
  try {
    reservation.save();
    FAIL() << "no failure";
  } catch (const SetUpError& error) {
    EXPECT_NE(std::string(error.what()).find("more than a quarter of the 12 MiB of host memory"), std::string::npos)
        << error.what();
  }
}

std::uint64_t others_take = 0;

TEST(Reservation, TheCopyStopsWhereOthersTakeTheHostMemory) {
  FakeGpu gpu;
  const Driver driver = testing::fake_driver(gpu);
  others_take = 0;
  Reservation reservation(driver, std::uint64_t{256} << 20, [] {
    const std::uint64_t available = (std::uint64_t{1100} << 20) - others_take;
    others_take += std::uint64_t{100} << 20;
    return std::optional(available);
  });
  reservation.allocate(std::uint64_t{256} << 20);
  EXPECT_THROW(reservation.save(), SetUpError);
  EXPECT_LT(others_take, std::uint64_t{500} << 20) << "it went on to the end";
}

TEST(Reservation, IsGivenBackOnce) {
  FakeGpu gpu;
  const Driver driver = testing::fake_driver(gpu);
  {
    Reservation reservation(driver, 4096);
    reservation.allocate_host(16);
    EXPECT_EQ(reservation.reserved(), 4096U);
    reservation.release();
    EXPECT_EQ(reservation.reserved(), 0U);
    EXPECT_EQ(reservation.allocate(1), 0U);
  }
  EXPECT_EQ(gpu.allocations, 2);
  EXPECT_EQ(gpu.releases, 2);
}

// A driver that waits for running work before it unmaps: the caller does not, and the memory comes back all the same.
TEST(Reservation, IsGivenBackByAThreadOfItsOwn) {
  FakeGpu gpu;
  const Driver driver = testing::fake_driver(gpu);
  Reservation reservation(driver, 4096);
  gpu.unmapping_stalls = true;
  EXPECT_FALSE(reservation.give_device_back(std::chrono::milliseconds(20)));
  EXPECT_EQ(reservation.reserved(), 4096U);
  EXPECT_FALSE(reservation.give_device_back(Duration{0}));
  gpu.unmapping_stalls = false;
  EXPECT_TRUE(reservation.give_device_back(std::chrono::seconds(60)));
  EXPECT_EQ(reservation.reserved(), 0U);
  EXPECT_EQ(reservation.allocate(1), 0U);
  reservation.release();
  EXPECT_EQ(gpu.releases, 1);
}

}  // namespace
}  // namespace weft
