// Shared by the interposers of this folder: how they reach the real dlsym, and the line that they leave behind.
//
// They behave as libraries do that share a process with Weft: vGPU memory limits, profilers, replaced drivers. They are
// loaded into a training beside libweft.so, in front of it or behind it; matrix.sh compares what comes out.
#pragma once
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <nccl.h>

#define EXPORTED __attribute__((visibility("default")))

typedef void* (*dlsym_function)(void*, const char*);
typedef CUresult (*get_function)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

// glibc's own, past every other library that defines dlsym.
static inline dlsym_function libc_dlsym(void) {
  static dlsym_function found;
  if (found == NULL) found = (dlsym_function)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  return found;
}

// The next definition of the name behind this library, as the loader's list has it.
static inline void* next_definition(const char* name) {
  static const char here;
  Dl_info info;
  struct link_map* object = NULL;
  if (dladdr1(&here, &info, (void**)&object, RTLD_DL_LINKMAP) == 0) return NULL;
  while ((object = object->l_next) != NULL) {
    void* handle = object->l_name[0] == '\0' ? NULL : dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
    void* found = handle == NULL ? NULL : libc_dlsym()(handle, name);
    if (found != NULL && dladdr(found, &info) != 0 && info.dli_fbase == (void*)object->l_addr) return found;
  }
  return NULL;
}

static inline int is_cuda(const char* name) {
  return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

// Calls that it stood in for, one line per process in the file that INTERPOSER_CALLS names.
static int calls __attribute__((used));  // also counted by assembly
static inline void count_call(void) {
  __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
}
__attribute__((destructor)) static void leave_line(void) {
  const char* path = getenv("INTERPOSER_CALLS");
  if (path == NULL || calls == 0) return;
  char line[32];
  const int size = snprintf(line, sizeof line, "%d\n", calls);
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0) return;
  if (write(file, line, (size_t)size) != size) calls = 0;
  close(file);
}
