/* libweft-nvtx.so: what NVTX opens by NVTX_INJECTION64_PATH, which `weft run --nvtx` sets. It hands NVTX on to the
 * preloaded libweft.so (hooks/nvtx.cpp).
 *
 * A library of its own, because NVTX wants a function of this name: exported by the preloaded library it would stand in
 * front of that of another tool. Any thread; where libweft.so is not in the process, NVTX goes on without a tool. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

typedef const void* (*TableOf)(uint32_t);

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(TableOf table_of) {
  int (*initialize)(TableOf) = NULL;
  *(void**)&initialize = dlsym(RTLD_DEFAULT, "weft_nvtx_v1");
  return initialize == NULL ? 0 : initialize(table_of);
}
