// Limits device memory, as vGPU libraries do: answers dlsym by name with what it exports itself, answers
// cuGetProcAddress by name whatever version and flags are asked for, and gets at glibc's dlsym past everybody else.
// With LOST_ITS_PATH it looks every name of the driver up through dlsym(NULL, ...), as one does whose own path is not
// set: it then depends on what the whole program shows.
#include "interposer.h"

static void* driver_function(const char* name) {
  static void* driver;
  if (driver == NULL) driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NODELETE);
  return libc_dlsym()(driver, name);
}
#define REAL(name) ((__typeof__(&name))driver_function(#name))

static size_t limit(void) {
  const char* text = getenv("INTERPOSER_LIMIT_MIB");
  return (text == NULL ? (size_t)1 << 20 : (size_t)atol(text)) << 20;
}
static size_t used;

EXPORTED CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  count_call();
  if (__atomic_add_fetch(&used, bytes, __ATOMIC_RELAXED) > limit()) {
    __atomic_sub_fetch(&used, bytes, __ATOMIC_RELAXED);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return REAL(cuMemAlloc_v2)(address, bytes);
}
EXPORTED CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  const CUresult result = REAL(cuMemGetInfo_v2)(free_bytes, total);
  if (result == CUDA_SUCCESS && *total > limit()) *total = limit();
  if (result == CUDA_SUCCESS && *free_bytes > *total - used) *free_bytes = *total - used;
  return result;
}
EXPORTED CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return REAL(cuStreamCreate)(stream, flags);
}
EXPORTED CUresult cuStreamSynchronize(CUstream stream) {
  return REAL(cuStreamSynchronize)(stream);
}
EXPORTED CUresult cuCtxGetDevice(CUdevice* device) {
  return REAL(cuCtxGetDevice)(device);
}
EXPORTED CUresult cuCtxSynchronize(void) {
  return REAL(cuCtxSynchronize)();
}

static void* own(const char* name) {
  Dl_info info;
  if (dladdr((void*)&own, &info) == 0) return NULL;
  void* self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void* found = self == NULL ? NULL : libc_dlsym()(self, name);
  Dl_info where;
  return found != NULL && dladdr(found, &where) != 0 && where.dli_fbase == info.dli_fbase ? found : NULL;
}

static void* stand_in(const char* name) {
  char longer[128];
  for (int version = 3; version > 1; --version) {
    snprintf(longer, sizeof longer, "%s_v%d", name, version);
    void* found = own(longer);
    if (found != NULL) return found;
  }
  return own(name);
}

EXPORTED CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                                      CUdriverProcAddressQueryResult* status) {
  void* found = stand_in(name);
  if (found == NULL) return REAL(cuGetProcAddress_v2)(name, function, version, flags, status);
  *function = found;
  if (status != NULL) *status = CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}

EXPORTED void* dlsym(void* handle, const char* name) {
  if (handle != RTLD_NEXT && is_cuda(name)) {
#ifdef LOST_ITS_PATH
    void* found = libc_dlsym()(NULL, name);
#else
    void* found = own(name);
#endif
    if (found != NULL) return found;
  }
  return libc_dlsym()(handle, name);
}
