// Thread blocks on multiprocessors: waves, sharing, priorities without pre-emption, clusters, effects.
#include "harness.h"

namespace simtest {
namespace {

int64_t duration(const Json& record) {
  return record["end"].get<int64_t>() - record["start"].get<int64_t>();
}

TEST(Blocks, CoResidentBlocksShareTheMultiprocessor) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    work(s, 4, 100);
    work(s, 8, 100);
    CHECK_CUDA(cuStreamSynchronize(s));
    EXPECT_EQ(duration(kernel("work", 0)), 100'000);
    EXPECT_EQ(duration(kernel("work", 1)), 200'000);
    EXPECT_EQ(kernel("work", 0)["sms"], 4);
  });
}

TEST(Blocks, MoreBlocksThanRoomRunInWaves) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    // 1024 threads: two blocks on each of the 4 multiprocessors, 8 in a wave, each twice as slow.
    work(s, 20, 100, 1024);
    CHECK_CUDA(cuStreamSynchronize(s));
    EXPECT_EQ(duration(kernel("work")), 200'000 + 200'000 + 100'000);
  });
}

TEST(Blocks, BandwidthBoundsAKernelToo) {
  isolated({{"SIMGPU_BANDWIDTH", "8e9"}}, [] {
    make_context();
    const CUstream s = stream();
    double bytes = 200'000;
    void* parameters[] = {&bytes};
    CHECK_CUDA(cuLaunchKernel(function("move"), 1, 1, 1, 256, 1, 1, 0, s, parameters, nullptr));
    CHECK_CUDA(cuStreamSynchronize(s));
    EXPECT_EQ(duration(kernel("move")), 100'000);
  });
}

TEST(Blocks, HigherPriorityGetsTheNextRoomButPreemptsNothing) {
  isolated({}, [] {
    make_context();
    const CUstream low = stream(CU_STREAM_NON_BLOCKING, 0);
    const CUstream high = stream(CU_STREAM_NON_BLOCKING, -5);
    function("wide");
    work(low, 32, 10'000, 1024);  // 4 waves of 20 ms
    work(high, 8, 1'000, 1024, "wide");
    CHECK_CUDA(cuCtxSynchronize());
    const Json first = kernel("work");
    const Json urgent = kernel("wide");
    // 64 registers x 1024 threads: one block per multiprocessor, so two waves of 1 ms, after the first wave of the
    // other.
    EXPECT_EQ(urgent["start"], first["start"].get<int64_t>() + 20'000'000);
    EXPECT_EQ(urgent["priority"], -5);
    EXPECT_EQ(duration(urgent), 2'000'000);
    EXPECT_EQ(duration(first), 4 * 20'000'000 + 2'000'000);
  });
}

TEST(Blocks, EqualPriorityWaitsForItsTurn) {
  isolated({}, [] {
    make_context();
    const CUstream a = stream();
    const CUstream b = stream();
    function("wide");
    work(a, 16, 5'000, 1024);  // two waves of 10 ms
    work(b, 4, 1'000, 1024, "wide");
    CHECK_CUDA(cuCtxSynchronize());
    EXPECT_EQ(kernel("wide")["start"], kernel("work")["end"]);
  });
}

TEST(Blocks, PriorityOfALaunchCounts) {
  isolated({}, [] {
    make_context();
    const CUstream a = stream();
    const CUstream b = stream();
    function("wide");
    work(a, 16, 5'000, 1024);
    double flops = 1e6;
    void* parameters[] = {&flops};
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    attribute.value.priority = -3;
    CUlaunchConfig config{4, 1, 1, 1024, 1, 1, 0, b, &attribute, 1};
    CHECK_CUDA(cuLaunchKernelEx(&config, function("wide"), parameters, nullptr));
    CHECK_CUDA(cuCtxSynchronize());
    EXPECT_EQ(kernel("wide")["start"], kernel("work")["start"].get<int64_t>() + 10'000'000);
    EXPECT_EQ(kernel("wide")["priority"], -3);
  });
}

TEST(Blocks, NeighboursStretchABlockInProportion) {
  isolated({{"SIMGPU_SMS", "1"}, {"SIMGPU_FLOPS", "1e9"}}, [] {
    make_context();
    const CUstream a = stream();
    const CUstream b = stream();
    function("wide");
    work(a, 1, 50'000, 512);
    work(b, 1, 1'000, 256, "wide");
    CHECK_CUDA(cuCtxSynchronize());
    EXPECT_EQ(duration(kernel("wide")), 3'000'000);  // 256 of 768 threads
    EXPECT_EQ(duration(kernel("work")), 50'000'000);
  });
}

TEST(Blocks, ASpinningKernelOwnsItsMultiprocessors) {
  isolated({}, [] {
    make_context();
    const CUstream a = stream();
    const CUstream b = stream();
    Spin* words = make_spin();
    function("work");
    spin(a, words, 4, 4);
    work(b, 4, 1'000, 1024);
    EXPECT_EQ(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    words->finish = now() + 30'000'000;
    release(words);
    CHECK_CUDA(cuCtxSynchronize());
    const Json receive = kernel("ncclDevKernel_Spin");
    EXPECT_TRUE(receive["spin"]);
    EXPECT_EQ(receive["end"], words->finish.load());
    EXPECT_EQ(receive["sms"], 4);
    EXPECT_EQ(kernel("work")["start"], receive["end"]);
  });
}

TEST(Blocks, AClusterNeedsRoomForAllItsBlocksAtOnce) {
  isolated({}, [] {
    make_context();
    const CUstream a = stream();
    const CUstream b = stream();
    const CUstream c = stream();
    Spin* words = make_spin();
    words->go = 1;
    function("wide");
    work(a, 1, 20'000, 1024);  // one multiprocessor has no room for a receive
    spin(b, words, 4, 4);
    work(c, 4, 100, 256, "wide");  // and nothing of the same priority goes past it
    CHECK_CUDA(cuCtxSynchronize());
    EXPECT_EQ(kernel("ncclDevKernel_Spin")["start"], kernel("work")["end"]);
    EXPECT_GE(kernel("wide")["start"], kernel("work")["end"]);
  });
}

TEST(Blocks, EffectsHappenAndUnknownKernelsHaveNone) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    CUdeviceptr memory = 0;
    CHECK_CUDA(cuMemAlloc(&memory, 64 * sizeof(int)));
    CHECK_CUDA(cuMemsetD32Async(memory, 5, 64, s));
    int value = 37;
    int count = 64;
    void* parameters[] = {&memory, &value, &count};
    CHECK_CUDA(cuLaunchKernel(function("add"), 1, 1, 1, 64, 1, 1, 0, s, parameters, nullptr));
    CHECK_CUDA(cuLaunchKernel(function("nobody_knows_this"), 1, 1, 1, 64, 1, 1, 0, s, parameters, nullptr));
    int result[64] = {};
    CHECK_CUDA(cuMemcpyDtoHAsync(result, memory, sizeof(result), s));
    CHECK_CUDA(cuStreamSynchronize(s));
    EXPECT_EQ(result[0], 42);
    EXPECT_EQ(result[63], 42);
    EXPECT_EQ(kernel("add")["effect"], "host");
    EXPECT_EQ(kernel("nobody_knows_this")["effect"], "none");
    EXPECT_EQ(duration(kernel("nobody_knows_this")), 5'000);
  });
}

TEST(Blocks, ParametersCanComeInABuffer) {
  isolated({}, [] {
    make_context();
    CUdeviceptr memory = 0;
    CHECK_CUDA(cuMemAlloc(&memory, 4 * sizeof(int)));
    CHECK_CUDA(cuMemsetD32(memory, 1, 4));
    struct {
      CUdeviceptr to;
      int value;
      int count;
    } buffer{memory, 6, 4};
    std::size_t size = sizeof(buffer);
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CHECK_CUDA(cuLaunchKernel(function("add"), 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
    int result[4] = {};
    CHECK_CUDA(cuMemcpyDtoH(result, memory, sizeof(result)));
    EXPECT_EQ(result[3], 7);
    size = 8;
    EXPECT_EQ(cuLaunchKernel(function("add"), 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(Blocks, AKernelEndsWhenItsEffectIsDone) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    int milliseconds = 30;
    void* parameters[] = {&milliseconds};
    CHECK_CUDA(cuLaunchKernel(function("late"), 1, 1, 1, 32, 1, 1, 0, s, parameters, nullptr));
    work(s, 1, 100);
    CHECK_CUDA(cuStreamSynchronize(s));
    EXPECT_GE(duration(kernel("late")), 30'000'000);
    EXPECT_GE(kernel("work")["start"], kernel("late")["end"]);
    await_record([](const Json& record) { return record["type"] == "overrun" && record["name"] == "late"; });
  });
}

TEST(Blocks, ALateEffectDelaysNobodyElse) {
  isolated({}, [] {
    make_context();
    const CUstream a = stream();
    const CUstream b = stream();
    int milliseconds = 40;
    void* parameters[] = {&milliseconds};
    function("work");
    CHECK_CUDA(cuLaunchKernel(function("late"), 1, 1, 1, 32, 1, 1, 0, a, parameters, nullptr));
    work(b, 1, 10'000);
    work(b, 1, 10'000);
    CHECK_CUDA(cuCtxSynchronize());
    EXPECT_EQ(duration(kernel("work", 0)), 10'000'000);
    EXPECT_EQ(kernel("work", 1)["start"], kernel("work", 0)["end"].get<int64_t>() + 1000);
  });
}

TEST(Blocks, WhatCannotRunIsRefused) {
  isolated({}, [] {
    make_context();
    double flops = 1;
    void* parameters[] = {&flops};
    const auto launch = [&](unsigned grid, unsigned block, unsigned shared, const char* name = "work") {
      return cuLaunchKernel(function(name), grid, 1, 1, block, 1, 1, shared, nullptr, parameters, nullptr);
    };
    EXPECT_EQ(launch(0, 32, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(launch(1, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(launch(1, 1025, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(launch(1, 32, 49 * 1024), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(launch(1, 1024, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuLaunchCooperativeKernel(function("work"), 33, 1, 1, 256, 1, 1, 0, nullptr, parameters),
              CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    EXPECT_EQ(cuLaunchCooperativeKernel(function("work"), 32, 1, 1, 256, 1, 1, 0, nullptr, parameters), CUDA_SUCCESS);
    EXPECT_EQ(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuLaunchKernel(function("work"), 1, 1, 1, 1, 1, 1, 0, reinterpret_cast<CUstream>(0x1234567), parameters,
                             nullptr),
              CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace simtest
