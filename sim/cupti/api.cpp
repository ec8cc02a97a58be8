// The exported functions. Any thread of the client. SIMGPU_CUPTI is read when the first of them is called.
#include <cupti.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "delivery.h"
#include "driver.h"

using simgpu::cupti::delivery;
using simgpu::cupti::driver;

namespace {

struct Faults {
  bool taken = false;
  std::uint32_t version = CUPTI_API_VERSION;
  std::uint64_t drop_every = 0;
  bool refuse = false, lingers = false, uninitialised = false;
};

Faults read_faults() {
  Faults faults;
  const char* const text = std::getenv("SIMGPU_CUPTI");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (one == "taken") faults.taken = true;
    if (one == "refuse") faults.refuse = true;
    if (one == "lingers") faults.lingers = true;
    if (one == "uninitialised") faults.uninitialised = true;
    if (one.starts_with("version=")) faults.version = static_cast<std::uint32_t>(std::atoi(one.data() + 8));
    if (one.starts_with("drop=")) faults.drop_every = static_cast<std::uint64_t>(std::atoi(one.data() + 5));
  }
  return faults;
}

const Faults& faults() {
  static const Faults one = read_faults();
  return one;
}

std::atomic<bool> subscribed{false};

// The real library has lost its state by then, and may crash.
std::atomic<bool> destroyed{false};
__attribute__((destructor)) void be_destroyed() {
  destroyed = true;
  if (faults().lingers) ::usleep(300'000);
}
void note_late_call(const char* name) {
  if (destroyed) std::fprintf(stderr, "simulated CUPTI: %s was called after its destructors\n", name);
}

bool is_recorded(CUpti_ActivityKind kind) {
  return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_MEMCPY ||
         kind == CUPTI_ACTIVITY_KIND_MEMSET;
}

void sink(const simgpu_activity* activity) {
  delivery().note(*activity);
}

}  // namespace

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t* version) {
  if (version == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = faults().version;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc, void*) {
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (driver() == nullptr || faults().uninitialised) return CUPTI_ERROR_NOT_INITIALIZED;
  if (faults().taken || subscribed.exchange(true)) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&subscribed);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  if (subscriber != reinterpret_cast<CUpti_SubscriberHandle>(&subscribed)) return CUPTI_ERROR_INVALID_PARAMETER;
  subscribed = false;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete) {
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  delivery().set_callbacks(request, complete);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (!is_recorded(kind)) return CUPTI_ERROR_INVALID_KIND;
  if (faults().refuse && kind == CUPTI_ACTIVITY_KIND_MEMSET) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  if (driver() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  delivery().drop_every(faults().drop_every);
  delivery().want(kind, true);
  driver()->services->set_activity_sink(&sink);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (!is_recorded(kind)) return CUPTI_ERROR_INVALID_KIND;
  delivery().want(kind, false);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  note_late_call(__func__);
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  std::size_t offset = 0, size = 0;
  if (*record != nullptr) {
    offset = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(*record) - buffer);
    if (simgpu::cupti::record_at(buffer, valid, offset, size) == nullptr) return CUPTI_ERROR_INVALID_KIND;
    offset += size;
  }
  if (offset >= valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  CUpti_Activity* const next = simgpu::cupti::record_at(buffer, valid, offset, size);
  if (next == nullptr) return CUPTI_ERROR_INVALID_KIND;
  *record = next;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  note_late_call(__func__);
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = delivery().take_dropped();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t) {
  note_late_call(__func__);
  if (!delivery().has_callbacks()) return CUPTI_ERROR_INVALID_OPERATION;
  delivery().flush();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t* timestamp) {
  note_late_call(__func__);
  if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  *timestamp = simgpu::cupti::cupti_time(std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t* device) {
  if (device == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  CUdevice found{};
  if (driver() == nullptr || driver()->push(context) != CUDA_SUCCESS) return CUPTI_ERROR_INVALID_CONTEXT;
  const CUresult result = driver()->device_of_current(&found);
  driver()->pop(nullptr);
  if (result != CUDA_SUCCESS) return CUPTI_ERROR_INVALID_CONTEXT;
  *device = static_cast<std::uint32_t>(found);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t* id) {
  unsigned long long found = 0;
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (driver() == nullptr || driver()->context_id(context, &found) != CUDA_SUCCESS) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = static_cast<std::uint32_t>(found);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext, CUstream stream, uint8_t per_thread, uint32_t* id) {
  unsigned long long found = 0;
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const CUstream asked = stream == nullptr && per_thread != 0 ? CU_STREAM_PER_THREAD : stream;
  if (driver() == nullptr || driver()->stream_id(asked, &found) != CUDA_SUCCESS) return CUPTI_ERROR_INVALID_STREAM;
  *id = static_cast<std::uint32_t>(found);
  return CUPTI_SUCCESS;
}
