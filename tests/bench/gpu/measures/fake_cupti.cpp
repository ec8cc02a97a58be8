// A stand-in for libcupti that delivers three scripted records: a call on a thread named "weft-dispatch", the kernel it
// launched, and a receive of the main job. As on hardware they come at the last flush, when that thread has ended. For
// the test of cupti_truth only; made by CUPTI's own header, so the layout is that of the real one.
#include <cupti.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace {

CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
std::uint64_t(CUPTIAPI* clock_of_user)() = nullptr;

// A training lasts longer than that.
constexpr std::chrono::milliseconds life_of_dispatcher{500};
std::thread dispatcher;
std::atomic<pid_t> dispatcher_number{0};

void live_as_dispatcher() {
  ::pthread_setname_np(::pthread_self(), "weft-dispatch");
  dispatcher_number = ::gettid();
  std::this_thread::sleep_for(life_of_dispatcher);
}

// The record at an offset, each in a slot of its own.
constexpr std::size_t slot_bytes = 512;
static_assert(sizeof(CUpti_ActivityKernel10) <= slot_bytes && sizeof(CUpti_ActivityAPI) <= slot_bytes);
template <class Record>
Record& record_at(std::uint8_t* buffer, std::size_t slot, CUpti_ActivityKind kind) {
  auto& record = *reinterpret_cast<Record*>(buffer + slot * slot_bytes);
  std::memset(&record, 0, sizeof record);
  record.kind = kind;
  return record;
}

void put_kernel(std::uint8_t* buffer, std::size_t slot, const char* name, std::uint32_t correlation,
                std::uint64_t start) {
  auto& kernel = record_at<CUpti_ActivityKernel10>(buffer, slot, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  kernel.name = name;
  kernel.correlationId = correlation;
  kernel.gridX = 2;
  kernel.gridY = 3;
  kernel.gridZ = 1;
  kernel.start = start;
  kernel.end = start + 100;
}

// Delivers the records of a program under CUPTI.
void deliver() {
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, most = 0;
  request(&buffer, &size, &most);
  if (buffer == nullptr || size < 3 * slot_bytes) return;
  // The kernel comes before the call that says who launched it.
  put_kernel(buffer, 0, "_Z7productPf", 7, 1000);
  auto& call = record_at<CUpti_ActivityAPI>(buffer, 1, CUPTI_ACTIVITY_KIND_DRIVER);
  call.threadId = static_cast<std::uint32_t>(dispatcher_number.load());
  call.correlationId = 7;
  put_kernel(buffer, 2, "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE", 8, clock_of_user());
  complete(nullptr, 0, buffer, size, 3 * slot_bytes);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  return type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
__attribute__((visibility("default"))) CUptiResult cuptiActivityRegisterTimestampCallback(
    CUpti_TimestampCallbackFunc function) {
  clock_of_user = function;
  return CUPTI_SUCCESS;
}
__attribute__((visibility("default"))) CUptiResult cuptiActivityRegisterCallbacks(
    CUpti_BuffersCallbackRequestFunc on_request, CUpti_BuffersCallbackCompleteFunc on_complete) {
  request = on_request;
  complete = on_complete;
  return CUPTI_SUCCESS;
}
__attribute__((visibility("default"))) CUptiResult cuptiActivityEnable(CUpti_ActivityKind) {
  if (!dispatcher.joinable()) dispatcher = std::thread(&live_as_dispatcher);
  return CUPTI_SUCCESS;
}
__attribute__((visibility("default"))) CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid,
                                                                              CUpti_Activity** record) {
  auto* next = *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + slot_bytes;
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
__attribute__((visibility("default"))) CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t,
                                                                                     std::size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}
__attribute__((visibility("default"))) CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  dispatcher.join();
  deliver();
  return CUPTI_SUCCESS;
}

}  // extern "C"
