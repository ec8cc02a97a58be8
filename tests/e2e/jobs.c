/* Fill jobs that go wrong in one way each, chosen by JOB_KIND at compile time, for the tests of bad input. */
#include <stdlib.h>
#include <string.h>

#include "weft/fill.h"

enum { kWrongVersion = 1, kCrashesInInit, kFailsInInit, kTooLarge, kCrashesInRecord };

/* Read at run time, so that the compiler does not see the crash coming. */
static int* volatile nowhere = NULL;

static int init(const weft_fill_host* host, const char* arguments, weft_fill_job** job) {
  (void)arguments;
  *job = NULL;
  if (JOB_KIND == kCrashesInInit) *nowhere = 1;
  if (JOB_KIND == kFailsInInit) {
    host->fail(host->context, "the moon is in the wrong phase");
    return 1;
  }
  if (JOB_KIND == kTooLarge && host->allocate(host->context, host->memory_cap + 1) == 0) {
    host->fail(host->context, "no room for the model");
    return 1;
  }
  return 0;
}

static int record_unit(weft_fill_job* job, weft_stream stream) {
  (void)job, (void)stream;
  if (JOB_KIND == kCrashesInRecord) *nowhere = 1;
  return 0;
}

static int begin_unit(weft_fill_job* job, uint64_t unit) {
  (void)job, (void)unit;
  return 0;
}

static int end_unit(weft_fill_job* job, uint64_t unit, int* correct) {
  (void)job, (void)unit;
  *correct = -1;
  return 0;
}

static void destroy(weft_fill_job* job) { (void)job; }

const weft_fill_functions* weft_fill_job_v1(void) {
  static const weft_fill_functions functions = {
      sizeof(weft_fill_functions), JOB_KIND == kWrongVersion ? 99u : WEFT_FILL_ABI_VERSION, 0, "bad", init, record_unit,
      begin_unit, end_unit, NULL, NULL, destroy};
  return &functions;
}
