// The fat binaries that this process has registered, their kernels and variables, and the handles that were given out
// for them. Filled by nvcc's start-up code before main, possibly from several threads (dlopen), read by every launch.
// Never destroyed. No driver call may be made under the table's lock: a driver call can wait for the device, and others
// must still be able to launch.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "driver.h"

namespace simgpu {

// One __cudaRegisterFatBinary; becomes a library of the driver when its first kernel or variable is needed.
class Binary {
 public:
  explicit Binary(const void* image) : image_(image) {}
  CUresult library(const Driver& table, CUlibrary& library);
  void unload(const Driver& table);

 private:
  const void* image_;
  std::mutex mutex_;
  CUlibrary library_ = nullptr;
};

class Binaries {
 public:
  Binary* add(const void* image);
  // Forgets a binary with all its kernels and variables, and unloads it where that is still possible.
  void remove(Binary* binary);

  void add_function(Binary* binary, const void* host, const char* name);
  void add_variable(Binary* binary, const void* host, const char* name, size_t size);
  void add_managed_variable(Binary* binary, void** host, const char* name, size_t size);
  // Points every managed variable of the binary at its memory.
  cudaError_t initialise_managed(const Driver& table, Binary* binary);

  // The kernel behind what a program passes as a function: the address of a host stub or a handle that was given out.
  cudaError_t kernel(const Driver& table, const void* function, CUkernel& kernel);
  cudaError_t name(const void* function, const char*& name);
  cudaError_t variable(const Driver& table, const void* host, CUdeviceptr& address, size_t& size);
  // The host stub of a kernel or function, or the handle itself when it has none.
  const void* host_function(const void* handle);

  void remember(const void* handle, CUkernel kernel);
  void forget_addresses();

 private:
  struct Function {
    std::shared_ptr<Binary> binary;
    std::string name;
    std::atomic<CUkernel> kernel{nullptr};
  };
  struct Variable {
    std::shared_ptr<Binary> binary;
    std::string name;
    size_t size = 0;
    bool managed = false;
    CUdeviceptr address = 0;
  };

  std::shared_ptr<Binary> find(Binary* binary) const;

  std::shared_mutex mutex_;
  std::unordered_map<Binary*, std::shared_ptr<Binary>> binaries_;
  std::unordered_map<const void*, std::shared_ptr<Function>> functions_;
  std::unordered_map<const void*, std::shared_ptr<Variable>> variables_;
  std::unordered_map<const void*, CUkernel> handles_;
  std::mutex variable_mutex_;
};

Binaries& binaries();

}  // namespace simgpu
