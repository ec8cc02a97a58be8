// The kernels by name: what a host-kernel library (SIMGPU_KERNELS) or the simulated NCCL has registered, and an entry
// for every other name that somebody asked for. Entries live as long as the process. Any thread; never calls into CUDA.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "simgpu/kernels.h"

namespace simgpu {

struct KernelImage {
  explicit KernelImage(std::string_view kernel_name) : name(kernel_name) {}
  const std::string name;
  std::atomic<const simgpu_kernel*> host{nullptr};  // null: nobody knows this kernel

  uint32_t registers_per_thread() const;
  uint32_t static_shared_bytes() const;
  bool spins() const;
};

// The entry of that name; made when there is none.
const KernelImage* kernel_image(std::string_view name);

// 0 on success. The list must stay alive; a name that is registered again takes the newer entry.
int register_host_kernels(const simgpu_kernel_list* list);

// Opens the libraries of SIMGPU_KERNELS; says on stderr which one cannot be used and why. Called once, by cuInit.
void load_host_kernel_libraries(const std::string& paths);

}  // namespace simgpu
