/* Stands in for libweft.so, and for a fill job where WEFT_STAND_IN_JOB is set: enough to be loaded and to be looked at. */
#ifdef WEFT_STAND_IN_JOB
__attribute__((visibility("default"))) const void* weft_fill_job_v2(void);
const void* weft_fill_job_v2(void) { return 0; }
#else
__attribute__((visibility("default"))) int weft_stand_in(void);
int weft_stand_in(void) { return 1; }
#endif
