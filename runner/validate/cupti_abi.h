// The part of CUPTI's interface that Weft needs, declared here so that it is built without CUPTI's headers: functions,
// constants, and of each activity record the beginning that has been the same since CUDA 11.
//
// A record is known by its kind; a newer version of a record (CUpti_ActivityKernel9, 10, ...) keeps the fields of the
// older one where they were and adds others behind them or in its padding. The offsets here hold for
// CUpti_ActivityKernel4 to 10, CUpti_ActivityMemcpy4 to 6 and CUpti_ActivityMemset3 to 4: cupti_abi_test.cpp compares
// them with the header where there is one. No other library may be read with them; knows_records() decides. Included
// by the parts of the core that talk to CUPTI, and by tests.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUctx_st;     // CUcontext points at one
struct CUstream_st;  // CUstream

namespace weft::cupti {

using Result = int;  // CUptiResult
inline constexpr Result success = 0;
inline constexpr Result max_limit_reached = 12;  // no more records in a buffer
inline constexpr Result invalid_kind = 21;       // an incomplete record: nothing behind it can be read
inline constexpr Result not_initialized = 15;
inline constexpr Result multiple_subscribers_not_supported = 39;  // another profiler has CUPTI

using Kind = std::uint32_t;  // CUpti_ActivityKind
inline constexpr Kind memory_copy = 1;
inline constexpr Kind memory_set = 2;
inline constexpr Kind concurrent_kernel = 10;  // kernels keep running side by side; kind 3 would make them wait in line

inline constexpr std::uint8_t copy_device_to_device = 8;  // CUpti_ActivityMemcpyKind
inline constexpr std::uint32_t flush_forced = 1;          // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

struct Activity {
  Kind kind;
};

struct KernelActivity {
  Kind kind;
  std::uint8_t unused_1[12];
  std::uint64_t start, end;  // ns of CUPTI's clock; both 0: they could not be measured
  std::uint8_t unused_2[8];
  std::uint32_t device, context, stream;
  std::uint8_t unused_3[52];
  const char* name;  // mangled; stays valid
};
static_assert(offsetof(KernelActivity, start) == 16 && offsetof(KernelActivity, end) == 24 &&
              offsetof(KernelActivity, device) == 40 && offsetof(KernelActivity, stream) == 48 &&
              offsetof(KernelActivity, name) == 104);

inline constexpr std::size_t bytes_of_a_record = 144;  // CUpti_ActivityKernel6 to 9; others are shorter or alike

struct CopyActivity {
  Kind kind;
  std::uint8_t copy_kind;
  std::uint8_t unused_1[3];
  std::uint64_t bytes;
  std::uint64_t start, end;
  std::uint32_t device, context, stream;
};
static_assert(offsetof(CopyActivity, start) == 16 && offsetof(CopyActivity, device) == 32 &&
              offsetof(CopyActivity, stream) == 40);

struct SetActivity {
  Kind kind;
  std::uint8_t unused_1[4];
  std::uint64_t bytes;
  std::uint64_t start, end;
  std::uint32_t device, context, stream;
};
static_assert(offsetof(SetActivity, start) == 16 && offsetof(SetActivity, device) == 32 &&
              offsetof(SetActivity, stream) == 40);

// cuptiGetVersion(): up to CUDA 12.9 a running number, from 13.0 on 130000, 130001, ... (cupti_version.h).
inline constexpr std::uint32_t oldest_version = 19;          // CUDA 12.0
inline constexpr std::uint32_t last_short_version = 28;      // CUDA 12.9 Update 1
inline constexpr std::uint32_t first_long_version = 130000;  // CUDA 13.0
// NVIDIA's release notes name a possible crash in cuptiActivityFlushAll, mended in 130001.
inline constexpr std::uint32_t version_that_crashes = 130000;

// `of_headers`: of the headers that this was built with, where their newest records begin as above; else 0.
constexpr bool knows_records(std::uint32_t version, std::uint32_t of_headers) {
  if (version >= oldest_version && version <= last_short_version) return true;
  if (version < first_long_version) return false;
  return version / 100 == first_long_version / 100 || version / 100 == of_headers / 100;
}

using CallbackFunction = void (*)(void* user, std::uint32_t domain, std::uint32_t id, const void* data);
using RequestFunction = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
using CompleteFunction = void (*)(CUctx_st* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                  std::size_t valid);

// FUNCTION(member, exported name, parameters); all return a Result.
#define WEFT_CUPTI_FUNCTIONS(FUNCTION)                                                                                \
  FUNCTION(get_version, "cuptiGetVersion", (std::uint32_t * version))                                                 \
  FUNCTION(subscribe, "cuptiSubscribe", (void** subscriber, CallbackFunction callback, void* user))                   \
  FUNCTION(unsubscribe, "cuptiUnsubscribe", (void* subscriber))                                                       \
  FUNCTION(register_callbacks, "cuptiActivityRegisterCallbacks", (RequestFunction, CompleteFunction))                 \
  FUNCTION(enable, "cuptiActivityEnable", (Kind kind))                                                                \
  FUNCTION(next_record, "cuptiActivityGetNextRecord", (std::uint8_t * buffer, std::size_t valid, Activity * *record)) \
  FUNCTION(dropped_records, "cuptiActivityGetNumDroppedRecords",                                                      \
           (CUctx_st * context, std::uint32_t stream, std::size_t * dropped))                                         \
  FUNCTION(flush_all, "cuptiActivityFlushAll", (std::uint32_t flag))                                                  \
  FUNCTION(get_timestamp, "cuptiGetTimestamp", (std::uint64_t * time))                                                \
  FUNCTION(get_device_id, "cuptiGetDeviceId", (CUctx_st * context, std::uint32_t * device))                           \
  FUNCTION(get_context_id, "cuptiGetContextId", (CUctx_st * context, std::uint32_t * id))                             \
  FUNCTION(get_stream_id, "cuptiGetStreamIdEx",                                                                       \
           (CUctx_st * context, CUstream_st * stream, std::uint8_t per_thread, std::uint32_t * id))

}  // namespace weft::cupti
