// The tables behind binaries.h. Called at start-up by nvcc's registration code and then by every launch, on any thread.
#include "binaries.h"

#include <vector>

#include "context.h"

namespace simgpu {

CUresult Binary::library(const Driver& table, CUlibrary& library) {
  std::scoped_lock lock(mutex_);
  CUresult result = CUDA_SUCCESS;
  if (library_ == nullptr) {
    result = table.cuLibraryLoadData(&library_, image_, nullptr, nullptr, 0, nullptr, nullptr, 0);
  }
  library = library_;
  return result;
}

void Binary::unload(const Driver& table) {
  std::scoped_lock lock(mutex_);
  if (library_ != nullptr) {
    table.cuLibraryUnload(library_);
    library_ = nullptr;
  }
}

Binary* Binaries::add(const void* image) {
  auto binary = std::make_shared<Binary>(image);
  Binary* handle = binary.get();
  std::unique_lock lock(mutex_);
  binaries_.emplace(handle, std::move(binary));
  return handle;
}

void Binaries::remove(Binary* binary) {
  std::shared_ptr<Binary> removed;
  {
    std::unique_lock lock(mutex_);
    const auto found = binaries_.find(binary);
    if (found == binaries_.end()) {
      return;
    }
    removed = found->second;
    binaries_.erase(found);
    std::erase_if(functions_, [&](const auto& entry) { return entry.second->binary == removed; });
    std::erase_if(variables_, [&](const auto& entry) { return entry.second->binary == removed; });
  }
  const Driver* table = nullptr;
  if (acquire_driver(table) == cudaSuccess) {
    removed->unload(*table);
  }
}

std::shared_ptr<Binary> Binaries::find(Binary* binary) const {
  const auto found = binaries_.find(binary);
  return found != binaries_.end() ? found->second : nullptr;
}

void Binaries::add_function(Binary* binary, const void* host, const char* name) {
  auto function = std::make_shared<Function>();
  function->name = name;
  std::unique_lock lock(mutex_);
  function->binary = find(binary);
  if (function->binary != nullptr) {
    functions_.insert_or_assign(host, std::move(function));
  }
}

void Binaries::add_variable(Binary* binary, const void* host, const char* name, size_t size) {
  auto variable = std::make_shared<Variable>();
  variable->name = name;
  variable->size = size;
  std::unique_lock lock(mutex_);
  variable->binary = find(binary);
  if (variable->binary != nullptr) {
    variables_.insert_or_assign(host, std::move(variable));
  }
}

void Binaries::add_managed_variable(Binary* binary, void** host, const char* name, size_t size) {
  add_variable(binary, host, name, size);
  std::unique_lock lock(mutex_);
  const auto found = variables_.find(host);
  if (found != variables_.end()) {
    found->second->managed = true;
  }
}

cudaError_t Binaries::initialise_managed(const Driver& table, Binary* binary) {
  std::vector<const void*> hosts;
  {
    std::shared_lock lock(mutex_);
    for (const auto& [host, variable] : variables_) {
      if (variable->managed && variable->binary.get() == binary) {
        hosts.push_back(host);
      }
    }
  }
  for (const void* host : hosts) {
    CUdeviceptr address = 0;
    size_t size = 0;
    const cudaError_t error = variable(table, host, address, size);
    if (error != cudaSuccess) {
      return error;
    }
    *static_cast<void**>(const_cast<void*>(host)) = host_pointer(address);
  }
  return cudaSuccess;
}

cudaError_t Binaries::kernel(const Driver& table, const void* function, CUkernel& kernel) {
  std::shared_ptr<Function> entry;
  {
    std::shared_lock lock(mutex_);
    if (const auto found = functions_.find(function); found != functions_.end()) {
      kernel = found->second->kernel.load(std::memory_order_acquire);
      if (kernel != nullptr) {
        return cudaSuccess;
      }
      entry = found->second;
    } else if (const auto handle = handles_.find(function); handle != handles_.end()) {
      kernel = handle->second;
      return cudaSuccess;
    }
  }
  if (entry == nullptr) {
    return cudaErrorInvalidDeviceFunction;
  }
  CUlibrary library = nullptr;
  CUresult result = entry->binary->library(table, library);
  if (result == CUDA_SUCCESS) {
    result = table.cuLibraryGetKernel(&kernel, library, entry->name.c_str());
  }
  if (result != CUDA_SUCCESS) {
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : to_runtime(result);
  }
  entry->kernel.store(kernel, std::memory_order_release);
  remember(kernel, kernel);
  return cudaSuccess;
}

cudaError_t Binaries::name(const void* function, const char*& name) {
  std::shared_lock lock(mutex_);
  const auto found = functions_.find(function);
  if (found == functions_.end()) {
    return cudaErrorInvalidDeviceFunction;
  }
  name = found->second->name.c_str();
  return cudaSuccess;
}

// The simulated driver cannot read the sizes of variables from device code, which the registration knows: where the
// driver has no such variable, plain zeroed memory of that size stands for it.
cudaError_t Binaries::variable(const Driver& table, const void* host, CUdeviceptr& address, size_t& size) {
  std::shared_ptr<Variable> entry;
  {
    std::shared_lock lock(mutex_);
    const auto found = variables_.find(host);
    if (found == variables_.end()) {
      return cudaErrorInvalidSymbol;
    }
    entry = found->second;
  }
  std::scoped_lock lock(variable_mutex_);
  if (entry->address == 0) {
    CUlibrary library = nullptr;
    CUresult result = entry->binary->library(table, library);
    if (result == CUDA_SUCCESS) {
      const auto& get = entry->managed ? table.cuLibraryGetManaged : table.cuLibraryGetGlobal;
      size_t driver_size = 0;
      result = get(&entry->address, &driver_size, library, entry->name.c_str());
    }
    if (result != CUDA_SUCCESS) {
      result = entry->managed ? table.cuMemAllocManaged(&entry->address, entry->size, CU_MEM_ATTACH_GLOBAL)
                              : table.cuMemAlloc(&entry->address, entry->size);
      if (result == CUDA_SUCCESS) {
        result = table.cuMemsetD8[legacy](entry->address, 0, entry->size);
      }
    }
    if (result != CUDA_SUCCESS) {
      entry->address = 0;
      return to_runtime(result);
    }
  }
  address = entry->address;
  size = entry->size;
  return cudaSuccess;
}

const void* Binaries::host_function(const void* handle) {
  std::shared_lock lock(mutex_);
  const auto known = handles_.find(handle);
  for (const auto& [host, function] : functions_) {
    if (known != handles_.end() && function->kernel.load(std::memory_order_relaxed) == known->second) {
      return host;
    }
  }
  return handle;
}

void Binaries::remember(const void* handle, CUkernel kernel) {
  std::unique_lock lock(mutex_);
  handles_.insert_or_assign(handle, kernel);
}

void Binaries::forget_addresses() {
  std::shared_lock lock(mutex_);
  std::scoped_lock variable_lock(variable_mutex_);
  for (const auto& [host, variable] : variables_) {
    variable->address = 0;
  }
}

// Allocated once and never freed: static destructors of the program still unregister their binaries.
Binaries& binaries() {
  static auto* const instance = new Binaries;
  return *instance;
}

}  // namespace simgpu
