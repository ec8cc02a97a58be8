// Answers cuGetProcAddress with functions of its own, which nothing exports, for every name that it knows, as a tracer
// does; the program gets at it through dlsym, which it answers too. It asks the dlsym that comes after it, as it
// should.
#include "interposer.h"

// Each jumps to the real function, whose arguments it does not know.
#define HOOK(library, name, ...) THUNK_##library(name)
#define CALL(library, name, presence)
#define THUNK_nccl(name)
#define THUNK_cuda(name)                                           \
  static void* real_##name;                                        \
  __attribute__((naked, used)) static void own_##name(void) {      \
    __asm__("lock incl calls(%rip)\n\tjmp *real_" #name "(%rip)"); \
  }
#include "shim/hooks.def"
#undef THUNK_cuda

#define THUNK_cuda(name) {#name, &real_##name, (void*)&own_##name},
static struct {
  const char* name;
  void** real;
  void* own;
} functions[] = {
#include "shim/hooks.def"
};

static dlsym_function next_dlsym(void) {
  static dlsym_function found;
  if (found == NULL) found = (dlsym_function)next_definition("dlsym");
  return found;
}

static get_function real_get;
static CUresult own_get(const char* name, void** function, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult* status);

static void* stand_in(void* real) {
  if (real == (void*)real_get) return (void*)&own_get;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    if (*functions[i].real == real) return functions[i].own;
  }
  return real;
}

static CUresult own_get(const char* name, void** function, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult* status) {
  const CUresult result = real_get(name, function, version, flags, status);
  if (result == CUDA_SUCCESS && *function != NULL) *function = stand_in(*function);
  return result;
}

EXPORTED void* dlsym(void* handle, const char* name) {
  void* found = next_dlsym()(handle, name);
  if (found == NULL || strcmp(name, "cuGetProcAddress_v2") != 0) return found;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    if (*functions[i].real == NULL) *functions[i].real = next_dlsym()(handle, functions[i].name);
  }
  real_get = (get_function)found;
  return (void*)&own_get;
}
