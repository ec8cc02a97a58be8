// Modules, libraries and their functions; see modules.h for threads and locks.
#include "modules/modules.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

#include "engine/capture_hooks.h"
#include "engine/engine.h"
#include "engine/slab.h"
#include "memory/allocation.h"

namespace simgpu {
namespace {

constexpr std::uint32_t wrapper_magic = 0x466243b1;
constexpr std::uint32_t fat_binary_magic = 0xba55ed50;
constexpr std::string_view elf_magic = "\177ELF";

// Modules by context, so that they go with it.
struct Loaded {
  std::mutex mutex;
  std::map<Context*, std::set<Module*>> modules;
};

Loaded& loaded() {
  static auto* const instance = new Loaded;
  return *instance;
}

std::size_t align(std::size_t offset, std::size_t size) {
  const std::size_t lowest_bit = size & (~size + 1);
  const std::size_t alignment = size == 16 ? 16 : std::clamp<std::size_t>(lowest_bit, 1, 8);
  return (offset + alignment - 1) / alignment * alignment;
}

// PTX is text: comments and white space, then its .version.
bool is_ptx(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return false;
  text.remove_prefix(begin);
  return text.starts_with("//") || text.starts_with("/*") || text.starts_with(".version");
}

}  // namespace

void KernelState::load(Device& device, const char* call) {
  if (is_loaded(device)) return;
  // With eager loading it came with its module or library, which has waited.
  if (!engine().settings().eager_loading)
    engine().wait_for_idle_device(device, call, Drain::spinning_kernels, Held::all_launches);
  loaded_.fetch_or(1U << device.ordinal, std::memory_order_release);
}

bool KernelState::is_loaded(const Device& device) const {
  return (loaded_.load(std::memory_order_acquire) >> device.ordinal & 1U) != 0;
}

int KernelState::max_threads_per_block() const {
  const uint32_t by_registers = constants::registers_per_multiprocessor / image->registers_per_thread() / 32 * 32;
  return static_cast<int>(std::min(1024U, by_registers));
}

CUresult KernelState::get(CUfunction_attribute attribute, int& value) const {
  const int static_shared = static_cast<int>(image->static_shared_bytes());
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      value = max_threads_per_block();
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      value = static_shared;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      value = static_cast<int>(image->registers_per_thread());
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      value = 90;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      value = max_dynamic_shared_.load(std::memory_order_relaxed);
      if (value < 0) value = std::max(0, int{constants::shared_per_block} - static_shared);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      // Stored one up, because it starts as -1: no preference.
      value = set_[attribute].load(std::memory_order_relaxed) - 1;
      return CUDA_SUCCESS;
    default:
      break;
  }
  if (attribute < 0 || attribute >= attributes) return CUDA_ERROR_INVALID_VALUE;
  value = set_[attribute].load(std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

CUresult KernelState::set(CUfunction_attribute attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const int most = int{constants::shared_per_block_opt_in} - static_cast<int>(image->static_shared_bytes());
      if (value < 0 || value > most) return CUDA_ERROR_INVALID_VALUE;
      max_dynamic_shared_.store(value, std::memory_order_relaxed);
      return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      set_[attribute].store(value + 1, std::memory_order_relaxed);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      if (value < 0) return CUDA_ERROR_INVALID_VALUE;
      set_[attribute].store(value, std::memory_order_relaxed);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult KernelState::parameter(std::size_t index, std::size_t& offset, std::size_t& size) const {
  const simgpu_kernel* const known = image->host.load(std::memory_order_acquire);
  if (known == nullptr || index >= known->parameter_count) return CUDA_ERROR_INVALID_VALUE;
  offset = 0;
  for (std::size_t each = 0; each <= index; ++each) {
    size = known->parameter_sizes[each];
    offset = align(offset, size);
    if (each < index) offset += size;
  }
  return CUDA_SUCCESS;
}

CUresult read_image(const void* image, NamesOfImage& names) {
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof(magic));
  const bool is_binary = magic == wrapper_magic || magic == fat_binary_magic ||
                         std::memcmp(image, elf_magic.data(), elf_magic.size()) == 0;
  if (!is_binary && !is_ptx(static_cast<const char*>(image))) return CUDA_ERROR_INVALID_IMAGE;
  if (auto found = kernel_names_in(image)) names = std::make_shared<const KernelNames>(std::move(*found));
  return CUDA_SUCCESS;
}

CUresult read_image_file(const char* path, NamesOfImage& names) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  content.resize(content.size() + 64);  // more than any header that is looked at
  return read_image(content.data(), names);
}

bool has_kernel(const NamesOfImage& names, std::string_view name) {
  return names == nullptr || names->find(name) != names->end();
}

Module* create_module(Context& context, Library* library, NamesOfImage names) {
  Module* const module = slab<Module>.create();
  if (module == nullptr) return nullptr;
  module->context = &context;
  module->names = std::move(names);
  module->library = library;
  const std::lock_guard lock(loaded().mutex);
  loaded().modules[&context].insert(module);
  return module;
}

void destroy_module(Module& module) {
  if (!slab<Module>.retire(&module)) return;
  {
    const std::lock_guard lock(loaded().mutex);
    loaded().modules[module.context].erase(&module);
  }
  for (const auto& [name, function] : module.functions)
    if (slab<Function>.retire(function)) slab<Function>.release(function);
  slab<Module>.release(&module);
}

Function* function_of(Module& module, std::string_view name, std::shared_ptr<KernelState> state) {
  const std::lock_guard lock(module.mutex);
  const auto found = module.functions.find(name);
  if (found != module.functions.end()) return found->second;
  if (state == nullptr) state = std::make_shared<KernelState>(kernel_image(name));
  Function* const function = slab<Function>.create(&module, std::move(state));
  if (function != nullptr) module.functions.emplace(name, function);
  return function;
}

Module* module_of(Library& library, Context& context) {
  const std::lock_guard lock(library.mutex);
  Module*& module = library.modules[&context];
  if (slab<Module>.find(module) == nullptr) module = create_module(context, &library, library.names);
  return module;
}

Function* function_of(Kernel& kernel, Context& context) {
  Module* const module = module_of(*kernel.library, context);
  return module == nullptr ? nullptr : function_of(*module, kernel.state->image->name, kernel.state);
}

void release_context_modules(Context& context) {
  std::set<Module*> modules;
  {
    const std::lock_guard lock(loaded().mutex);
    modules.swap(loaded().modules[&context]);
  }
  for (Module* module : modules) {
    if (module->library != nullptr) {
      const std::lock_guard lock(module->library->mutex);
      module->library->modules.erase(&context);
    }
    destroy_module(*module);
  }
}

std::shared_ptr<KernelState> state_of(CUfunction handle) {
  if (const Function* const function = slab<Function>.find(handle)) return function->state;
  if (const Kernel* const kernel = slab<Kernel>.find(handle)) return kernel->state;
  return nullptr;
}

CUresult launchable_function(CUfunction handle, Device& device, LaunchableFunction& out) {
  const std::shared_ptr<KernelState> state = state_of(handle);
  if (state == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  state->load(device, "a first launch");
  int shared = 0;
  state->get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared);
  out.image = state->image;
  out.max_dynamic_shared_bytes = static_cast<std::uint32_t>(shared);
  out.max_threads_per_block = static_cast<std::uint32_t>(state->max_threads_per_block());
  return CUDA_SUCCESS;
}

void release_context_resources(Context& context) {
  release_context_modules(context);
  release_context_memory(context);
}

}  // namespace simgpu
