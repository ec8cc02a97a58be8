// A libcuda.so.1 in place of the driver, found through LD_LIBRARY_PATH. It opens the real one by its path, which
// INTERPOSER_DRIVER names, and exports all that the real one does; REPLACED_NAMES is the list, made by nm.
#include "interposer.h"

#define NAME(name)                                              \
  static void* real_##name;                                     \
  EXPORTED void own_##name(void) __asm__(#name);                \
  __attribute__((naked, used)) EXPORTED void own_##name(void) { \
    __asm__("jmp *real_" #name "(%rip)");                       \
  }
#define GET(name) static void* real_##name;
#include REPLACED_NAMES
#undef NAME
#undef GET

EXPORTED CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags);
EXPORTED CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                                      CUdriverProcAddressQueryResult* status);

#define NAME(name) {#name, &real_##name, (void*)&own_##name},
#define GET(name) {#name, &real_##name, (void*)&name},
static struct {
  const char* name;
  void** real;
  void* own;
} functions[] = {
#include REPLACED_NAMES
};

__attribute__((constructor)) static void open_driver(void) {
  void* driver = dlopen(getenv("INTERPOSER_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    *functions[i].real = driver == NULL ? NULL : dlsym(driver, functions[i].name);
  }
}

static void replace(void** function) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    if (*functions[i].real == *function) *function = functions[i].own;
  }
}

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  const CUresult result =
      ((CUresult(*)(const char*, void**, int, cuuint64_t))real_cuGetProcAddress)(name, function, version, flags);
  if (result == CUDA_SUCCESS) replace(function);
  return result;
}

CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  count_call();
  const CUresult result = ((get_function)real_cuGetProcAddress_v2)(name, function, version, flags, status);
  if (result == CUDA_SUCCESS && *function != NULL) replace(function);
  return result;
}
