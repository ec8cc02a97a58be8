// Modules, libraries, functions and kernels as the driver API knows them. The simulator cannot run device code: of an
// image it reads the names of the kernels. Handles live in slabs, so bad ones are recognised. Host threads, without the
// engine's lock.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "engine/host_kernels.h"
#include "engine/objects.h"
#include "modules/image_names.h"

namespace simgpu {

// Common to a function and the kernel it comes from.
class KernelState {
 public:
  explicit KernelState(const KernelImage* kernel_image) : image(kernel_image) {}

  // Loads the code on the device unless it is there: waits as hardware does. `call` is what the application called.
  void load(Device& device, const char* call);
  [[nodiscard]] bool is_loaded(const Device& device) const;
  [[nodiscard]] int max_threads_per_block() const;
  CUresult get(CUfunction_attribute attribute, int& value) const;
  CUresult set(CUfunction_attribute attribute, int value);
  CUresult parameter(std::size_t index, std::size_t& offset, std::size_t& size) const;

  const KernelImage* const image;

 private:
  static constexpr int attributes = CU_FUNC_ATTRIBUTE_MAX;
  std::atomic<std::uint32_t> loaded_{0};  // a bit for each device
  std::atomic<int> max_dynamic_shared_{-1};
  std::atomic<int> set_[attributes] = {};  // the plain ones among the attributes that can be set
};

struct Module;
struct Library;

struct Function {
  Function(Module* in, std::shared_ptr<KernelState> what) : module(in), state(std::move(what)) {}
  Module* const module;
  const std::shared_ptr<KernelState> state;
};

struct Kernel {
  Kernel(Library* in, std::shared_ptr<KernelState> what) : library(in), state(std::move(what)) {}
  Library* const library;
  const std::shared_ptr<KernelState> state;
};

// Those of an image; nullptr: they cannot be read, and there is one of every name.
using NamesOfImage = std::shared_ptr<const KernelNames>;

struct Module {
  Context* context = nullptr;
  NamesOfImage names;
  Library* library = nullptr;  // null: loaded as a module
  std::mutex mutex;
  std::map<std::string, Function*, std::less<>> functions;
};

struct Library {
  NamesOfImage names;
  std::mutex mutex;
  std::map<std::string, Kernel*, std::less<>> kernels;
  std::map<Context*, Module*> modules;
};

// CUDA_SUCCESS for a fat binary (also in the wrapper that nvcc embeds), a cubin or PTX.
CUresult read_image(const void* image, NamesOfImage& names);
CUresult read_image_file(const char* path, NamesOfImage& names);
bool has_kernel(const NamesOfImage& names, std::string_view name);

Module* create_module(Context& context, Library* library, NamesOfImage names);
void destroy_module(Module& module);
// The function of that name, made when it is asked for the first time; null when there are too many.
Function* function_of(Module& module, std::string_view name, std::shared_ptr<KernelState> state);
// The module of a library in a context, and of a kernel the function in a context.
Module* module_of(Library& library, Context& context);
Function* function_of(Kernel& kernel, Context& context);
void release_context_modules(Context& context);

// A CUfunction, or a CUkernel cast to one; null for anything else.
std::shared_ptr<KernelState> state_of(CUfunction handle);

}  // namespace simgpu
