/* Two functions of newer glibc that the static C++ runtime calls, so that what is linked with it runs on glibc 2.34
   too. Hidden: each file that brings the runtime along has its own, and everybody else keeps those of libc. Called by
   std::random_device, and by the unwinder when something is thrown or a stack is read. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

#if __GLIBC_PREREQ(2, 36)
/* Kernels since 3.17 have the call; asked for so few bytes it can only be interrupted before they are there. */
HIDDEN uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) < 0 && errno == EINTR) {
  }
  return number;
}
#endif

#if __GLIBC_PREREQ(2, 35)
struct search {
  uintptr_t address;
  struct dl_find_object* found;
};

/* 1: it is this one. -1: it is, and has no table for the unwinder. 0: go on. */
static int look(struct dl_phdr_info* object, size_t size, void* data) {
  (void)size;
  struct search* const search = data;
  uintptr_t begin = UINTPTR_MAX, end = 0, table = 0;
  int holds = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &object->dlpi_phdr[i];
    const uintptr_t from = object->dlpi_addr + part->p_vaddr, to = from + part->p_memsz;
    if (part->p_type == PT_GNU_EH_FRAME) table = from;
    if (part->p_type != PT_LOAD) continue;
    if (from < begin) begin = from;
    if (to > end) end = to;
    if (from <= search->address && search->address < to) holds = 1;
  }
  if (!holds) return 0;
  if (table == 0) return -1;
  *search->found = (struct dl_find_object){
      .dlfo_map_start = (void*)begin, .dlfo_map_end = (void*)end, .dlfo_eh_frame = (void*)table};
  return 1;
}

static int (*newer)(void*, struct dl_find_object*);

/* The function of the libc that is there, which takes no lock. */
HIDDEN void weft_use_dl_find_object(int (*function)(void*, struct dl_find_object*));
HIDDEN void weft_use_dl_find_object(int (*function)(void*, struct dl_find_object*)) {
  __atomic_store_n(&newer, function, __ATOMIC_RELEASE);
}

/* As the unwinder did it before there was this function. */
HIDDEN int _dl_find_object(void* address, struct dl_find_object* found) {
  int (*const function)(void*, struct dl_find_object*) = __atomic_load_n(&newer, __ATOMIC_ACQUIRE);
  if (function != NULL) return function(address, found);
  struct search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
#endif
