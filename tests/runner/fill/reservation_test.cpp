// The reservation: its cap, its alignment, what trial runs may not leave behind.
#include "runner/fill/reservation.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "runner/clock.h"
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

// Of the trial: one block, in which marked memory counts as much as it will take when it is apart.
TEST(Reservation, CountsMarkedMemoryAsIfItWereApart) {
  FakeGpu gpu;
  const Driver driver = testing::fake_driver(gpu);
  Reservation reservation(driver, 16384);
  EXPECT_NE(reservation.allocate(4096), 0U);
  EXPECT_NE(reservation.allocate_movable(100), 0U);
  EXPECT_EQ(reservation.movable_asked(), 256U);
  EXPECT_EQ(reservation.used(), 8192U) << "a whole page of the device";
  EXPECT_NE(reservation.allocate_movable(5000), 0U);
  EXPECT_EQ(reservation.movable_asked(), 256U + 5120U);
  EXPECT_EQ(reservation.used(), 4096U + 8192U);
  EXPECT_EQ(reservation.allocate(4097), 0U) << "it would not fit beside the block of two pages";
  EXPECT_NE(reservation.allocate(4096), 0U);
  EXPECT_EQ(reservation.used(), reservation.cap());
  EXPECT_NE(reservation.allocate_movable(256), 0U) << "it is left of the two pages";
  EXPECT_EQ(reservation.used(), reservation.cap());
  EXPECT_EQ(reservation.movable().bytes, 0U);
  EXPECT_FALSE(reservation.has_movable());
  EXPECT_FALSE(reservation.let_movable_go(std::chrono::seconds(1)));
  EXPECT_FALSE(reservation.fetch_movable(std::chrono::seconds(1)));
  EXPECT_EQ(gpu.allocations, 1);
}

TEST(Reservation, MarkedMemoryThatDoesNotFitWithWholePagesIsOrdinary) {
  FakeGpu gpu;
  const Driver driver = testing::fake_driver(gpu);
  Reservation reservation(driver, 6000);
  EXPECT_NE(reservation.allocate(1024), 0U);
  EXPECT_NE(reservation.allocate_movable(4097), 0U) << "two pages do not fit";
  EXPECT_EQ(reservation.movable_asked(), 0U);
  EXPECT_EQ(reservation.allocate_movable(4096), 0U);
  EXPECT_EQ(reservation.refused(), 4096U);
  EXPECT_EQ(reservation.allocate_movable(0), 0U);
  EXPECT_EQ(reservation.allocate_movable(~std::uint64_t{0}), 0U);
}

class MovableMemory : public ::testing::Test {
 protected:
  static constexpr std::chrono::seconds patience{60};

  MovableMemory() { made.emplace(driver, ReservationSizes(16384, 5000)); }
  ~MovableMemory() override {
    gpu.mapping_stalls = gpu.unmapping_stalls = false;
    made.reset();
    // Threads that went on end, too.
    EXPECT_TRUE(wait_at_most(patience, [this] { return gpu.addresses == 0 && gpu.mapped == 0; }));
  }

  FakeGpu gpu;
  const Driver driver = testing::fake_driver(gpu);
  std::optional<Reservation> made;
};

TEST_F(MovableMemory, IsABlockOfItsOwnWithinTheCap) {
  EXPECT_EQ(made->reserved(), 16384U);
  EXPECT_EQ(gpu.mapped, 2);
  EXPECT_EQ(made->pinned(), 8192U) << "as much as may leave";
  EXPECT_TRUE(made->has_movable());
  EXPECT_EQ(made->movable().bytes, 0U) << "nothing is marked yet";
  const CUdeviceptr first = made->allocate_movable(100), second = made->allocate_movable(4900);
  const Reservation::Movable all = made->movable();
  EXPECT_EQ(all.device, first);
  EXPECT_EQ(second, first + 256);
  EXPECT_EQ(all.bytes, 256U + 5120U);
  EXPECT_NE(all.host, nullptr);
  for (int byte = 0; byte < 4900; ++byte) EXPECT_EQ(reinterpret_cast<const char*>(second)[byte], 0);
  EXPECT_EQ(made->movable_asked(), all.bytes);
  EXPECT_EQ(made->used(), 8192U);
  EXPECT_NE(made->allocate(8192), 0U);
  EXPECT_EQ(made->allocate(1), 0U);
}

TEST_F(MovableMemory, BeyondTheTrialIsOrdinaryWhereItFits) {
  const CUdeviceptr apart = made->allocate_movable(8192);
  const CUdeviceptr beside = made->allocate_movable(4096), ordinary = made->allocate(4096);
  EXPECT_EQ(ordinary, beside + 4096);
  EXPECT_EQ(made->movable().device, apart);
  EXPECT_EQ(made->movable().bytes, 8192U);
  EXPECT_EQ(made->allocate_movable(1), 0U);
  EXPECT_EQ(made->refused(), 1U);
}

TEST_F(MovableMemory, LeavesAndComesBackToItsAddress) {
  char* const marked = reinterpret_cast<char*>(made->allocate_movable(8));
  char* const ordinary = reinterpret_cast<char*>(made->allocate(8));
  std::memcpy(ordinary, "stays", 6);
  for (int time = 0; time < 3; ++time) {
    EXPECT_TRUE(made->let_movable_go(patience));
    EXPECT_TRUE(made->let_movable_go(Duration{0})) << "it is gone";
    EXPECT_FALSE(made->has_movable());
    EXPECT_EQ(made->reserved(), 8192U);
    EXPECT_EQ(gpu.mapped, 1);
    EXPECT_TRUE(made->fetch_movable(patience));
    EXPECT_TRUE(made->fetch_movable(Duration{0})) << "it is there";
    EXPECT_TRUE(made->has_movable());
    EXPECT_EQ(made->reserved(), 16384U);
    EXPECT_EQ(gpu.mapped, 2);
    EXPECT_EQ(reinterpret_cast<char*>(made->movable().device), marked);
    EXPECT_STREQ(ordinary, "stays");
  }
  EXPECT_EQ(gpu.addresses, 2);
}

TEST_F(MovableMemory, IsFetchedAgainWhereTheDeviceHadNone) {
  EXPECT_TRUE(made->let_movable_go(patience));
  gpu.allocation_result = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_FALSE(made->fetch_movable(patience));
  EXPECT_FALSE(made->has_movable());
  EXPECT_EQ(made->reserved(), 8192U);
  gpu.allocation_result = CUDA_SUCCESS;
  EXPECT_TRUE(made->fetch_movable(patience));
}

TEST_F(MovableMemory, WithoutAccessIsNotThere) {
  EXPECT_TRUE(made->let_movable_go(patience));
  gpu.access_result = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_FALSE(made->fetch_movable(patience));
  EXPECT_EQ(made->reserved(), 8192U);
  EXPECT_EQ(gpu.mapped, 1);
  gpu.access_result = CUDA_SUCCESS;
  EXPECT_TRUE(made->fetch_movable(patience));
}

TEST_F(MovableMemory, IsAskedAgainWhereTheDriverLetsItWait) {
  gpu.unmapping_stalls = true;
  EXPECT_FALSE(made->let_movable_go(std::chrono::milliseconds(5)));
  EXPECT_FALSE(made->has_movable());
  EXPECT_FALSE(made->fetch_movable(std::chrono::milliseconds(5))) << "it is still on its way";
  EXPECT_EQ(made->reserved(), 16384U);
  gpu.unmapping_stalls = false;
  EXPECT_TRUE(made->let_movable_go(patience));
  gpu.mapping_stalls = true;
  EXPECT_FALSE(made->fetch_movable(std::chrono::milliseconds(5)));
  EXPECT_FALSE(made->has_movable());
  EXPECT_EQ(made->reserved(), 16384U) << "it may have it already";
  gpu.mapping_stalls = false;
  EXPECT_TRUE(made->fetch_movable(patience));
  EXPECT_EQ(gpu.mapped, 2);
}

TEST_F(MovableMemory, IsGivenBackWithTheRestAndStaysAway) {
  EXPECT_TRUE(made->give_device_back(patience));
  EXPECT_EQ(made->reserved(), 0U);
  EXPECT_EQ(gpu.mapped, 0);
  EXPECT_FALSE(made->fetch_movable(patience));
  EXPECT_EQ(gpu.mapped, 0);
}

TEST_F(MovableMemory, IsGivenBackWhereItHasLeft) {
  EXPECT_TRUE(made->let_movable_go(patience));
  EXPECT_TRUE(made->give_device_back(patience));
  EXPECT_EQ(gpu.mapped, 0);
  made->release();
  EXPECT_EQ(gpu.releases, 3) << "two blocks, and the pinned copy";
}

TEST_F(MovableMemory, ThatAThreadFetchesIsGivenBackByThatThread) {
  EXPECT_TRUE(made->let_movable_go(patience));
  gpu.mapping_stalls = true;
  EXPECT_FALSE(made->fetch_movable(Duration{0}));
  EXPECT_FALSE(made->give_device_back(std::chrono::milliseconds(20)));
  EXPECT_EQ(made->reserved(), 8192U) << "the ordinary part does not wait for it";
  gpu.mapping_stalls = false;
  EXPECT_TRUE(made->give_device_back(patience));
  EXPECT_EQ(gpu.mapped, 0);
}

TEST_F(MovableMemory, ThatAThreadUnmapsIsUnmappedOnce) {
  gpu.unmapping_stalls = true;
  EXPECT_FALSE(made->let_movable_go(Duration{0}));
  EXPECT_FALSE(made->give_device_back(std::chrono::milliseconds(5)));
  gpu.unmapping_stalls = false;
  EXPECT_TRUE(made->give_device_back(patience));
  EXPECT_EQ(gpu.releases, 2);
}

// Its thread outlives it, and leaves nothing behind.
TEST_F(MovableMemory, IsReleasedWhileAThreadFetchesIt) {
  EXPECT_TRUE(made->let_movable_go(patience));
  gpu.mapping_stalls = true;
  EXPECT_FALSE(made->fetch_movable(Duration{0}));
  made->release();
  EXPECT_EQ(made->reserved(), 0U);
  EXPECT_EQ(made->movable().bytes, 0U);
  EXPECT_EQ(gpu.mapped, 0);
  EXPECT_EQ(gpu.addresses, 1) << "the thread has them";
}

TEST_F(MovableMemory, ThatTheDriverDoesNotUnmapStays) {
  const CUdeviceptr addresses[] = {made->allocate(1), made->allocate_movable(1)};
  gpu.unmapping_result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_FALSE(made->let_movable_go(std::chrono::milliseconds(20)));
  EXPECT_FALSE(made->fetch_movable(std::chrono::milliseconds(20)));
  EXPECT_EQ(made->reserved(), 16384U);
  made->release();
  EXPECT_EQ(gpu.addresses, 2) << "memory is behind them";
  for (const CUdeviceptr address : addresses) driver.cuMemAddressFree(address, 8192);
  gpu.mapped = 0;
}

TEST_F(MovableMemory, IsPutBackAfterTrialRuns) {
  char* const marked = reinterpret_cast<char*>(made->allocate_movable(8));
  char* const ordinary = reinterpret_cast<char*>(made->allocate(8));
  std::memcpy(marked, "marked", 7);
  std::memcpy(ordinary, "other", 6);
  made->save();
  std::memcpy(marked, "xxxxxx", 7);
  std::memcpy(ordinary, "yyyyy", 6);
  made->restore();
  EXPECT_STREQ(marked, "marked");
  EXPECT_STREQ(ordinary, "other");
}

TEST(Reservation, NothingIsMovableWithoutPinnedMemoryForIt) {
  FakeGpu gpu;
  const Driver driver = testing::fake_driver(gpu);
  for (const bool is_refused : {false, true}) {
    gpu.pinning_result = is_refused ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    const auto little = [] { return std::optional<std::uint64_t>(8192); };
    const auto much = [] { return std::optional<std::uint64_t>(std::uint64_t{1} << 30); };
    Reservation reservation(driver, {16384, 5000}, is_refused ? Reservation::Available(much) : little);
    EXPECT_EQ(gpu.mapped, 1);
    EXPECT_EQ(reservation.pinned(), 0U);
    EXPECT_NE(reservation.allocate_movable(5000), 0U);
    EXPECT_EQ(reservation.used(), 8192U);
    EXPECT_EQ(reservation.movable().bytes, 0U);
    EXPECT_FALSE(reservation.let_movable_go(std::chrono::seconds(1)));
  }
  EXPECT_EQ(gpu.mapped, 0);
}

TEST(Reservation, LeavesNothingBehindWhereOneOfItsBlocksCannotBeMade) {
  FakeGpu gpu;
  const Driver driver = testing::fake_driver(gpu);
  gpu.allocation_result = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_THROW(Reservation(driver, {16384, 5000}), SetUpError);
  EXPECT_EQ(gpu.allocations, gpu.releases) << "the pinned copy";
  EXPECT_EQ(gpu.addresses, 0);
}

TEST(Reservation, MayBeMovableAsAWhole) {
  FakeGpu gpu;
  const Driver driver = testing::fake_driver(gpu);
  Reservation reservation(driver, {8192, 8192});
  EXPECT_EQ(gpu.mapped, 1);
  EXPECT_NE(reservation.allocate_movable(8192), 0U);
  EXPECT_EQ(reservation.allocate(1), 0U);
  reservation.save();
  reservation.restore();
  EXPECT_TRUE(reservation.give_device_back(std::chrono::seconds(60)));
}

TEST(Reservation, MoreThanTheCapIsNotMovable) {
  FakeGpu gpu;
  const Driver driver = testing::fake_driver(gpu);
  Reservation reservation(driver, {8192, 8193});
  EXPECT_EQ(reservation.reserved(), 8192U);
  EXPECT_EQ(reservation.pinned(), 0U);
}

}  // namespace
}  // namespace weft
