// Exports a few functions of the driver and stands in for no dlsym: only programs that are linked to the driver come to
// it. It finds the real ones with RTLD_NEXT, and by the driver's handle where that is not in the global scope.
#include "interposer.h"

static void* next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  void* driver = found != NULL ? NULL : dlopen("libcuda.so.1", RTLD_NOW);
  return driver == NULL ? found : dlsym(driver, name);
}
#define NEXT(name) ((__typeof__(&name))next(#name))

EXPORTED CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  count_call();
  return NEXT(cuMemAlloc_v2)(address, bytes);
}
EXPORTED CUresult cuEventRecord(CUevent event, CUstream stream) {
  return NEXT(cuEventRecord)(event, stream);
}
