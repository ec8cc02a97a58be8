// How a unit is confined, by the user's wish, its grids and what the driver has; how long the kernels of one may be
// that nothing confines; which multiprocessors are asked for, and what is left behind where there are none.
#include "runner/fill/confined.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

struct Gpu {
  static inline unsigned asked = 0, given = 0;  // multiprocessors
  static inline int contexts = 0, streams = 0;
  static inline CUresult split = CUDA_SUCCESS, converted = CUDA_SUCCESS;

  // 132 multiprocessors in groups of 8.
  static Driver driver() {
    asked = given = 0;
    contexts = streams = 0;
    split = converted = CUDA_SUCCESS;
    Driver driver;
    driver.cuGetErrorName = [](CUresult, const char** name) { return *name = "an error", CUDA_SUCCESS; };
    driver.cuDeviceGet = [](CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; };
    driver.cuCtxGetCurrent = [](CUcontext* context) { return *context = primary(), CUDA_SUCCESS; };
    driver.cuDevicePrimaryCtxGetState = [](CUdevice, unsigned*, int* active) { return *active = 1, CUDA_SUCCESS; };
    driver.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) { return *context = primary(), CUDA_SUCCESS; };
    driver.cuDevicePrimaryCtxRelease_v2 = [](CUdevice) { return CUDA_SUCCESS; };
    driver.cuCtxGetStreamPriorityRange = [](int* least, int* greatest) {
      return *least = 0, *greatest = -1, CUDA_SUCCESS;
    };
    driver.cuStreamCreateWithPriority = [](CUstream* stream, unsigned, int) {
      return ++streams, *stream = reinterpret_cast<CUstream>(7), CUDA_SUCCESS;
    };
    driver.cuStreamDestroy_v2 = [](CUstream) { return --streams, CUDA_SUCCESS; };
    driver.cuDeviceGetDevResource = [](CUdevice, CUdevResource* resource, CUdevResourceType type) {
      EXPECT_EQ(type, CU_DEV_RESOURCE_TYPE_SM);
      resource->type = type;
      return resource->sm.smCount = 132, CUDA_SUCCESS;
    };
    driver.cuDevSmResourceSplitByCount = [](CUdevResource* result, unsigned* groups, const CUdevResource* all,
                                            CUdevResource* rest, unsigned flags, unsigned count) {
      EXPECT_EQ(*groups, 1U);
      EXPECT_EQ(flags, 0U);
      asked = count;
      *result = *rest = *all;
      result->sm.smCount = (count + 7) / 8 * 8;
      if (result->sm.smCount > all->sm.smCount) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
      rest->sm.smCount = all->sm.smCount - result->sm.smCount;
      if (rest->sm.smCount == 0) rest->type = CU_DEV_RESOURCE_TYPE_INVALID;
      return split;
    };
    driver.cuDevResourceGenerateDesc = [](CUdevResourceDesc*, CUdevResource* resource, unsigned) {
      return given = resource->sm.smCount, CUDA_SUCCESS;
    };
    driver.cuGreenCtxCreate = [](CUgreenCtx* context, CUdevResourceDesc, CUdevice, unsigned) {
      return ++contexts, *context = reinterpret_cast<CUgreenCtx>(5), CUDA_SUCCESS;
    };
    driver.cuGreenCtxDestroy = [](CUgreenCtx) { return --contexts, CUDA_SUCCESS; };
    driver.cuGreenCtxStreamCreate = [](CUstream*, CUgreenCtx, unsigned, int) { return CUDA_ERROR_UNKNOWN; };
    driver.cuCtxFromGreenCtx = [](CUcontext* context, CUgreenCtx) {
      return *context = reinterpret_cast<CUcontext>(6), converted;
    };
    return driver;
  }
  static CUcontext primary() { return reinterpret_cast<CUcontext>(1); }
};

WorkNode kernel(std::uint64_t blocks, bool of_library = true) {
  return {nullptr, CU_GRAPH_NODE_TYPE_KERNEL, blocks, of_library ? reinterpret_cast<CUkernel>(9) : nullptr};
}
const WorkNode copy{nullptr, CU_GRAPH_NODE_TYPE_MEMCPY, 0, nullptr};

struct ConfinedTest : ::testing::Test {
  Driver driver = Gpu::driver();
  FillLane lane{driver, {0, 8, 0, FillStream::plain}};
  ConfineOptions options{Confine::automatic, 124, 8, false, true};

  Confined of(const std::vector<WorkNode>& nodes) { return confine(nodes, options, lane); }
  std::string fault_of(const std::vector<WorkNode>& nodes) {
    try {
      of(nodes);
    } catch (const SetUpError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(ConfinedTest, SmallGridsConfineThemselves) {
  EXPECT_EQ(of({copy, kernel(124)}).how, Confinement::job);
  options.wish = Confine::job;
  EXPECT_EQ(of({kernel(124)}).how, Confinement::job);
  options.wish = Confine::none;
  EXPECT_EQ(of({kernel(124)}).how, Confinement::job);
  EXPECT_EQ(Gpu::contexts, 0);
}

TEST_F(ConfinedTest, LargeOnesAreConfinedByAGreenContext) {
  const Confined found = of({copy, kernel(1), kernel(125)});
  EXPECT_EQ(found.how, Confinement::green);
  EXPECT_EQ(found.share, reinterpret_cast<CUcontext>(6));
  EXPECT_EQ(found.multiprocessors, 124U);
  EXPECT_EQ(Gpu::asked, 8U);
  EXPECT_EQ(Gpu::given, 124U);
}

TEST_F(ConfinedTest, OneGreenContextServesAllJobsAndKeepsTheTurnsOfTheQueues) {
  const int before = Gpu::streams;
  of({kernel(1000)});
  EXPECT_EQ(Gpu::streams, before + 7);  // with its default stream a whole lap
  of({kernel(1000)});
  EXPECT_EQ(Gpu::contexts, 1);
  EXPECT_EQ(Gpu::streams, before + 7);
}

TEST_F(ConfinedTest, SmallOnesTooWhereTheUserWishesSo) {
  options.wish = Confine::green;
  EXPECT_EQ(of({kernel(1)}).how, Confinement::green);
}

TEST_F(ConfinedTest, TheContextGoesWithTheLane) {
  {
    FillLane other(driver, {0, 1, 0, FillStream::plain});
    confine(std::vector{kernel(1000)}, options, other);
    EXPECT_EQ(Gpu::contexts, 1);
    other.let_context_go();
    EXPECT_EQ(Gpu::contexts, 0);
  }
  EXPECT_EQ(Gpu::contexts, 0);
}

TEST_F(ConfinedTest, WhereThereIsNoneNothingConfines) {
  driver.cuDevSmResourceSplitByCount = nullptr;
  const Confined found = of({kernel(1000)});
  EXPECT_EQ(found.how, Confinement::none);
  EXPECT_EQ(found.why_not, "the driver has no green contexts");
  options.wish = Confine::green;
  EXPECT_EQ(fault_of({kernel(1000)}), "WEFT_CONFINE=green cannot be kept: the driver has no green contexts");
}

TEST_F(ConfinedTest, WhatCannotBeHadLeavesNothingBehind) {
  Gpu::split = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  EXPECT_EQ(of({kernel(1000)}).why_not, "cuDevSmResourceSplitByCount failed with an error");
  Gpu::split = CUDA_SUCCESS;
  Gpu::converted = CUDA_ERROR_UNKNOWN;
  EXPECT_EQ(of({kernel(1000)}).why_not, "cuCtxFromGreenCtx failed with an error");
  EXPECT_EQ(Gpu::contexts, 0);
  Gpu::converted = CUDA_SUCCESS;
  options.reserved = 130;
  EXPECT_EQ(of({kernel(1000)}).how, Confinement::none);
  options.reserved = 0;
  EXPECT_EQ(of({kernel(1000)}).why_not, "WEFT_RESERVE_SMS=0 keeps no multiprocessor free");
}

TEST_F(ConfinedTest, ThereIsNoneBesideOneHardwareQueueNorUnderMps) {
  FillLane above(driver, {0, 1, 0, FillStream::above});
  EXPECT_TRUE(confine(std::vector{kernel(1000)}, options, above).why_not.starts_with("with one hardware queue"));
  options.shared_gpu = true;
  EXPECT_TRUE(of({kernel(1000)}).why_not.starts_with("the GPU is shared by MPS"));
  EXPECT_EQ(Gpu::contexts, 0);
}

TEST_F(ConfinedTest, WhereTheQueuesCannotBeKeptThereIsNone) {
  driver.cuStreamCreateWithPriority = [](CUstream*, unsigned, int) { return CUDA_ERROR_OUT_OF_MEMORY; };
  EXPECT_EQ(of({kernel(1000)}).how, Confinement::none);
  EXPECT_EQ(Gpu::contexts, 0);
}

TEST_F(ConfinedTest, AKernelOfAModuleStaysInItsContext) {
  EXPECT_EQ(of({kernel(1), kernel(1, false), kernel(1000)}).how, Confinement::none);
  EXPECT_TRUE(of({kernel(1000, false)}).why_not.starts_with("kernel 1 of the unit belongs to one context"));
  driver.cuDevSmResourceSplitByCount = nullptr;  // and, where it is old, it knows no kernels of libraries either
  EXPECT_EQ(of({kernel(1000, false)}).why_not, "the driver has no green contexts");
  EXPECT_EQ(of({kernel(1, false)}).how, Confinement::job);
}

TEST_F(ConfinedTest, TheUserMayAllowNoOtherWay) {
  options.wish = Confine::job;
  EXPECT_EQ(fault_of({copy, kernel(125)}),
            "kernel 2 of the unit has 125 thread blocks, more than the 124 that WEFT_RESERVE_SMS leaves to fill work, "
            "and WEFT_CONFINE=job allows no other way");
}

TEST_F(ConfinedTest, WhatNothingConfinesIsNoLongerThanASlice) {
  options.wish = Confine::none;
  const std::vector nodes{kernel(1), kernel(1000)};
  Confined found = of(nodes);
  EXPECT_NO_THROW(take_lengths(nodes, {5ms, 300us}, 300us, options, found));
  EXPECT_EQ(found.longest, 300us);
  try {
    take_lengths(nodes, {5ms, 300'001ns}, 300us, options, found);
    FAIL();
  } catch (const SetUpError& error) {
    EXPECT_STREQ(error.what(),
                 "kernel 2 of the unit has 1000 thread blocks, more than the 124 that WEFT_RESERVE_SMS leaves to fill "
                 "work, and takes 301 us, longer than a slice (WEFT_SLICE) of 300 us: NCCL would wait for it, as "
                 "nothing confines it (WEFT_CONFINE=none)");
  }
  options.bounds_lengths = false;
  EXPECT_NO_THROW(take_lengths(nodes, {5ms, 5ms}, 300us, options, found));
  options.bounds_lengths = true;
  Confined green{Confinement::green, nullptr, 124, "", {}};
  EXPECT_NO_THROW(take_lengths(nodes, {5ms, 5ms}, 300us, options, green));
}

}  // namespace
}  // namespace weft
