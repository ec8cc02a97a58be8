/* The least that a fill job has to be; see weft/fill.h. */
#include <weft/fill.h>
#include <weft/version.h>

static int init(const weft_fill_host* host, const char* arguments, weft_fill_job** job) {
  (void)arguments;
  *job = 0;
  host->log(host->context, "built with " WEFT_VERSION_STRING);
  return 0;
}
static int record_unit(weft_fill_job* job, weft_stream stream) { return (void)job, (void)stream, 0; }
static int begin_unit(weft_fill_job* job, uint64_t unit) { return (void)job, (void)unit, 0; }
static int end_unit(weft_fill_job* job, uint64_t unit, int* correct) { return (void)job, (void)unit, *correct = -1, 0; }
static void destroy(weft_fill_job* job) { (void)job; }

const weft_fill_functions* weft_fill_job_v2(void) {
  static const weft_fill_functions functions = {sizeof functions, WEFT_FILL_ABI_VERSION, 0, "least", init, record_unit,
                                                begin_unit, end_unit, 0, 0, destroy, 0};
  return &functions;
}
