// The simulated CUPTI as a client sees it: one subscriber, records of what ran, records that find no room. Each test is
// a process of its own in CTest, as CUPTI's state is that of the process.
#include <cupti.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

bool give_buffers = true;
std::vector<std::uint8_t> received;

void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *size = give_buffers ? 4096 : 0;
  *buffer = give_buffers ? static_cast<std::uint8_t*>(std::aligned_alloc(8, *size)) : nullptr;
  *most = 0;
}

void CUPTIAPI complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  received.insert(received.end(), buffer, buffer + valid);
  std::free(buffer);
}

void CUPTIAPI nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

class SimulatedCupti : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&memory_, 1 << 20), CUDA_SUCCESS);
    ASSERT_EQ(cuptiActivityRegisterCallbacks(&request, &complete), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET), CUPTI_SUCCESS);
    received.clear();
    give_buffers = true;
  }
  void set(int times) {
    for (int i = 0; i < times; ++i) ASSERT_EQ(cuMemsetD8Async(memory_, 1, 1 << 20, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  }

  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
};

TEST_F(SimulatedCupti, HasOneSubscriber) {
  CUpti_SubscriberHandle one = nullptr, other = nullptr;
  EXPECT_EQ(cuptiSubscribe(&one, &nothing, nullptr), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiSubscribe(&other, &nothing, nullptr), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_EQ(cuptiUnsubscribe(one), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiSubscribe(&other, &nothing, nullptr), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiUnsubscribe(other), CUPTI_SUCCESS);
}

TEST_F(SimulatedCupti, RecordsWhatRanOnWhichStreamAndWhen) {
  std::uint64_t before = 0, after = 0;
  std::uint32_t stream = 0, device = 1;
  ASSERT_EQ(cuptiGetTimestamp(&before), CUPTI_SUCCESS);
  set(100);  // more than one buffer holds
  ASSERT_EQ(cuptiGetTimestamp(&after), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiGetStreamIdEx(nullptr, stream_, 0, &stream), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiGetDeviceId(context_, &device), CUPTI_SUCCESS);
  EXPECT_EQ(device, 0u);
  CUpti_Activity* record = nullptr;
  std::uint64_t last = before;
  int sets = 0;
  while (cuptiActivityGetNextRecord(received.data(), received.size(), &record) == CUPTI_SUCCESS) {
    ASSERT_EQ(record->kind, CUPTI_ACTIVITY_KIND_MEMSET);
    const auto& one = *reinterpret_cast<const WEFT_CUPTI_MEMSET_RECORD*>(record);
    EXPECT_EQ(one.streamId, stream);
    EXPECT_EQ(one.deviceId, 0u);
    EXPECT_EQ(one.bytes, 1u << 20);
    EXPECT_GE(one.start, last);
    EXPECT_GT(one.end, one.start);
    last = one.end;
    ++sets;
  }
  EXPECT_EQ(sets, 100);
  EXPECT_LE(last, after);
  std::size_t dropped = 1;
  EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 0u);
}

TEST_F(SimulatedCupti, CountsRecordsThatFindNoBuffer) {
  give_buffers = false;
  set(7);
  std::size_t dropped = 0;
  EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 7u);
  EXPECT_TRUE(received.empty());
  EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 0u);
}

TEST_F(SimulatedCupti, OnlyKindsThatAreEnabledAreRecorded) {
  ASSERT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET), CUPTI_SUCCESS);
  set(3);
  EXPECT_TRUE(received.empty());
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MARKER), CUPTI_ERROR_INVALID_KIND);
}

TEST_F(SimulatedCupti, ItsClockIsNotThatOfTheLog) {
  std::uint64_t cupti = 0;
  timespec now{};
  ASSERT_EQ(cuptiGetTimestamp(&cupti), CUPTI_SUCCESS);
  clock_gettime(CLOCK_MONOTONIC, &now);
  EXPECT_GT(cupti, static_cast<std::uint64_t>(now.tv_sec + 3600) * 1'000'000'000);
}

}  // namespace
