// The way of fill memory to the host and back, on a driver whose memory is the host's.
#include "runner/fill/mover.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "tests/runner/fake_driver.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kib = 1024, mib = 1024 * kib;

TEST(PieceSize, IsWhatFitsUnlessThereWouldBeTooManyOrTooSmallPieces) {
  EXPECT_EQ(piece_size(100 * mib, 2 * mib), 2 * mib);
  EXPECT_EQ(piece_size(100 * mib, 1), 256 * kib) << "a launch is not to take longer than its copy";
  EXPECT_EQ(piece_size(16384 * mib, 2 * mib), 2 * mib);
  EXPECT_EQ(piece_size(1024 * 1024 * mib, 2 * mib), 16 * mib) << "65,536 pieces at most";
  EXPECT_EQ(piece_size(100 * mib, 2 * mib + 1) % 256, 0U);
  EXPECT_GE(piece_size(100 * mib, 2 * mib + 1), 2 * mib + 1);
}

struct MoverTest : ::testing::Test {
  // A copy of 4 MiB takes 160 us: 25 GiB in a second.
  static CUresult elapsed(float* milliseconds, CUevent, CUevent) { return *milliseconds = 0.16F, CUDA_SUCCESS; }
  MoverTest() {
    driver.cuEventCreate = [](CUevent*, unsigned) { return CUDA_SUCCESS; };
    driver.cuEventDestroy_v2 = [](CUevent) { return CUDA_SUCCESS; };
    driver.cuCtxPushCurrent_v2 = [](CUcontext) { return CUDA_SUCCESS; };
    driver.cuCtxPopCurrent_v2 = [](CUcontext*) { return CUDA_SUCCESS; };
    driver.cuEventElapsedTime = &elapsed;
    std::iota(device.begin(), device.end(), std::uint8_t{0});
  }
  Reservation::Movable memory() {
    return {reinterpret_cast<CUdeviceptr>(device.data()), reinterpret_cast<std::byte*>(host.data()), device.size()};
  }

  testing::FakeGpu gpu;
  Driver driver = testing::fake_driver(gpu);
  std::vector<std::uint8_t> device = std::vector<std::uint8_t>(9 * mib + 300),
                            host = std::vector<std::uint8_t>(9 * mib + 300);
};

TEST_F(MoverTest, AllOfItGoesAndComesBackInPiecesOfKnownLength) {
  const Mover mover(driver, memory(), nullptr, 80us, {});
  const std::size_t pieces = mover.cuts().slices().size();
  EXPECT_EQ(pieces, 5U) << "of 2 MiB, and a last one";
  EXPECT_NEAR(static_cast<double>(mover.bytes_of(0)), 2.0 * mib, 1024);
  EXPECT_EQ(mover.bytes_of(4), device.size() - 4 * mover.bytes_of(0));
  EXPECT_NEAR(static_cast<double>(mover.alone(MoveWay::to_host)[0].count()), 80e3, 1e3);
  EXPECT_LT(mover.alone(MoveWay::to_device)[4], Duration(41us));
  const std::vector<std::uint8_t> before = device;
  for (std::uint32_t piece = 0; piece < pieces; ++piece)
    ASSERT_EQ(mover.launch(MoveWay::to_host, piece, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(host, before);
  std::memset(device.data(), 0xee, device.size());  // other memory comes back at the address
  for (std::uint32_t piece = 0; piece < pieces; ++piece)
    ASSERT_EQ(mover.launch(MoveWay::to_device, piece, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(device, before);
}

TEST_F(MoverTest, TimingLeavesTheContentAsItIs) {
  const std::vector<std::uint8_t> before = device;
  std::memset(host.data(), 0xee, host.size());
  const Mover mover(driver, memory(), nullptr, 80us, {});
  EXPECT_EQ(device, before);
}

TEST_F(MoverTest, LittleMemoryIsOnePiece) {
  device.resize(4096);
  host.resize(4096);
  const Mover mover(driver, memory(), nullptr, 80us, {});
  EXPECT_EQ(mover.cuts().slices().size(), 1U);
  EXPECT_EQ(mover.bytes_of(0), 4096U);
}

}  // namespace
}  // namespace weft
