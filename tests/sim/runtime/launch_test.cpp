// Launches of every kind, streams and events, from a program that nvcc built. The same tests run with the per-thread
// default stream, for which the headers rename the functions.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "kernels.h"
#include "owners.h"

namespace {

TEST(Launch, WritesWhatTheHostFunctionSays) {
  Device<float> data(1000);
  std::vector<float> values(1000, 2.0F);
  data.write(values);
  launch_scale(data.get(), 1.5F, 1000, nullptr);
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(data.read(), std::vector<float>(1000, 3.0F));
}

TEST(Launch, FindsKernelsOfSeveralTranslationUnits) {
  Device<int> data(10);
  Device<double> result(1);
  data.fill(0);
  launch_add_one(data.get(), 10, nullptr);
  launch_product(result.get(), {6, 7.0}, nullptr);
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(data.read(), std::vector<int>(10, 1));
  EXPECT_EQ(result.read(), std::vector<double>{42.0});
}

TEST(Launch, WithoutHostFunctionLeavesMemoryAlone) {
  Device<int> data(1);
  data.write({1234});
  launch_without_effect(data.get(), nullptr);
  EXPECT_EQ(data.read(), std::vector<int>{1234});
}

TEST(Launch, ThroughTheApiByPointer) {
  Device<int> data(4);
  data.fill(0);
  int* pointer = data.get();
  int count = 4;
  void* arguments[] = {&pointer, &count};
  EXPECT_EQ(cudaLaunchKernel(add_one_kernel(), dim3(1), dim3(32), arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaLaunchCooperativeKernel(add_one_kernel(), dim3(1), dim3(32), arguments, 0, nullptr), cudaSuccess);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  EXPECT_EQ(cudaLaunchKernelExC(&config, add_one_kernel(), arguments), cudaSuccess);
  EXPECT_EQ(data.read(), std::vector<int>(4, 3));
}

TEST(Launch, ThroughHandles) {
  Device<int> data(4);
  data.fill(0);
  int* pointer = data.get();
  int count = 4;
  void* arguments[] = {&pointer, &count};
  cudaKernel_t kernel = nullptr;
  cudaFunction_t function = nullptr;
  ASSERT_EQ(cudaGetKernel(&kernel, add_one_kernel()), cudaSuccess);
  ASSERT_EQ(cudaGetFuncBySymbol(&function, add_one_kernel()), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(kernel, dim3(1), dim3(32), arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(function, dim3(1), dim3(32), arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(data.read(), std::vector<int>(4, 2));
}

TEST(Launch, WithAttributes) {
  Device<int> data(4);
  data.fill(0);
  int* pointer = data.get();
  int count = 4;
  void* arguments[] = {&pointer, &count};
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributePriority;
  attribute.val.priority = -1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.attrs = &attribute;
  config.numAttrs = 1;
  EXPECT_EQ(cudaLaunchKernelExC(&config, add_one_kernel(), arguments), cudaSuccess);
  EXPECT_EQ(data.read(), std::vector<int>(4, 1));
}

TEST(Launch, ArgumentsMayLaunchThemselves) {
  Device<int> journal(3);
  journal.fill(0);
  launch_append_nested(journal.get());
  EXPECT_EQ(journal.read(), (std::vector<int>{2, 1, 2}));
}

TEST(Launch, RefusesWhatIsNoKernelAndShapesThatDoNotExist) {
  int something = 0;
  EXPECT_EQ(cudaLaunchKernel(&something, dim3(1), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  Device<int> data(1);
  launch_add_one_with_shape(data.get(), 1, dim3(1), dim3(1025));
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  launch_add_one_with_shape(data.get(), 1, dim3(0), dim3(1));
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
}

TEST(Launch, AttributesAndOccupancy) {
  cudaFuncAttributes attributes = {};
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, add_one_kernel()), cudaSuccess);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  EXPECT_GT(attributes.numRegs, 0);
  int blocks = 0;
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add_one_kernel(), 1024, 0), cudaSuccess);
  EXPECT_EQ(blocks, 2);
  const char* name = nullptr;
  ASSERT_EQ(cudaFuncGetName(&name, add_one_kernel()), cudaSuccess);
  EXPECT_STREQ(name, "add_one");
  EXPECT_EQ(cudaFuncSetAttribute(add_one_kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024),
            cudaSuccess);
}

TEST(Stream, KeepsOrder) {
  Device<int> journal(101);
  journal.fill(0);
  Stream stream(cudaStreamNonBlocking);
  for (int i = 1; i <= 100; ++i) {
    launch_append(journal.get(), i, stream.get());
  }
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  const std::vector<int> values = journal.read();
  ASSERT_EQ(values[0], 100);
  EXPECT_TRUE(std::is_sorted(values.begin() + 1, values.end()));
}

TEST(Stream, WaitsForAnEventOfAnother) {
  Device<int> journal(3);
  journal.fill(0);
  Stream first(cudaStreamNonBlocking);
  Stream second(cudaStreamNonBlocking);
  Event done;
  launch_spend(1e6, first.get());
  launch_append(journal.get(), 1, first.get());
  ASSERT_EQ(cudaEventRecord(done.get(), first.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second.get(), done.get(), 0), cudaSuccess);
  launch_append(journal.get(), 2, second.get());
  ASSERT_EQ(cudaStreamSynchronize(second.get()), cudaSuccess);
  EXPECT_EQ(journal.read(), (std::vector<int>{2, 1, 2}));
}

TEST(Stream, PropertiesAreThoseItWasMadeWith) {
  int least = 0;
  int greatest = 0;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  ASSERT_LT(greatest, least);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), cudaSuccess);
  int priority = 0;
  unsigned flags = 0;
  unsigned long long id = 0;
  EXPECT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(cudaStreamGetFlags(stream, &flags), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaStreamNonBlocking});
  EXPECT_EQ(cudaStreamGetId(stream, &id), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(Stream, RunsHostFunctionsAndCallbacksInOrder) {
  Stream stream(cudaStreamNonBlocking);
  std::vector<int> order;
  ASSERT_EQ(cudaLaunchHostFunc(
                stream.get(), [](void* data) { static_cast<std::vector<int>*>(data)->push_back(1); }, &order),
            cudaSuccess);
  ASSERT_EQ(cudaStreamAddCallback(
                stream.get(),
                [](cudaStream_t, cudaError_t status, void* data) {
                  static_cast<std::vector<int>*>(data)->push_back(status == cudaSuccess ? 2 : -1);
                },
                &order, 0),
            cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Event, MeasuresModelledTime) {
  Stream stream(cudaStreamNonBlocking);
  Event start;
  Event end;
  launch_spend(1.0, stream.get());
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(start.get(), stream.get()), cudaSuccess);
  launch_spend(1e6, stream.get());
  ASSERT_EQ(cudaEventRecord(end.get(), stream.get()), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(end.get()), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
  ASSERT_EQ(cudaEventSynchronize(end.get()), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(end.get()), cudaSuccess);
  float milliseconds = 0;
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, start.get(), end.get()), cudaSuccess);
  // One block on one of 132 SMs that together do 1.5e9 operations in a second.
  EXPECT_NEAR(milliseconds, 1e6 / (1.5e9 / 132) * 1e3, 5.0);
  cudaEvent_t untimed = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(untimed, stream.get()), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start.get(), untimed), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventDestroy(untimed), cudaSuccess);
}

TEST(Launch, FromManyThreads) {
  constexpr int threads = 4;
  constexpr int launches = 50;
  std::vector<Device<int>> journals;
  for (int i = 0; i < threads; ++i) {
    journals.emplace_back(launches + 1);
    journals.back().fill(0);
  }
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([journal = journals[static_cast<size_t>(i)].get()] {
      Stream stream(cudaStreamNonBlocking);
      for (int value = 1; value <= launches; ++value) {
        launch_append(journal, value, stream.get());
      }
      EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
      EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  for (const Device<int>& journal : journals) {
    EXPECT_EQ(journal.read()[0], launches);
    EXPECT_EQ(journal.read()[launches], launches);
  }
}

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
TEST(DefaultStream, OfAThreadDoesNotWaitForAnotherThread) {
  Event done;
  std::thread other([&] {
    launch_spend(2e6, nullptr);
    EXPECT_EQ(cudaEventRecord(done.get(), nullptr), cudaSuccess);
  });
  other.join();
  Device<int> journal(2);
  journal.fill(0);
  launch_append(journal.get(), 7, nullptr);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(done.get()), cudaErrorNotReady);
  static_cast<void>(cudaGetLastError());
  EXPECT_EQ(cudaEventSynchronize(done.get()), cudaSuccess);
}
#else
TEST(DefaultStream, WaitsForBlockingStreams) {
  Stream blocking(cudaStreamDefault);
  Event done;
  launch_spend(1e6, blocking.get());
  ASSERT_EQ(cudaEventRecord(done.get(), blocking.get()), cudaSuccess);
  launch_spend(1.0, nullptr);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(done.get()), cudaSuccess);
}
#endif

}  // namespace
