/* Fill jobs that are wrong in one way each; BAD_<WAY> picks it. Plain C, no CUDA: most never get as far as a launch. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "weft/fill.h"

#if defined(BAD_NO_SYMBOL)
int not_a_fill_job(void);
__attribute__((visibility("default"))) int not_a_fill_job(void) {
  return 0;
}
#else

static int init(const weft_fill_host* host, const char* args, weft_fill_job** job) {
#if defined(BAD_INIT_CRASHES)
  (void)host, (void)args, (void)job;
  abort();
#elif defined(BAD_INIT_HANGS)
  volatile int forever = 1;
  (void)host, (void)args, (void)job;
  while (forever) {
  }
  return 0;
#elif defined(BAD_INIT_FAILS)
  (void)job;
  host->fail(host->context, args);
  return 5;
#elif defined(BAD_TOO_LARGE)
  (void)args, (void)job;
  if (host->allocate(host->context, host->memory_cap / 2) == 0) return 1;
  if (host->allocate(host->context, host->memory_cap) == 0) {
    host->fail(host->context, "no memory for the matrices");
    return 1;
  }
  return 0;
#else
  static int state;
#if defined(BAD_PASSES)
  uint32_t* const again = host->passes(host->context, 3);
  if (again == NULL || (args[0] != '\0' && host->passes(host->context, 3) == NULL)) return 1;
  *again = 1; /* and nobody ever writes 0 */
#elif defined(BAD_MARKS)
  if (host->between_bubbles_on_host(host->context, 300) == 0) return 1;
#endif
  (void)host, (void)args;
  host->log(host->context, "hello");
  *job = (weft_fill_job*)&state;
  return 0;
#endif
}

static int record_unit(weft_fill_job* job, weft_stream stream) {
  (void)job, (void)stream;
  return 0; /* a unit without work */
}
static int begin_unit(weft_fill_job* job, uint64_t unit) {
  (void)job;
#if defined(BAD_SOUND)
  return unit == UINT64_MAX;
#else
  return unit == 3;
#endif
}
static int end_unit(weft_fill_job* job, uint64_t unit, int* correct) {
  (void)job;
  *correct = unit == 1 ? 0 : 42;
  return 0;
}
static void destroy(weft_fill_job* job) {
  (void)job;
}

__attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v2(void) {
  static weft_fill_functions functions = {sizeof(weft_fill_functions),
                                          WEFT_FILL_ABI_VERSION,
                                          0,
                                          "bad",
                                          init,
                                          record_unit,
                                          begin_unit,
                                          end_unit,
                                          NULL,
                                          NULL,
                                          destroy,
                                          NULL};
#if defined(BAD_VERSION)
  functions.abi_version = 7;
#elif defined(BAD_SIZE)
  functions.struct_size = 24;
#elif defined(BAD_NO_RECORD)
  functions.record_unit = NULL;
#elif defined(BAD_NO_TABLE)
  return NULL;
#endif
  return &functions;
}
#endif
