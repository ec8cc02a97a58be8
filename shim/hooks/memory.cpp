// The hooks of calls of the CUDA driver that take device memory: what fails because Weft holds some of it is tried once
// more when that has been given back. Any thread of the main job, and NCCL's. Arguments and results are passed as they
// are. The look-up of a kernel by its name is seen here, too (main_job/unseen_nccl.h). Launches take memory too, in
// rare cases; their hooks count them.
#include "shim/main_job/memory_rescue.h"
#include "shim/main_job/streams.h"
#include "shim/main_job/unseen_nccl.h"
#include "shim/routing/real.h"

using namespace weft;

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  const auto call = real<Symbol::cuMemAlloc_v2>();
  return with_rescue(current_device, bytes, [=] { return call(pointer, bytes); });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height, unsigned int element) {
  const auto call = real<Symbol::cuMemAllocPitch_v2>();
  return with_rescue(current_device, width * height, [=] { return call(pointer, pitch, width, height, element); });
}

CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned int flags) {
  const auto call = real<Symbol::cuMemAllocManaged>();
  return with_rescue(current_device, bytes, [=] { return call(pointer, bytes, flags); });
}

CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  const auto call = real<Symbol::cuMemAllocAsync>();
  return with_rescue([=] { return device_of(stream, false); }, bytes, [=] { return call(pointer, bytes, stream); });
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  const auto call = real<Symbol::cuMemAllocAsync_ptsz>();
  return with_rescue([=] { return device_of(stream, true); }, bytes, [=] { return call(pointer, bytes, stream); });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool, CUstream stream) {
  const auto call = real<Symbol::cuMemAllocFromPoolAsync>();
  return with_rescue([=] { return device_of(stream, false); }, bytes,
                     [=] { return call(pointer, bytes, pool, stream); });
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool, CUstream stream) {
  const auto call = real<Symbol::cuMemAllocFromPoolAsync_ptsz>();
  return with_rescue([=] { return device_of(stream, true); }, bytes,
                     [=] { return call(pointer, bytes, pool, stream); });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  const auto call = real<Symbol::cuMemCreate>();
  if (properties == nullptr || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return call(handle, bytes, properties, flags);
  }
  return with_rescue([=] { return properties->location.id; }, bytes,
                     [=] { return call(handle, bytes, properties, flags); });
}

// Pages of device memory that describe other memory.

CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  const auto call = real<Symbol::cuMemMap>();
  return with_rescue(current_device, 0, [=] { return call(pointer, bytes, offset, handle, flags); });
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  const auto call = real<Symbol::cuMemSetAccess>();
  return with_rescue(current_device, 0, [=] { return call(pointer, bytes, access, count); });
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle* handle, const CUmulticastObjectProp* properties) {
  const auto call = real<Symbol::cuMulticastCreate>();
  return with_rescue(current_device, 0, [=] { return call(handle, properties); });
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle multicast, size_t multicast_offset,
                            CUmemGenericAllocationHandle memory, size_t offset, size_t bytes,
                            unsigned long long flags) {
  const auto call = real<Symbol::cuMulticastBindMem>();
  return with_rescue(current_device, 0,
                     [=] { return call(multicast, multicast_offset, memory, offset, bytes, flags); });
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle multicast, size_t offset, CUdeviceptr pointer, size_t bytes,
                             unsigned long long flags) {
  const auto call = real<Symbol::cuMulticastBindAddr>();
  return with_rescue(current_device, 0, [=] { return call(multicast, offset, pointer, bytes, flags); });
}

CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  const auto call = real<Symbol::cuMemHostAlloc>();
  return with_rescue(current_device, 0, [=] { return call(pointer, bytes, flags); });
}

CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) {
  const auto call = real<Symbol::cuMemAllocHost_v2>();
  return with_rescue(current_device, 0, [=] { return call(pointer, bytes); });
}

CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned int flags) {
  const auto call = real<Symbol::cuMemHostRegister_v2>();
  return with_rescue(current_device, 0, [=] { return call(pointer, bytes, flags); });
}

CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* description) {
  const auto call = real<Symbol::cuArrayCreate_v2>();
  return with_rescue(current_device, unknown_bytes, [=] { return call(array, description); });
}

CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* description) {
  const auto call = real<Symbol::cuArray3DCreate_v2>();
  return with_rescue(current_device, unknown_bytes, [=] { return call(array, description); });
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* description,
                                unsigned int levels) {
  const auto call = real<Symbol::cuMipmappedArrayCreate>();
  return with_rescue(current_device, unknown_bytes, [=] { return call(array, description, levels); });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  const auto call = real<Symbol::cuCtxSetLimit>();
  return with_rescue(current_device, unknown_bytes, [=] { return call(limit, value); });
}

// Code and graphs take device memory too. The first three may load code; NCCL asks for a function before each launch,
// so they are not counted.

CUresult cuFuncLoad(CUfunction function) {
  const auto call = real<Symbol::cuFuncLoad>();
  return with_rescue(current_device, 0, [=] { return call(function); });
}

// Kernels of an NCCL that is not hooked are known by their names.

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const auto call = real<Symbol::cuLibraryGetKernel>();
  const CUresult result = with_rescue(current_device, 0, [=] { return call(kernel, library, name); });
  if (result == CUDA_SUCCESS && learning()) note_kernel(*kernel, name, __builtin_return_address(0));
  return result;
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  const auto call = real<Symbol::cuKernelGetFunction>();
  const CUresult result = with_rescue(current_device, 0, [=] { return call(function, kernel); });
  if (result == CUDA_SUCCESS && learning()) note_function(kernel, *function);
  return result;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const auto call = real<Symbol::cuModuleGetFunction>();
  const CUresult result = with_rescue(current_device, 0, [=] { return call(function, module, name); });
  if (result == CUDA_SUCCESS && learning()) note_kernel(*function, name, __builtin_return_address(0));
  return result;
}

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  const auto call = real<Symbol::cuModuleLoad>();
  return with_rescue(current_device, unknown_bytes, [=] { return call(module, path); });
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const auto call = real<Symbol::cuModuleLoadData>();
  return with_rescue(current_device, unknown_bytes, [=] { return call(module, image); });
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int count, CUjit_option* options,
                            void** values) {
  const auto call = real<Symbol::cuModuleLoadDataEx>();
  return with_rescue(current_device, unknown_bytes, [=] { return call(module, image, count, options, values); });
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  const auto call = real<Symbol::cuModuleLoadFatBinary>();
  return with_rescue(current_device, unknown_bytes, [=] { return call(module, image); });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit, void** jit_values,
                           unsigned int jit_count, CUlibraryOption* options, void** values, unsigned int count) {
  const auto call = real<Symbol::cuLibraryLoadData>();
  return with_rescue(current_device, unknown_bytes,
                     [=] { return call(library, code, jit, jit_values, jit_count, options, values, count); });
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* jit, void** jit_values,
                               unsigned int jit_count, CUlibraryOption* options, void** values, unsigned int count) {
  const auto call = real<Symbol::cuLibraryLoadFromFile>();
  return with_rescue(current_device, unknown_bytes,
                     [=] { return call(library, path, jit, jit_values, jit_count, options, values, count); });
}

CUresult cuGraphUpload(CUgraphExec graph, CUstream stream) {
  const auto call = real<Symbol::cuGraphUpload>();
  return with_rescue([=] { return device_of(stream, false); }, unknown_bytes, [=] { return call(graph, stream); });
}

CUresult cuGraphUpload_ptsz(CUgraphExec graph, CUstream stream) {
  const auto call = real<Symbol::cuGraphUpload_ptsz>();
  return with_rescue([=] { return device_of(stream, true); }, unknown_bytes, [=] { return call(graph, stream); });
}

}  // extern "C"
