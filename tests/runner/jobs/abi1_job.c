/* A fill job of version 1, built with the header of that version (abi1/), which users' jobs have that were built with an
 * older Weft. */
#include <stddef.h>
#include <stdint.h>

#include "weft/fill.h"

struct weft_fill_job {
  int units;
};

static int init(const weft_fill_host* host, const char* args, weft_fill_job** job) {
  static weft_fill_job state;
  (void)args;
  *job = &state;
  return host->struct_size >= sizeof(weft_fill_host) && host->abi_version >= 1 ? 0 : 1;
}
static int record_unit(weft_fill_job* job, weft_stream stream) {
  (void)job, (void)stream;
  return 0;
}
static int begin_unit(weft_fill_job* job, uint64_t unit) {
  (void)unit;
  ++job->units;
  return 0;
}
static int end_unit(weft_fill_job* job, uint64_t unit, int* correct) {
  *correct = job->units == (int)unit + 1;
  return 0;
}
static void destroy(weft_fill_job* job) {
  (void)job;
}

__attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v1(void) {
  static const weft_fill_functions functions = {
      sizeof functions, WEFT_FILL_ABI_VERSION, 0, "old", init, record_unit, begin_unit, end_unit, NULL, NULL, destroy};
  return &functions;
}
