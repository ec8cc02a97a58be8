// Marked memory of a reservation on the simulated GPU: its content goes to the host and comes back, the device is full,
// and the driver waits for a kernel that spins.
#include <dlfcn.h>

#include <optional>

#include "runner/fill/reservation.h"
#include "tests/sim/driver/device_test.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

class MovableMemoryOnSimulator : public device_test::DeviceTest {
 protected:
  static constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
  static constexpr int numbers = 1024;

  void SetUp() override {
    DeviceTest::SetUp();
    driver.load([](const char* name) { return ::dlsym(RTLD_DEFAULT, name); });
    made.emplace(driver, ReservationSizes(64 * mebibyte, 7 * mebibyte));
    made->use(stream);
    marked = made->allocate_movable(7 * mebibyte);
    ASSERT_NE(marked, 0U);
  }
  void TearDown() override {
    made.reset();
    EXPECT_EQ(free_memory(), memory);
    DeviceTest::TearDown();
  }

  // As the filler does with slices.
  void copy_out() {
    const Reservation::Movable all = made->movable();
    EXPECT_CUDA(cuMemcpyDtoHAsync_v2(all.host, all.device, all.bytes, stream));
    EXPECT_CUDA(cuStreamSynchronize(stream));
  }
  void copy_in() {
    const Reservation::Movable all = made->movable();
    EXPECT_CUDA(cuMemcpyHtoDAsync_v2(all.device, all.host, all.bytes, stream));
    EXPECT_CUDA(cuStreamSynchronize(stream));
  }

  Driver driver;
  std::optional<Reservation> made;
  CUdeviceptr marked = 0;
};

TEST_F(MovableMemoryOnSimulator, ComesBackWithItsContent) {
  EXPECT_EQ(free_memory(), memory - 64 * mebibyte);
  for (int time = 1; time <= 3; ++time) {
    ASSERT_CUDA(launch("add_to", marked, numbers, 5, stream));
    copy_out();
    ASSERT_TRUE(made->let_movable_go(10s));
    EXPECT_EQ(free_memory(), memory - 56 * mebibyte) << "in units of 2 MiB";
    EXPECT_EQ(cuMemsetD8Async(marked, 0, 1, stream), CUDA_ERROR_INVALID_VALUE);
    ASSERT_TRUE(made->fetch_movable(10s));
    EXPECT_EQ(free_memory(), memory - 64 * mebibyte);
    int number = 0;
    ASSERT_CUDA(cuMemcpyDtoH_v2(&number, marked, sizeof number));
    EXPECT_NE(number, 5 * time) << "the memory is other memory";
    copy_in();
    ASSERT_CUDA(cuMemcpyDtoH_v2(&number, marked + (numbers - 1) * sizeof number, sizeof number));
    EXPECT_EQ(number, 5 * time);
  }
}

TEST_F(MovableMemoryOnSimulator, StaysAwayWhileTheDeviceIsFull) {
  ASSERT_TRUE(made->let_movable_go(10s));
  CUdeviceptr of_training = 0;
  ASSERT_CUDA(cuMemAlloc_v2(&of_training, free_memory() - 4 * mebibyte));
  EXPECT_FALSE(made->fetch_movable(10s));
  EXPECT_FALSE(made->has_movable());
  EXPECT_EQ(free_memory(), 4 * mebibyte) << "part of it was taken";
  ASSERT_CUDA(cuMemFree_v2(of_training));
  EXPECT_TRUE(made->fetch_movable(10s));
  EXPECT_EQ(made->movable().device, marked);
}

// The simulated driver lets both wait for it.
TEST_F(MovableMemoryOnSimulator, NobodyWaitsForAKernelThatSpins) {
  CUstream of_training = nullptr;
  ASSERT_CUDA(cuStreamCreate(&of_training, CU_STREAM_NON_BLOCKING));
  start_spinning(of_training);
  EXPECT_FALSE(made->let_movable_go(20ms));
  EXPECT_FALSE(made->fetch_movable(20ms));
  EXPECT_EQ(made->reserved(), 64 * mebibyte);
  end_spinning();
  EXPECT_TRUE(made->let_movable_go(10s));
  EXPECT_TRUE(made->fetch_movable(10s));
  EXPECT_CUDA(cuStreamSynchronize(of_training));
}

TEST_F(MovableMemoryOnSimulator, IsGivenBackByTheThreadThatFetchesIt) {
  ASSERT_TRUE(made->let_movable_go(10s));
  CUstream of_training = nullptr;
  ASSERT_CUDA(cuStreamCreate(&of_training, CU_STREAM_NON_BLOCKING));
  start_spinning(of_training);
  EXPECT_FALSE(made->fetch_movable(20ms));
  EXPECT_FALSE(made->give_device_back(20ms));
  end_spinning();
  EXPECT_TRUE(made->give_device_back(10s));
  EXPECT_EQ(free_memory(), memory);
  EXPECT_FALSE(made->fetch_movable(10s));
  EXPECT_CUDA(cuStreamSynchronize(of_training));
}

}  // namespace
}  // namespace weft
