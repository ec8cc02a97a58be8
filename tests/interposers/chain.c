// Stands in for dlsym and keeps the chain: it asks the next dlsym, behind it, and wraps a few of the answers that come
// back, cuGetProcAddress among them. Its wrappers call what the next one answered.
#include "interposer.h"

static get_function real_get;
static CUresult (*real_wait)(CUstream, CUevent, unsigned int);
static CUresult (*real_allocate)(CUdeviceptr*, size_t);
static CUresult (*real_record)(CUevent, CUstream);

static CUresult wrapped_wait(CUstream stream, CUevent event, unsigned int flags) {
  count_call();
  return real_wait(stream, event, flags);
}
static CUresult wrapped_allocate(CUdeviceptr* address, size_t bytes) {
  return real_allocate(address, bytes);
}
static CUresult wrapped_record(CUevent event, CUstream stream) {
  return real_record(event, stream);
}

static CUresult wrapped_get(const char* name, void** function, int version, cuuint64_t flags,
                            CUdriverProcAddressQueryResult* status);

static void* wrap(const char* name, void* real, int legacy) {
  if (strcmp(name, "cuGetProcAddress") == 0) return real == (void*)real_get ? (void*)&wrapped_get : real;
  if (strcmp(name, "cuStreamWaitEvent") == 0 && legacy) {
    real_wait = (__typeof__(real_wait))real;
    return (void*)&wrapped_wait;
  }
  if (strcmp(name, "cuEventRecord") == 0 && legacy) {
    real_record = (__typeof__(real_record))real;
    return (void*)&wrapped_record;
  }
  if (strcmp(name, "cuMemAlloc") == 0) {
    real_allocate = (__typeof__(real_allocate))real;
    return (void*)&wrapped_allocate;
  }
  return real;
}

static CUresult wrapped_get(const char* name, void** function, int version, cuuint64_t flags,
                            CUdriverProcAddressQueryResult* status) {
  const CUresult result = real_get(name, function, version, flags, status);
  const int legacy = flags != CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (result == CUDA_SUCCESS && *function != NULL && (version >= 3020 || strcmp(name, "cuMemAlloc") != 0)) {
    *function = wrap(name, *function, legacy);
  }
  return result;
}

EXPORTED void* dlsym(void* handle, const char* name) {
  static dlsym_function next;
  if (next == NULL) next = (dlsym_function)next_definition("dlsym");
  void* found = next(handle, name);
  if (found == NULL || strcmp(name, "cuGetProcAddress_v2") != 0) return found;
  real_get = (get_function)found;
  return (void*)&wrapped_get;
}
