// Copies and sets: effects, order, the two copy engines, pageable memory.
#include <cstring>
#include <numeric>

#include "harness.h"

namespace simtest {
namespace {

constexpr std::size_t large_size = std::size_t{4} << 20;

void* pinned(std::size_t bytes) {
  void* memory = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&memory, bytes, 0), CUDA_SUCCESS);
  return memory;
}

CUdeviceptr device(std::size_t bytes) {
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc(&memory, bytes), CUDA_SUCCESS);
  return memory;
}

TEST(Copies, ThereAndBack) {
  isolated({}, [] {
    make_context();
    std::vector<int> source(large_size / sizeof(int));
    std::iota(source.begin(), source.end(), 1);
    std::vector<int> target(source.size());
    const CUdeviceptr a = device(large_size);
    const CUdeviceptr b = device(large_size);
    CHECK_CUDA(cuMemcpyHtoD(a, source.data(), large_size));
    CHECK_CUDA(cuMemcpyDtoD(b, a, large_size));
    CHECK_CUDA(cuMemcpyDtoH(target.data(), b, large_size));
    EXPECT_EQ(source, target);
    CHECK_CUDA(cuMemcpy(a + 4, b, 4));
    CHECK_CUDA(cuMemcpyDtoH(target.data(), a, 8));
    EXPECT_EQ(target[1], 1);
  });
}

TEST(Copies, ASmallPageableSourceMayBeChangedAtOnce) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    const CUdeviceptr memory = device(64);
    int value = 7;
    int result = 0;
    work(s, 1, 10'000);
    CHECK_CUDA(cuMemcpyHtoDAsync(memory, &value, sizeof(value), s));
    value = 8;
    CHECK_CUDA(cuMemcpyDtoHAsync(&result, memory, sizeof(result), s));
    EXPECT_EQ(result, 7);  // pageable: the call has waited
  });
}

TEST(Copies, BothDirectionsOverlapEachOtherAndKernels) {
  isolated({{"SIMGPU_HOST_BANDWIDTH", "200e6"}}, [] {
    make_context();
    const CUstream a = stream();
    const CUstream b = stream();
    const CUstream c = stream();
    void* host = pinned(large_size);
    void* other = pinned(large_size);
    const CUdeviceptr memory = device(2 * large_size);
    CHECK_CUDA(cuMemcpyHtoDAsync(memory, host, large_size, a));
    CHECK_CUDA(cuMemcpyHtoDAsync(memory, host, large_size, b));
    CHECK_CUDA(cuMemcpyDtoHAsync(other, memory + large_size, large_size, c));
    CHECK_CUDA(cuCtxSynchronize());
    const auto is = [](const char* kind) {
      return [kind](const Json& record) { return record["type"] == "copy" && record["kind"] == kind; };
    };
    const Json down = await_record(is("d2h"));
    wait_until([] { return records_of("copy").size() >= 3; });
    std::vector<Json> up;
    for (const Json& record : records_of("copy")) {
      if (record["kind"] == "h2d") up.push_back(record);
    }
    ASSERT_EQ(up.size(), 2U);
    EXPECT_EQ(up[1]["start"], up[0]["end"]);  // one engine per direction
    EXPECT_LT(down["start"], up[0]["end"]);   // which do not wait for each other
    EXPECT_EQ(down["bytes"], large_size);
    EXPECT_GE(down["end"].get<int64_t>() - down["start"].get<int64_t>(), 20'000'000);
  });
}

TEST(Copies, BoxesAreCopiedRowByRow) {
  isolated({}, [] {
    make_context();
    char source[4][16];
    for (int row = 0; row < 4; ++row) std::memset(source[row], 'a' + row, sizeof(source[row]));
    CUdeviceptr memory = 0;
    std::size_t pitch = 0;
    CHECK_CUDA(cuMemAllocPitch(&memory, &pitch, 16, 4, 4));
    CHECK_CUDA(cuMemsetD2D8(memory, pitch, '.', 16, 4));
    CUDA_MEMCPY2D box{};
    box.srcMemoryType = CU_MEMORYTYPE_HOST;
    box.srcHost = source;
    box.srcPitch = 16;
    box.srcXInBytes = 2;
    box.srcY = 1;
    box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    box.dstDevice = memory;
    box.dstPitch = pitch;
    box.WidthInBytes = 8;
    box.Height = 2;
    CHECK_CUDA(cuMemcpy2D(&box));
    char row[16];
    CHECK_CUDA(cuMemcpyDtoH(row, memory + pitch, sizeof(row)));
    EXPECT_EQ(std::string(row, 16), "cccccccc........");
    box.srcPitch = 4;
    EXPECT_EQ(cuMemcpy2D(&box), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(Copies, SetsOfEachWidth) {
  isolated({}, [] {
    make_context();
    const CUdeviceptr memory = device(64);
    unsigned char result[16] = {};
    CHECK_CUDA(cuMemsetD8(memory, 0x11, 16));
    CHECK_CUDA(cuMemsetD16(memory, 0x2222, 2));
    CHECK_CUDA(cuMemsetD32Async(memory + 8, 0x33333333, 1, nullptr));
    CHECK_CUDA(cuMemcpyDtoH(result, memory, sizeof(result)));
    EXPECT_EQ(result[3], 0x22);
    EXPECT_EQ(result[4], 0x11);
    EXPECT_EQ(result[8], 0x33);
    EXPECT_EQ(result[12], 0x11);
    EXPECT_EQ(cuMemsetD32(memory + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemsetD8(memory, 0, std::size_t{1} << 30), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(Copies, UnknownAddressesAreRefused) {
  isolated({}, [] {
    make_context();
    int value = 0;
    EXPECT_EQ(cuMemcpyHtoD(0x1000, &value, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyDtoH(&value, reinterpret_cast<CUdeviceptr>(&value), 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyHtoD(0, &value, 0), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace simtest
