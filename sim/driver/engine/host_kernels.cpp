// The registry of kernels by name; see host_kernels.h.
#include "engine/host_kernels.h"

#include <dlfcn.h>

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>

namespace simgpu {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<KernelImage>, std::less<>> images;

  KernelImage& get(std::string_view name) {
    const auto found = images.find(name);
    if (found != images.end()) return *found->second;
    return *images.emplace(std::string(name), std::make_unique<KernelImage>(name)).first->second;
  }
};

// Never destroyed: threads may still launch while the process exits.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

bool usable(const simgpu_kernel& kernel) {
  return kernel.name != nullptr && kernel.struct_size >= sizeof(simgpu_kernel) &&
         (kernel.parameter_count == 0 || kernel.parameter_sizes != nullptr) &&
         (kernel.run == nullptr || kernel.step == nullptr);
}

void load_library(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "simgpu: host kernels cannot be loaded: %s\n", dlerror());
    return;
  }
  const auto table = reinterpret_cast<const simgpu_kernel_list* (*)()>(dlsym(library, "simgpu_kernel_table"));
  if (table == nullptr) {
    std::fprintf(stderr, "simgpu: %s exports no simgpu_kernel_table\n", path.c_str());
  } else if (register_host_kernels(table()) != 0) {
    std::fprintf(stderr, "simgpu: %s was built for another simulated GPU, or its table is not valid\n", path.c_str());
  }
}

}  // namespace

uint32_t KernelImage::registers_per_thread() const {
  const simgpu_kernel* kernel = host.load(std::memory_order_acquire);
  return kernel == nullptr || kernel->registers_per_thread == 0 ? 32 : kernel->registers_per_thread;
}

uint32_t KernelImage::static_shared_bytes() const {
  const simgpu_kernel* kernel = host.load(std::memory_order_acquire);
  return kernel == nullptr ? 0 : kernel->static_shared_bytes;
}

bool KernelImage::spins() const {
  const simgpu_kernel* kernel = host.load(std::memory_order_acquire);
  return kernel != nullptr && kernel->step != nullptr;
}

const KernelImage* kernel_image(std::string_view name) {
  const std::scoped_lock guard(registry().mutex);
  return &registry().get(name);
}

int register_host_kernels(const simgpu_kernel_list* list) {
  if (list == nullptr || list->struct_size < sizeof(simgpu_kernel_list)) return -1;
  for (uint32_t index = 0; index < list->count; ++index) {
    if (!usable(list->kernels[index])) return -1;
  }
  const std::scoped_lock guard(registry().mutex);
  for (uint32_t index = 0; index < list->count; ++index) {
    const simgpu_kernel& kernel = list->kernels[index];
    registry().get(kernel.name).host.store(&kernel, std::memory_order_release);
  }
  return 0;
}

void load_host_kernel_libraries(const std::string& paths) {
  std::size_t begin = 0;
  while (begin < paths.size()) {
    const std::size_t end = std::min(paths.find(':', begin), paths.size());
    if (end > begin) load_library(paths.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace simgpu
