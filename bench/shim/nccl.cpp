// A libnccl.so.2 for the benchmark: a receive is a wait on the stream for a word, so its group stays pending until the
// benchmark says that all receives have arrived (bench_arrive). Called by shim_calls, on its one thread.
#include <dlfcn.h>

#include <atomic>
#include <new>

#include "shim/routing/vendor.h"

#define NCCL_API(result, name, ...)                                                                   \
  extern "C" __attribute__((visibility("default"), weak, alias("p" #name))) result name(__VA_ARGS__); \
  extern "C" __attribute__((visibility("default"))) result p##name(__VA_ARGS__)

namespace {

template <class Function>
Function driver(const char* name) {
  return reinterpret_cast<Function>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), name));
}

std::atomic<cuuint32_t>& arrived() {
  static auto* const word = [] {
    void* memory = nullptr;
    driver<decltype(&cuMemHostAlloc)>("cuMemHostAlloc")(&memory, sizeof(cuuint32_t), CU_MEMHOSTALLOC_DEVICEMAP);
    return new (memory) std::atomic<cuuint32_t>(0);
  }();
  return *word;
}

}  // namespace

NCCL_API(ncclResult_t, ncclRecv, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t stream) {
  static const auto wait = driver<decltype(&cuStreamWaitValue32_v2)>("cuStreamWaitValue32_v2");
  static const auto word = reinterpret_cast<CUdeviceptr>(&arrived());
  wait(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ);
  return ncclSuccess;
}
extern "C" __attribute__((visibility("default"))) void bench_arrive(int yes) {
  arrived() = static_cast<cuuint32_t>(yes);
}
NCCL_API(ncclResult_t, ncclGetVersion, int* version) {
  return *version = 22809, ncclSuccess;
}
NCCL_API(ncclResult_t, ncclCommCuDevice, const ncclComm_t, int* device) {
  return *device = 0, ncclSuccess;
}
NCCL_API(ncclResult_t, ncclCommUserRank, const ncclComm_t, int* rank) {
  return *rank = 0, ncclSuccess;
}
NCCL_API(ncclResult_t, ncclCommCount, const ncclComm_t, int* count) {
  return *count = 2, ncclSuccess;
}
NCCL_API(ncclResult_t, ncclCommInitRank, ncclComm_t* made, int, ncclUniqueId, int) {
  static char only;
  return *made = reinterpret_cast<ncclComm_t>(&only), ncclSuccess;
}
