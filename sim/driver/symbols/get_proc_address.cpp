// cuGetProcAddress in both ABIs: a name, a CUDA version and flags give the address of one exact exported symbol, or
// of a thunk that stands for it.
// Called by every runtime while it loads, on any thread, before cuInit. Must not need the engine, allocate or lock.
#include <cuda.h>

#include <algorithm>
#include <string_view>

#include "engine/settings.h"
#include "symbols/entry_table.h"

namespace simgpu {
namespace {

struct Lookup {
  const EntryPoint* entry = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

// Newest ABI that is not newer than asked for. A per-thread twin, where there is one, wins over any ordinary entry.
Lookup look_up(std::string_view name, int version, bool per_thread) {
  const EntryPoint* const end = entry_points + entry_point_count;
  const EntryPoint* entry = std::lower_bound(
      entry_points, end, name, [](const EntryPoint& left, std::string_view right) { return left.name < right; });
  const EntryPoint* ordinary = nullptr;
  const EntryPoint* twin = nullptr;
  Lookup result;
  for (; entry != end && entry->name == name; ++entry) {
    result.status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    if (entry->version <= version) (entry->per_thread ? twin : ordinary) = entry;
  }
  const EntryPoint* const chosen = per_thread && twin != nullptr ? twin : ordinary;
  if (chosen != nullptr) result = {chosen, CU_GET_PROC_ADDRESS_SUCCESS};
  return result;
}

void* address_of(const EntryPoint* entry, cuuint64_t flags) {
  if (entry == nullptr) return nullptr;
  if (!gives_thunks()) return reinterpret_cast<void*>(entry->address);
  const auto index = thunks_per_entry * static_cast<std::size_t>(entry - entry_points) + flags;
  return const_cast<unsigned char*>(simgpu_thunks + thunk_bytes * index);
}

CUresult get_proc_address(const char* symbol, void** pfn, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult& status) {
  if (symbol == nullptr || pfn == nullptr || version > CUDA_VERSION) return CUDA_ERROR_INVALID_VALUE;
  if (flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
  const Lookup found = look_up(symbol, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  *pfn = address_of(found.entry, flags);
  status = found.status;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace simgpu

extern "C" {

// The ABI of CUDA 11.3 has no status: a name that is not there is an error.
__attribute__((visibility("default"))) CUresult CUDAAPI cuGetProcAddress(const char* symbol, void** pfn,
                                                                         int cudaVersion, cuuint64_t flags) {
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result = simgpu::get_proc_address(symbol, pfn, cudaVersion, flags, status);
  if (result != CUDA_SUCCESS) return result;
  return status == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

__attribute__((visibility("default"))) CUresult CUDAAPI cuGetProcAddress_v2(
    const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags, CUdriverProcAddressQueryResult* symbolStatus) {
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result = simgpu::get_proc_address(symbol, pfn, cudaVersion, flags, status);
  if (result == CUDA_SUCCESS && symbolStatus != nullptr) *symbolStatus = status;
  return result;
}

}  // extern "C"
