// cudaGetDriverEntryPoint and its variant with a version: the cuGetProcAddress that the runtime itself holds answers
// them. Called on the application's thread, by NCCL among others.
#include "context.h"

using simgpu::Driver;
using simgpu::with_driver;

static_assert(static_cast<int>(cudaEnableLegacyStream) == static_cast<int>(CU_GET_PROC_ADDRESS_LEGACY_STREAM) &&
              static_cast<int>(cudaEnablePerThreadDefaultStream) ==
                  static_cast<int>(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));

namespace {

cudaError_t entry_point(const char* symbol, void** function, unsigned version, unsigned long long flags,
                        cudaDriverEntryPointQueryResult* status) {
  return with_driver([&](const Driver& driver) {
    if (symbol == nullptr || function == nullptr || *symbol == '\0') {
      return cudaErrorInvalidValue;
    }
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    *function = nullptr;
    const CUresult result = driver.cuGetProcAddress(symbol, function, static_cast<int>(version), flags, &found);
    // A name that is not there is an answer, not an error, when the caller asks for the status.
    const bool answered = result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_FOUND;
    if (status == nullptr || !answered) {
      return simgpu::to_runtime(result);
    }
    if (result == CUDA_ERROR_NOT_FOUND && found == CU_GET_PROC_ADDRESS_SUCCESS) {
      found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    *status = static_cast<cudaDriverEntryPointQueryResult>(found);
    return cudaSuccess;
  });
}

unsigned long long per_thread_unless_given(unsigned long long flags) {
  return flags != cudaEnableDefault ? flags : static_cast<unsigned long long>(cudaEnablePerThreadDefaultStream);
}

}  // namespace

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return entry_point(symbol, function, CUDART_VERSION, flags, status);
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function, unsigned long long flags,
                                         cudaDriverEntryPointQueryResult* status) {
  return entry_point(symbol, function, CUDART_VERSION, per_thread_unless_given(flags), status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int version,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
  return entry_point(symbol, function, version, flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char* symbol, void** function, unsigned int version,
                                                  unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
  return entry_point(symbol, function, version, per_thread_unless_given(flags), status);
}
