// Allocations that fail: fill memory is given back and the call is tried once more.
#include "tests/shim/shim_fixture.h"

namespace {

class Rescue : public ReceivingJob {};

TEST_F(Rescue, OutOfMemoryIsTriedAgainAfterARescue) {
  CUdeviceptr pointer = 0;
  fake_fail_allocations(1);
  core()->rescue_answer = true;
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_SUCCESS);
  EXPECT_EQ(core()->rescues, 1);
  EXPECT_EQ(fake_allocations(), 2);
}

TEST_F(Rescue, OutOfMemoryIsPassedOnWhenNothingWasReleased) {
  CUdeviceptr pointer = 0;
  fake_fail_allocations(9);
  EXPECT_EQ(cuMemAllocAsync(&pointer, 1, compute), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAllocManaged(&pointer, 1, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
  core()->rescue_answer = true;
  EXPECT_EQ(cuMemAllocFromPoolAsync_ptsz(&pointer, 1, nullptr, compute), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(core()->rescues, 3);
  EXPECT_EQ(fake_allocations(), 4);
}

TEST_F(Rescue, OutOfMemoryIsTriedAgainWhenAnotherThreadsRescueWasFaster) {
  CUdeviceptr pointer = 0;
  core()->given_back_by_another_thread = true;
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_SUCCESS);
  core()->given_back_by_another_thread = false;
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_ERROR_OUT_OF_MEMORY) << "what came back before the call was there for it";
}

TEST_F(Rescue, OutOfMemoryIsTriedAgainWithoutARescueWhenMemoryCameBackDuringTheCall) {
  CUdeviceptr pointer = 0;
  fake_during_failures([] { ++*core()->shim->times_given_back; });
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_SUCCESS);
  EXPECT_EQ(core()->rescues, 0);
  // The core gives the last memory back and turns Weft off.
  fake_during_failures([] {
    ++*core()->shim->times_given_back;
    core()->shim->turn_off("for a test");
  });
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_SUCCESS);
  fake_during_failures(nullptr);
  fake_fail_allocations(9);
  const int calls = fake_allocations();
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(fake_allocations(), calls + 1) << "a pass-through";
  EXPECT_EQ(core()->rescues, 0);
}

TEST_F(Rescue, CodeAndGraphsThatDoNotFitAreTriedAgainToo) {
  core()->rescue_answer = true;
  CUlibrary library = nullptr;
  fake_fail_allocations(1);
  EXPECT_EQ(cuLibraryLoadData(&library, "", nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  CUgraphExec made = nullptr;
  fake_fail_allocations(1);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&made, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(core()->rescues, 2);
}

// The device that is short of memory need not be the current one.
TEST_F(Rescue, TheDeviceOfTheAllocationIsRescued) {
  fake_set_device(1);
  const ncclComm_t second [[maybe_unused]] = communicator();
  const CUstream there = stream();
  cuEventRecord(event(), there);
  fake_set_device(0);
  core()->rescue_answer = true;
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp properties{};
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = 1;
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemCreate(&handle, 1, &properties, 0), CUDA_SUCCESS);
  EXPECT_EQ(core()->last_rescued, 1);
  CUdeviceptr pointer = 0;
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_SUCCESS);
  EXPECT_EQ(core()->last_rescued, 0);
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemAllocAsync(&pointer, 1, there), CUDA_SUCCESS);
  EXPECT_EQ(core()->last_rescued, 1);
}

TEST_F(Rescue, TakenMemoryIsLookedAtWhenWhatWasAllowedIsUsedUp) {
  CUdeviceptr pointer = 0;
  core()->allowed = 1000;
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_SUCCESS);
  const int looks = core()->looks;
  EXPECT_GT(looks, 0);
  EXPECT_EQ(core()->last_looked_at, 0);
  for (int turn = 0; turn < 9; ++turn) EXPECT_EQ(cuMemAllocAsync(&pointer, 100, compute), CUDA_SUCCESS);
  EXPECT_EQ(core()->looks, looks);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 100), CUDA_SUCCESS);
  EXPECT_EQ(core()->looks, looks + 1);
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 5000), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(core()->looks, looks + 1) << "nothing was taken";
}

// An allowance that was given before knows nothing of a reservation that was made after it.
TEST_F(Rescue, TakenMemoryIsLookedAtAfterTheCoreHasReservedSome) {
  CUdeviceptr pointer = 0;
  core()->allowed = std::uint64_t{1} << 30;
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_SUCCESS);
  const int looks = core()->looks;
  core()->shim->memory_reserved(1);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_SUCCESS);
  EXPECT_EQ(core()->looks, looks) << "on another device";
  core()->shim->memory_reserved(0);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_SUCCESS);
  EXPECT_EQ(core()->looks, looks + 1);
}

TEST_F(Rescue, HostMemoryIsNotRescued) {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp properties{};
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST;
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemCreate(&handle, 1, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(core()->rescues, 0);
}

TEST_F(Rescue, OurOwnThreadsAreNotRescuedNorNoted) {
  core()->shim->mark_own_thread();
  CUdeviceptr pointer = 0;
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(core()->rescues, 0);
  ncclRecv(buffer, 1, ncclInt8, 0, c, transfer);
  EXPECT_TRUE(events().empty());
}

}  // namespace
