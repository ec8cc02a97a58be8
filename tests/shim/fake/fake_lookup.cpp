// cuGetProcAddress of the fake libcuda.so.1 (fake_cuda.cpp): by name, version and default stream, as the real one.
//
// Called by the tests of the shim, on any thread. It keeps no state.
#include <cstdlib>
#include <cstring>

#include "tests/shim/fake/fake_cuda.h"

namespace {

struct Entry {
  const char* name;
  int version;
  void* legacy;
  void* per_thread;
};

// A driver that answers every question of cuGetProcAddress with the same address, which nothing exports.
bool one_address_for_all() {
  return std::getenv("FAKE_PROC_ADDRESS") != nullptr;
}
CUresult any_function() {
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  static const Entry entries[] = {
      {"cuStreamWaitEvent", 3020, reinterpret_cast<void*>(&cuStreamWaitEvent),
       reinterpret_cast<void*>(&cuStreamWaitEvent_ptsz)},
      {"cuEventRecord", 2000, reinterpret_cast<void*>(&cuEventRecord), reinterpret_cast<void*>(&cuEventRecord_ptsz)},
      {"cuStreamSynchronize", 2000, reinterpret_cast<void*>(&cuStreamSynchronize),
       reinterpret_cast<void*>(&cuStreamSynchronize_ptsz)},
      {"cuMemAlloc", 3020, reinterpret_cast<void*>(&cuMemAlloc_v2), reinterpret_cast<void*>(&cuMemAlloc_v2)},
      {"cuEventCreate", 2000, reinterpret_cast<void*>(&cuEventCreate), reinterpret_cast<void*>(&cuEventCreate)},
      {"cuLaunchKernel", 4000, reinterpret_cast<void*>(&cuLaunchKernel), reinterpret_cast<void*>(&cuLaunchKernel_ptsz)},
      {"cuGetProcAddress", 12000, reinterpret_cast<void*>(&cuGetProcAddress_v2),
       reinterpret_cast<void*>(&cuGetProcAddress_v2)},
      {"cuCtxSynchronize", 13000, reinterpret_cast<void*>(&cuCtxSynchronize_v2),
       reinterpret_cast<void*>(&cuCtxSynchronize_v2)},
      {"cuCtxSynchronize", 2000, reinterpret_cast<void*>(&cuCtxSynchronize),
       reinterpret_cast<void*>(&cuCtxSynchronize)},
  };
  for (const Entry& entry : entries) {
    if (std::strcmp(entry.name, symbol) != 0 || version < entry.version) continue;
    *pfn = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0 ? entry.per_thread : entry.legacy;
    if (one_address_for_all()) *pfn = reinterpret_cast<void*>(&any_function);
    if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
  }
  if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_ERROR_NOT_FOUND;
}
CUresult cuGetProcAddress(const char* symbol, void** pfn, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, pfn, version, flags, nullptr);
}

#pragma GCC visibility pop
}
