// The fill stream of a green context: what is asked of the driver, what is left behind where it refuses, and that
// nothing is where the driver or the training has no such thing.
#include "runner/fill/green_stream.h"

#include <gtest/gtest.h>

#include <string>

#include "runner/core/newer_cuda.h"

namespace weft {
namespace {

struct Green {
  static inline WorkqueueConfig asked{};
  static inline int contexts = 0, streams = 0, lowest_priority = 0;
  static inline bool is_primary = true;
  static inline CUresult resource_result = CUDA_SUCCESS, stream_result = CUDA_SUCCESS;

  static Driver driver() {
    asked = {};
    contexts = streams = lowest_priority = 0;
    is_primary = true;
    resource_result = stream_result = CUDA_SUCCESS;
    Driver driver;
    driver.cuGetErrorName = [](CUresult, const char** name) { return *name = "an error", CUDA_SUCCESS; };
    driver.cuDeviceGet = [](CUdevice* device, int ordinal) { return *device = ordinal + 10, CUDA_SUCCESS; };
    driver.cuCtxGetCurrent = [](CUcontext* context) {
      return *context = reinterpret_cast<CUcontext>(is_primary ? 1 : 2), CUDA_SUCCESS;
    };
    driver.cuDevicePrimaryCtxGetState = [](CUdevice, unsigned*, int* active) { return *active = 1, CUDA_SUCCESS; };
    driver.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) {
      return *context = reinterpret_cast<CUcontext>(1), CUDA_SUCCESS;
    };
    driver.cuDevicePrimaryCtxRelease_v2 = [](CUdevice) { return CUDA_SUCCESS; };
    driver.cuCtxGetStreamPriorityRange = [](int* least, int* greatest) {
      return *least = 3, *greatest = -2, CUDA_SUCCESS;
    };
    driver.cuDeviceGetDevResource = [](CUdevice device, CUdevResource* resource, CUdevResourceType type) {
      EXPECT_EQ(static_cast<int>(type), workqueue_config_type);
      set_workqueue_config(*resource, {device, 8, workqueue_scope_device_context});
      return resource_result;
    };
    driver.cuDevResourceGenerateDesc = [](CUdevResourceDesc*, CUdevResource* resources, unsigned count) {
      EXPECT_EQ(count, 1U);
      return asked = workqueue_config(*resources), CUDA_SUCCESS;
    };
    driver.cuGreenCtxCreate = [](CUgreenCtx* context, CUdevResourceDesc, CUdevice, unsigned flags) {
      EXPECT_EQ(flags, unsigned{CU_GREEN_CTX_DEFAULT_STREAM});
      return ++contexts, *context = reinterpret_cast<CUgreenCtx>(5), CUDA_SUCCESS;
    };
    driver.cuGreenCtxDestroy = [](CUgreenCtx) { return --contexts, CUDA_SUCCESS; };
    driver.cuGreenCtxStreamCreate = [](CUstream* stream, CUgreenCtx, unsigned flags, int priority) {
      EXPECT_EQ(flags, unsigned{CU_STREAM_NON_BLOCKING});
      if (stream_result != CUDA_SUCCESS) return stream_result;
      return ++streams, lowest_priority = priority, *stream = reinterpret_cast<CUstream>(7), CUDA_SUCCESS;
    };
    driver.cuStreamDestroy_v2 = [](CUstream) { return --streams, CUDA_SUCCESS; };
    return driver;
  }

  static std::string fault_of(const Driver& driver) {
    GreenStream stream(driver);
    try {
      stream.make(0);
    } catch (const SetUpError& error) {
      return error.what();
    }
    return "";
  }
};

TEST(GreenStream, AsksForAWorkqueueOfItsOwnAndGoesWithIt) {
  const Driver driver = Green::driver();
  GreenStream stream(driver);
  EXPECT_EQ(stream.make(0), reinterpret_cast<CUstream>(7));
  EXPECT_EQ(Green::asked.device, 10);
  EXPECT_EQ(Green::asked.concurrency_limit, 1U);
  EXPECT_EQ(Green::asked.scope, workqueue_scope_balanced);
  EXPECT_EQ(Green::lowest_priority, 3);
  stream.destroy();
  stream.destroy();
  EXPECT_EQ(Green::streams, 0);
  EXPECT_EQ(Green::contexts, 0);
}

TEST(GreenStream, SaysWhyThereIsNone) {
  const Driver driver = Green::driver();
  Green::resource_result = CUDA_ERROR_INVALID_RESOURCE_TYPE;
  EXPECT_EQ(Green::fault_of(driver), "cuDeviceGetDevResource failed with an error");
  Green::resource_result = CUDA_SUCCESS;
  Green::stream_result = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_EQ(Green::fault_of(driver), "cuGreenCtxStreamCreate failed with an error");
  EXPECT_EQ(Green::contexts, 0) << "it is not left behind";
  Green::is_primary = false;
  EXPECT_EQ(Green::fault_of(driver), "the training does not use the primary context of its GPU");
}

TEST(GreenStream, OlderDriversHaveNone) {
  Driver driver = Green::driver();
  driver.cuGreenCtxCreate = nullptr;
  EXPECT_EQ(Green::fault_of(driver), "the driver has no green contexts");
}

}  // namespace
}  // namespace weft
