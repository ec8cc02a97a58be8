// The driver API for libraries and their kernels, which belong to no context. Host threads. Loading a library does not
// wait; a kernel is loaded on a device when its function is asked for or at its first launch.

#include "api/api.h"
#include "engine/slab.h"
#include "modules/modules.h"

namespace simgpu {
namespace {

// `read`: puts the names of the kernels there.
template <class Read>
CUresult load_library(CUlibrary* library, Read read) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NamesOfImage names;
  if (const CUresult result = read(names); result != CUDA_SUCCESS) return result;
  for (const auto& device : engine().devices())
    if (engine().settings().eager_loading)
      engine().wait_for_idle_device(*device, "cuLibraryLoadData", Drain::spinning_kernels);
  Library* const created = slab<Library>.create();
  if (created == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  created->names = std::move(names);
  *library = reinterpret_cast<CUlibrary>(created);
  return CUDA_SUCCESS;
}

bool options_missing(unsigned count, const void* options, void* const* values) {
  return count != 0 && (options == nullptr || values == nullptr);
}

CUresult find_library(CUlibrary handle, Library*& library) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  library = slab<Library>.find(handle);
  return library == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

// Made when it is asked for the first time; null when there are too many. With the library's lock.
Kernel* kernel_of(Library& library, const std::string& name) {
  Kernel*& kernel = library.kernels[name];
  if (kernel == nullptr) kernel = slab<Kernel>.create(&library, std::make_shared<KernelState>(kernel_image(name)));
  if (kernel == nullptr) library.kernels.erase(name);
  return kernel;
}

CUresult find_kernel(CUkernel handle, Kernel*& kernel) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  kernel = slab<Kernel>.find(handle);
  return kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

}  // namespace
}  // namespace simgpu

using namespace simgpu;

SIMGPU_API cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jitOptions, void** jitOptionsValues,
                             unsigned int numJitOptions, CUlibraryOption* libraryOptions, void** libraryOptionValues,
                             unsigned int numLibraryOptions) {
  if (options_missing(numJitOptions, jitOptions, jitOptionsValues)) return CUDA_ERROR_INVALID_VALUE;
  if (options_missing(numLibraryOptions, libraryOptions, libraryOptionValues)) return CUDA_ERROR_INVALID_VALUE;
  return load_library(library, [code](NamesOfImage& names) { return read_image(code, names); });
}

SIMGPU_API cuLibraryLoadFromFile(CUlibrary* library, const char* fileName, CUjit_option* jitOptions,
                                 void** jitOptionsValues, unsigned int numJitOptions, CUlibraryOption* libraryOptions,
                                 void** libraryOptionValues, unsigned int numLibraryOptions) {
  if (options_missing(numJitOptions, jitOptions, jitOptionsValues)) return CUDA_ERROR_INVALID_VALUE;
  if (options_missing(numLibraryOptions, libraryOptions, libraryOptionValues)) return CUDA_ERROR_INVALID_VALUE;
  return load_library(library, [fileName](NamesOfImage& names) { return read_image_file(fileName, names); });
}

SIMGPU_API cuLibraryUnload(CUlibrary library) {
  Library* found = nullptr;
  if (const CUresult result = find_library(library, found); result != CUDA_SUCCESS) return result;
  for (const auto& device : engine().devices())
    engine().wait_for_idle_device(*device, "cuLibraryUnload", Drain::all_work);
  if (!slab<Library>.retire(found)) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& [context, module] : found->modules)
    if (slab<Module>.find(module) != nullptr) destroy_module(*module);
  for (const auto& [name, kernel] : found->kernels)
    if (slab<Kernel>.retire(kernel)) slab<Kernel>.release(kernel);
  slab<Library>.release(found);
  return CUDA_SUCCESS;
}

SIMGPU_API cuLibraryGetKernel(CUkernel* pKernel, CUlibrary library, const char* name) {
  Library* found = nullptr;
  if (const CUresult result = find_library(library, found); result != CUDA_SUCCESS) return result;
  if (pKernel == nullptr || name == nullptr || *name == '\0') return CUDA_ERROR_INVALID_VALUE;
  if (!has_kernel(found->names, name)) return CUDA_ERROR_NOT_FOUND;
  const std::lock_guard lock(found->mutex);
  Kernel* const kernel = kernel_of(*found, name);
  if (kernel == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *pKernel = reinterpret_cast<CUkernel>(kernel);
  return CUDA_SUCCESS;
}

SIMGPU_API cuLibraryGetKernelCount(unsigned int* count, CUlibrary lib) {
  Library* found = nullptr;
  if (const CUresult result = find_library(lib, found); result != CUDA_SUCCESS) return result;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(found->mutex);
  *count = static_cast<unsigned>(found->names != nullptr ? found->names->size() : found->kernels.size());
  return CUDA_SUCCESS;
}

SIMGPU_API cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int numKernels, CUlibrary lib) {
  Library* found = nullptr;
  if (const CUresult result = find_library(lib, found); result != CUDA_SUCCESS) return result;
  if (kernels == nullptr || numKernels == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(found->mutex);
  if (found->names != nullptr)
    for (const std::string& name : *found->names)
      if (kernel_of(*found, name) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  unsigned index = 0;
  for (const auto& [name, kernel] : found->kernels)
    if (index < numKernels) kernels[index++] = reinterpret_cast<CUkernel>(kernel);
  return CUDA_SUCCESS;
}

SIMGPU_API cuLibraryGetModule(CUmodule* pMod, CUlibrary library) {
  Library* found = nullptr;
  if (const CUresult result = find_library(library, found); result != CUDA_SUCCESS) return result;
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (pMod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  engine().wait_for_idle_device(*context->device, "cuLibraryGetModule", Drain::spinning_kernels);
  Module* const module = module_of(*found, *context);
  if (module == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *pMod = reinterpret_cast<CUmodule>(module);
  return CUDA_SUCCESS;
}

// As for modules: which variables there are cannot be known.
SIMGPU_API cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  Library* found = nullptr;
  if (const CUresult result = find_library(library, found); result != CUDA_SUCCESS) return result;
  if (name == nullptr || (dptr == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_ERROR_NOT_FOUND;
}

SIMGPU_API cuLibraryGetManaged(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  return cuLibraryGetGlobal(dptr, bytes, library, name);
}

SIMGPU_API cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
  Kernel* found = nullptr;
  if (const CUresult result = find_kernel(kernel, found); result != CUDA_SUCCESS) return result;
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (pFunc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Function* const function = function_of(*found, *context);
  if (function == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  found->state->load(*context->device, "cuKernelGetFunction");
  *pFunc = reinterpret_cast<CUfunction>(function);
  return CUDA_SUCCESS;
}

SIMGPU_API cuKernelGetLibrary(CUlibrary* pLib, CUkernel kernel) {
  Kernel* found = nullptr;
  if (const CUresult result = find_kernel(kernel, found); result != CUDA_SUCCESS) return result;
  if (pLib == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pLib = reinterpret_cast<CUlibrary>(found->library);
  return CUDA_SUCCESS;
}

SIMGPU_API cuKernelGetName(const char** name, CUkernel hfunc) {
  Kernel* found = nullptr;
  if (const CUresult result = find_kernel(hfunc, found); result != CUDA_SUCCESS) return result;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = found->state->image->name.c_str();
  return CUDA_SUCCESS;
}

SIMGPU_API cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev) {
  Kernel* found = nullptr;
  if (const CUresult result = find_kernel(kernel, found); result != CUDA_SUCCESS) return result;
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  return pi == nullptr ? CUDA_ERROR_INVALID_VALUE : found->state->get(attrib, *pi);
}

SIMGPU_API cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev) {
  Kernel* found = nullptr;
  if (const CUresult result = find_kernel(kernel, found); result != CUDA_SUCCESS) return result;
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  return found->state->set(attrib, val);
}

SIMGPU_API cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev) {
  Kernel* found = nullptr;
  if (const CUresult result = find_kernel(kernel, found); result != CUDA_SUCCESS) return result;
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  return config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

SIMGPU_API cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  Kernel* found = nullptr;
  if (const CUresult result = find_kernel(kernel, found); result != CUDA_SUCCESS) return result;
  return cuFuncGetParamInfo(reinterpret_cast<CUfunction>(kernel), paramIndex, paramOffset, paramSize);
}
