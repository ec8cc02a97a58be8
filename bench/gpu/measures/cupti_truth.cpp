// cupti_truth.so: the ground truth on hardware. CUPTI's kernel, copy and set records of a process, written at its exit
// as the simulator would have written them.
//
// Loaded by the CUDA driver when CUDA_INJECTION64_PATH names it; InitializeInjection() runs inside cuInit on a thread
// of the program, buffers arrive on a thread of CUPTI, the log is written by an exit handler, and a thread of its own
// keeps the names of Weft's threads. CUPTI itself is opened at run time, by CUPTI_TRUTH_LIBRARY or its soname: where it
// is missing one line says so and the program runs on.
// CUPTI_TRUTH_LOG names the folder of the log; without it nothing is done. For measuring runs only: at most one CUPTI
// user fits into a process.
#include <cupti.h>
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "thread_names.h"
#include "truth_log.h"

namespace {

using measures::TruthLog;

constexpr std::size_t buffer_bytes = 4U << 20U;
constexpr std::size_t buffer_alignment = 8;
// Weft's threads have their names before their first launch, and live as long as a communicator.
constexpr std::chrono::milliseconds between_looks{5};

#define CUPTI_FUNCTIONS(FUNCTION)                  \
  FUNCTION(cuptiSetThreadIdType)                   \
  FUNCTION(cuptiActivityRegisterTimestampCallback) \
  FUNCTION(cuptiActivityRegisterCallbacks)         \
  FUNCTION(cuptiActivityEnable)                    \
  FUNCTION(cuptiActivityGetNextRecord)             \
  FUNCTION(cuptiActivityGetNumDroppedRecords)      \
  FUNCTION(cuptiActivityFlushAll)

struct Cupti {
#define FUNCTION(name) decltype(&::name) name = nullptr;
  CUPTI_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

// Lives until the process is gone: CUPTI's thread may come late.
struct State {
  Cupti cupti;
  std::string directory;
  std::mutex mutex;
  TruthLog log;
  measures::ThreadNames weft_threads{"weft"};
  std::size_t dropped = 0;
};
State& state() {
  static State* const one = new State;
  return *one;
}

void complain(const char* what) {
  std::fprintf(stderr, "cupti_truth: %s\n", what);
}

bool open_cupti(Cupti& cupti) {
  const char* const named = std::getenv("CUPTI_TRUTH_LIBRARY");
  void* const library = ::dlopen(named != nullptr ? named : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  bool complete = true;
#define FUNCTION(name)                                                       \
  cupti.name = reinterpret_cast<decltype(&::name)>(::dlsym(library, #name)); \
  complete = complete && cupti.name != nullptr;
  CUPTI_FUNCTIONS(FUNCTION)
#undef FUNCTION
  return complete;
}

std::uint64_t CUPTIAPI monotonic_time() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

TruthLog::Kind kind_of(const CUpti_ActivityMemcpy6& copy) {
  if (copy.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD) return TruthLog::Kind::host_to_device;
  if (copy.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH) return TruthLog::Kind::device_to_host;
  return TruthLog::Kind::within_device;
}

template <class Record>
TruthLog::Work work_of(const Record& record, TruthLog::Kind kind, std::uint64_t amount) {
  TruthLog::Work work;
  work.kind = kind;
  work.device = record.deviceId;
  work.stream = record.streamId;
  work.correlation = record.correlationId;
  work.start = static_cast<std::int64_t>(record.start);
  work.end = static_cast<std::int64_t>(record.end);
  work.blocks_or_bytes = amount;
  return work;
}

void take(const CUpti_Activity* record) {
  TruthLog& log = state().log;
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      const auto blocks = static_cast<std::uint64_t>(kernel.gridX) * static_cast<std::uint64_t>(kernel.gridY) *
                          static_cast<std::uint64_t>(kernel.gridZ);
      TruthLog::Work work = work_of(kernel, TruthLog::Kind::kernel, blocks);
      work.name = log.name(kernel.name != nullptr ? kernel.name : "unknown");
      log.add(work);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
      log.add(work_of(copy, kind_of(copy), copy.bytes));
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& set = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      log.add(work_of(set, TruthLog::Kind::set, set.bytes));
      break;
    }
    case CUPTI_ACTIVITY_KIND_DRIVER: {
      const auto& call = *reinterpret_cast<const CUpti_ActivityAPI*>(record);
      // Only fill is told apart by its thread; the main job's threads need no name.
      const std::string name = state().weft_threads.name(call.threadId);
      if (!name.empty()) log.call(call.correlationId, name);
      break;
    }
    default:
      break;
  }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
  *size = *buffer == nullptr ? 0 : buffer_bytes;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  CUpti_Activity* record = nullptr;
  while (all.cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) take(record);
  std::size_t dropped = 0;
  if (all.cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) all.dropped += dropped;
  std::free(buffer);
}

void write_log() {
  State& all = state();
  all.cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard lock(all.mutex);
  if (all.dropped > 0) std::fprintf(stderr, "cupti_truth: %zu records were dropped\n", all.dropped);
  if (!all.log.write(all.directory, ::getpid())) complain("the log cannot be written");
}

bool start(const Cupti& cupti) {
  bool good = cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) == CUPTI_SUCCESS &&
              cupti.cuptiActivityRegisterTimestampCallback(&monotonic_time) == CUPTI_SUCCESS &&
              cupti.cuptiActivityRegisterCallbacks(&give_buffer, &take_buffer) == CUPTI_SUCCESS;
  for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_DRIVER})
    good = good && cupti.cuptiActivityEnable(kind) == CUPTI_SUCCESS;
  return good;
}

}  // namespace

// Called by the driver; 1 means that all is well, and all is well without a log too.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  State& all = state();
  const char* const directory = std::getenv("CUPTI_TRUTH_LOG");
  if (directory == nullptr || directory[0] == '\0') return 1;
  all.directory = directory;
  if (!open_cupti(all.cupti)) {
    complain("no usable libcupti here, so no log (CUPTI_TRUTH_LIBRARY may name it)");
  } else if (!start(all.cupti)) {
    complain("CUPTI refuses (a profiler in the same process?), so no log");
  } else {
    all.weft_threads.start(between_looks);
    std::atexit(&write_log);
  }
  return 1;
}
