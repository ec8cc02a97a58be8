// CHECK(call): a call of CUDA or NCCL has succeeded, or the program ends with 2 and says which one has not. For the C
// programs of this folder.
#pragma once

#include <stdio.h>
#include <stdlib.h>

static inline void check(int result, const char* what) {
  if (result == 0) return;
  fprintf(stderr, "%s: %d\n", what, result);
  exit(2);
}
#define CHECK(call) check((int)(call), #call)
