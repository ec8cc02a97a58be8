// Events and stream memory operations.
#include <thread>

#include "harness.h"

namespace simtest {
namespace {

std::atomic<uint32_t>* pinned_words() {
  void* memory = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&memory, 4096, 0), CUDA_SUCCESS);
  return new (memory) std::atomic<uint32_t>[16] {};
}

CUdeviceptr device_address(void* pointer) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemHostGetDevicePointer(&address, pointer, 0), CUDA_SUCCESS);
  return address;
}

TEST(Events, ElapsedTimeIsExact) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    CUevent begin = nullptr;
    CUevent end = nullptr;
    CHECK_CUDA(cuEventCreate(&begin, 0));
    CHECK_CUDA(cuEventCreate(&end, 0));
    float milliseconds = 0;
    EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end), CUDA_ERROR_INVALID_HANDLE);
    work(s, 1, 10'000);
    CHECK_CUDA(cuEventRecord(begin, s));
    work(s, 1, 2'500);
    CHECK_CUDA(cuEventRecord(end, s));
    EXPECT_EQ(cuEventQuery(end), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end), CUDA_ERROR_NOT_READY);
    CHECK_CUDA(cuEventSynchronize(end));
    EXPECT_EQ(cuEventQuery(end), CUDA_SUCCESS);
    CHECK_CUDA(cuEventElapsedTime(&milliseconds, begin, end));
    EXPECT_FLOAT_EQ(milliseconds, 2.501F);  // and the gap
  });
}

// An event of a context stands for the work of all its streams.
TEST(Events, AContextIsRecorded) {
  isolated({}, [] {
    make_context();
    CUcontext context = nullptr;
    CHECK_CUDA(cuCtxGetCurrent(&context));
    const CUstream one = stream();
    const CUstream other = stream();
    CUevent event = nullptr;
    CHECK_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    EXPECT_EQ(cuCtxRecordEvent(nullptr, event), CUDA_ERROR_INVALID_CONTEXT);
    work(one, 1, 2'000);
    work(other, 1, 10'000);
    CHECK_CUDA(cuCtxRecordEvent(context, event));
    CHECK_CUDA(cuStreamSynchronize(one));
    EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    CHECK_CUDA(cuEventSynchronize(event));
    EXPECT_EQ(cuStreamQuery(other), CUDA_SUCCESS);
    CHECK_CUDA(cuCtxRecordEvent(context, event));
    CHECK_CUDA(cuEventSynchronize(event));
  });
}

// All that is launched later waits, also on streams that do not exist yet.
TEST(Events, AContextWaits) {
  isolated({}, [] {
    make_context();
    CUcontext context = nullptr;
    CHECK_CUDA(cuCtxGetCurrent(&context));
    const CUstream first = stream();
    const CUstream before = stream();
    CUevent event = nullptr;
    CHECK_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK_CUDA(cuCtxWaitEvent(context, event));
    work(first, 1, 20'000);
    CHECK_CUDA(cuEventRecord(event, first));
    CHECK_CUDA(cuCtxWaitEvent(context, event));
    const CUstream after = stream();
    work(before, 1, 10);
    work(after, 1, 10);
    EXPECT_EQ(cuStreamQuery(first), CUDA_ERROR_NOT_READY);
    CHECK_CUDA(cuStreamSynchronize(after));
    EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
    CHECK_CUDA(cuCtxSynchronize());
  });
}

TEST(Events, AContextThatCapturesIsNeitherRecordedNorWaits) {
  isolated({}, [] {
    make_context();
    CUcontext context = nullptr;
    CHECK_CUDA(cuCtxGetCurrent(&context));
    const CUstream s = stream();
    CUevent event = nullptr;
    CUgraph graph = nullptr;
    CHECK_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK_CUDA(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_EQ(cuCtxRecordEvent(context, event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK_CUDA(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_EQ(cuCtxWaitEvent(context, event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  });
}

TEST(Events, UnrecordedEventsCountAsDone) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    CUevent event = nullptr;
    CHECK_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
    CHECK_CUDA(cuEventSynchronize(event));
    CHECK_CUDA(cuStreamWaitEvent(s, event, 0));
    CHECK_CUDA(cuStreamSynchronize(s));
    float milliseconds = 0;
    EXPECT_EQ(cuEventElapsedTime(&milliseconds, event, event), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CUDA(cuEventDestroy(event));
    EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
  });
}

TEST(Events, DestroyingARecordedEventIsSafe) {
  isolated({}, [] {
    make_context();
    const CUstream a = stream();
    const CUstream b = stream();
    for (int round = 0; round < 200; ++round) {
      CUevent event = nullptr;
      CHECK_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
      work(a, 1, 50);
      CHECK_CUDA(cuEventRecord(event, a));
      CHECK_CUDA(cuStreamWaitEvent(b, event, 0));
      CHECK_CUDA(cuEventDestroy(event));
    }
    CHECK_CUDA(cuCtxSynchronize());
  });
}

TEST(MemoryOperations, WritesFollowTheStream) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    std::atomic<uint32_t>* words = pinned_words();
    const CUdeviceptr address = device_address(words);
    CHECK_CUDA(cuStreamWriteValue32(s, address, 1, 0));
    work(s, 1, 50'000);
    CHECK_CUDA(cuStreamWriteValue32(s, address + 4, 2, 0));
    CHECK_CUDA(cuStreamWriteValue64(s, address + 8, 0x100000003, 0));
    wait_until([&] { return words[0] == 1; });
    EXPECT_EQ(words[1], 0U);
    CHECK_CUDA(cuStreamSynchronize(s));
    EXPECT_EQ(words[1], 2U);
    EXPECT_EQ(words[2], 3U);
    EXPECT_EQ(words[3], 1U);
  });
}

TEST(MemoryOperations, WaitsLetGoWhenTheHostWrites) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    const CUstream other = stream();
    std::atomic<uint32_t>* words = pinned_words();
    const CUdeviceptr address = device_address(words);
    CHECK_CUDA(cuStreamWaitValue32(s, address, 5, CU_STREAM_WAIT_VALUE_GEQ));
    CHECK_CUDA(cuStreamWriteValue32(s, address + 4, 1, 0));
    work(other, 1, 100);
    CHECK_CUDA(cuStreamSynchronize(other));
    EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    words[0] = 4;
    EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    words[0] = 6;
    CHECK_CUDA(cuStreamSynchronize(s));
    EXPECT_EQ(words[1], 1U);
  });
}

TEST(MemoryOperations, ComparisonsAreAsDocumented) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    std::atomic<uint32_t>* words = pinned_words();
    const CUdeviceptr address = device_address(words);
    const CUstream other = stream();
    words[0] = 0x80000000;
    const auto passes = [&](uint32_t value, unsigned flags) {
      EXPECT_EQ(cuStreamWaitValue32(s, address, value, flags), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamWriteValue32(s, address + 4, 1, 0), CUDA_SUCCESS);
      work(other, 1, 10'000);
      EXPECT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
      const bool passed = words[1] == 1;
      const uint32_t before = words[0];
      words[0] = flags == CU_STREAM_WAIT_VALUE_NOR ? 0 : value;
      EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
      words[0] = before;
      words[1] = 0;
      return passed;
    };
    EXPECT_TRUE(passes(1, CU_STREAM_WAIT_VALUE_GEQ));  // the difference counts, cyclically
    EXPECT_FALSE(passes(0x80000001, CU_STREAM_WAIT_VALUE_GEQ));
    EXPECT_TRUE(passes(0x80000000, CU_STREAM_WAIT_VALUE_GEQ));
    EXPECT_FALSE(passes(0x80000001, CU_STREAM_WAIT_VALUE_EQ));
    EXPECT_TRUE(passes(0x80000000, CU_STREAM_WAIT_VALUE_EQ));
    EXPECT_TRUE(passes(0xff000000, CU_STREAM_WAIT_VALUE_AND));
    EXPECT_FALSE(passes(0x00ffffff, CU_STREAM_WAIT_VALUE_AND));
    EXPECT_TRUE(passes(0x0fffffff, CU_STREAM_WAIT_VALUE_NOR));
    words[0] = 0xffff0000;
    EXPECT_FALSE(passes(0x0000ffff, CU_STREAM_WAIT_VALUE_NOR));
  });
}

TEST(MemoryOperations, BatchesRunInOrder) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    std::atomic<uint32_t>* words = pinned_words();
    const CUdeviceptr address = device_address(words);
    CUstreamBatchMemOpParams all[3] = {};
    all[0].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, address, {1}, 0, 0};
    all[1].waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_32, address + 4, {1}, CU_STREAM_WAIT_VALUE_EQ, 0};
    all[2].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, address + 8, {1}, 0, 0};
    CHECK_CUDA(cuStreamBatchMemOp(s, 3, all, 0));
    wait_until([&] { return words[0] == 1; });
    EXPECT_EQ(words[2], 0U);
    words[1] = 1;
    CHECK_CUDA(cuStreamSynchronize(s));
    EXPECT_EQ(words[2], 1U);
    EXPECT_EQ(cuStreamBatchMemOp(s, 0, all, 0), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(MemoryOperations, AddressesAreChecked) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    const CUdeviceptr address = device_address(pinned_words());
    uint32_t pageable = 0;
    EXPECT_EQ(cuStreamWriteValue32(s, address + 2, 1, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuStreamWriteValue64(s, address + 4, 1, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuStreamWriteValue32(s, reinterpret_cast<CUdeviceptr>(&pageable), 1, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuStreamWriteValue32(s, address, 1, 0x80), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuStreamWriteValue32(s, address, 1, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER), CUDA_ERROR_INVALID_VALUE);
  });
}

}  // namespace
}  // namespace simtest
