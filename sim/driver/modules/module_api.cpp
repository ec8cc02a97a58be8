// The driver API for modules and functions. Host threads. Loading waits next to a spinning kernel, as on hardware: a
// module when it is loaded, a function when its handle is asked for (lazy loading, the default) or with its module
// (eager).
#include "api/api.h"
#include "engine/slab.h"
#include "modules/modules.h"

namespace simgpu {
namespace {

// `read`: puts the names of the kernels there.
template <class Read>
CUresult load_module(CUmodule* module, Read read, const char* call) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NamesOfImage names;
  if (const CUresult result = read(names); result != CUDA_SUCCESS) return result;
  engine().wait_for_idle_device(*context->device, call, Drain::spinning_kernels, Held::all_launches);
  Module* const created = create_module(*context, nullptr, std::move(names));
  if (created == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *module = reinterpret_cast<CUmodule>(created);
  return CUDA_SUCCESS;
}

CUresult load_data(CUmodule* module, const void* image, const char* call) {
  return load_module(
      module, [image](NamesOfImage& names) { return read_image(image, names); }, call);
}

CUresult find_module(CUmodule handle, Module*& module) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  module = slab<Module>.find(handle);
  return module == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult find_state(CUfunction handle, std::shared_ptr<KernelState>& state) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  state = state_of(handle);
  return state == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

}  // namespace
}  // namespace simgpu

using namespace simgpu;

SIMGPU_API cuModuleLoad(CUmodule* module, const char* fname) {
  return load_module(
      module, [fname](NamesOfImage& names) { return read_image_file(fname, names); }, "cuModuleLoad");
}
SIMGPU_API cuModuleLoadData(CUmodule* module, const void* image) {
  return load_data(module, image, "cuModuleLoadData");
}
SIMGPU_API cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions, CUjit_option* options,
                              void** optionValues) {
  if (numOptions != 0 && (options == nullptr || optionValues == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  return load_data(module, image, "cuModuleLoadDataEx");
}
SIMGPU_API cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) {
  return load_data(module, fatCubin, "cuModuleLoadFatBinary");
}

SIMGPU_API cuModuleUnload(CUmodule hmod) {
  Module* module = nullptr;
  if (const CUresult result = find_module(hmod, module); result != CUDA_SUCCESS) return result;
  if (module->library != nullptr) return CUDA_ERROR_NOT_PERMITTED;
  engine().wait_for_idle_device(*module->context->device, "cuModuleUnload", Drain::all_work);
  destroy_module(*module);
  return CUDA_SUCCESS;
}

SIMGPU_API cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  Module* module = nullptr;
  if (const CUresult result = find_module(hmod, module); result != CUDA_SUCCESS) return result;
  if (hfunc == nullptr || name == nullptr || *name == '\0') return CUDA_ERROR_INVALID_VALUE;
  if (!has_kernel(module->names, name)) return CUDA_ERROR_NOT_FOUND;
  Function* const function = function_of(*module, name, nullptr);
  if (function == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  function->state->load(*module->context->device, "cuModuleGetFunction");
  *hfunc = reinterpret_cast<CUfunction>(function);
  return CUDA_SUCCESS;
}

// Which variables an image has cannot be read from it, and nobody registers them.
SIMGPU_API cuModuleGetGlobal_v2(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod, const char* name) {
  Module* module = nullptr;
  if (const CUresult result = find_module(hmod, module); result != CUDA_SUCCESS) return result;
  if (name == nullptr || (dptr == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_ERROR_NOT_FOUND;
}

SIMGPU_API cuModuleGetFunctionCount(unsigned int* count, CUmodule mod) {
  Module* module = nullptr;
  if (const CUresult result = find_module(mod, module); result != CUDA_SUCCESS) return result;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(module->mutex);
  *count = static_cast<unsigned>(module->names != nullptr ? module->names->size() : module->functions.size());
  return CUDA_SUCCESS;
}

SIMGPU_API cuModuleEnumerateFunctions(CUfunction* functions, unsigned int numFunctions, CUmodule mod) {
  Module* module = nullptr;
  if (const CUresult result = find_module(mod, module); result != CUDA_SUCCESS) return result;
  if (functions == nullptr || numFunctions == 0) return CUDA_ERROR_INVALID_VALUE;
  if (module->names != nullptr)
    for (const std::string& name : *module->names)
      if (function_of(*module, name, nullptr) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::lock_guard lock(module->mutex);
  unsigned index = 0;
  for (const auto& [name, function] : module->functions)
    if (index < numFunctions) functions[index++] = reinterpret_cast<CUfunction>(function);
  return CUDA_SUCCESS;
}

SIMGPU_API cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = engine().settings().eager_loading ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

SIMGPU_API cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const Function* const function = slab<Function>.find(hfunc);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (hmod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *hmod = reinterpret_cast<CUmodule>(function->module);
  return CUDA_SUCCESS;
}

SIMGPU_API cuFuncGetName(const char** name, CUfunction hfunc) {
  std::shared_ptr<KernelState> state;
  if (const CUresult result = find_state(hfunc, state); result != CUDA_SUCCESS) return result;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = state->image->name.c_str();
  return CUDA_SUCCESS;
}

SIMGPU_API cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  std::shared_ptr<KernelState> state;
  if (const CUresult result = find_state(hfunc, state); result != CUDA_SUCCESS) return result;
  return pi == nullptr ? CUDA_ERROR_INVALID_VALUE : state->get(attrib, *pi);
}

SIMGPU_API cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  std::shared_ptr<KernelState> state;
  if (const CUresult result = find_state(hfunc, state); result != CUDA_SUCCESS) return result;
  return state->set(attrib, value);
}

// A preference that the simulated device has no use for.
SIMGPU_API cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config) {
  std::shared_ptr<KernelState> state;
  if (const CUresult result = find_state(hfunc, state); result != CUDA_SUCCESS) return result;
  return config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

SIMGPU_API cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  std::shared_ptr<KernelState> state;
  if (const CUresult result = find_state(func, state); result != CUDA_SUCCESS) return result;
  std::size_t offset = 0;
  std::size_t size = 0;
  if (paramOffset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = state->parameter(paramIndex, offset, size); result != CUDA_SUCCESS) return result;
  *paramOffset = offset;
  if (paramSize != nullptr) *paramSize = size;
  return CUDA_SUCCESS;
}

SIMGPU_API cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  std::shared_ptr<KernelState> found;
  if (const CUresult result = find_state(function, found); result != CUDA_SUCCESS) return result;
  Device* device = nullptr;
  if (const CUresult result = current_device(device); result != CUDA_SUCCESS) return result;
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool loaded = engine().settings().eager_loading || found->is_loaded(*device);
  *state = loaded ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
  return CUDA_SUCCESS;
}

SIMGPU_API cuFuncLoad(CUfunction function) {
  std::shared_ptr<KernelState> state;
  if (const CUresult result = find_state(function, state); result != CUDA_SUCCESS) return result;
  Device* device = nullptr;
  if (const CUresult result = current_device(device); result != CUDA_SUCCESS) return result;
  state->load(*device, "cuFuncLoad");
  return CUDA_SUCCESS;
}
