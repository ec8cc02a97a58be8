// A libcuda.so.1 that stands between the real libcudart and the simulated driver and notes what the runtime asks for:
// one line "name version flags status" per request, in the file named by RECORDER_OUTPUT. Only in the test below.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

namespace {

using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

GetProcAddress real() {
  static const auto address = [] {
    void* library = dlopen(std::getenv("SIMULATED_CUDA"), RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  }();
  return address;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) CUresult cuGetProcAddress_v2(const char* symbol, void** pfn,
                                                                               int version, cuuint64_t flags,
                                                                               CUdriverProcAddressQueryResult* status) {
  if (real() == nullptr) return CUDA_ERROR_NOT_FOUND;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result = real()(symbol, pfn, version, flags, &found);
  if (status != nullptr) *status = found;
  static FILE* const output = std::fopen(std::getenv("RECORDER_OUTPUT"), "w");
  if (output != nullptr) {
    std::fprintf(output, "%d %llu %d %d %p %s\n", version, static_cast<unsigned long long>(flags),
                 static_cast<int>(result), static_cast<int>(found), *pfn, symbol);
    std::fflush(output);
  }
  // The runtime goes on with the pointer it gets here, so it has to be this function again.
  if (*pfn == reinterpret_cast<void*>(real())) *pfn = reinterpret_cast<void*>(&cuGetProcAddress_v2);
  return result;
}
