// Compute that no preloaded library sees: independent_compute.c opens this with RTLD_DEEPBIND, so that its calls go to
// the driver and to nobody before it. A test that wants Weft to be wrong.
#include "cuda.h"

__attribute__((visibility("default"))) int hidden_stream(CUstream* stream) {
  return (int)cuStreamCreate(stream, CU_STREAM_NON_BLOCKING);
}

__attribute__((visibility("default"))) int hidden_set(CUdeviceptr memory, size_t bytes, CUstream stream) {
  return (int)cuMemsetD8Async(memory, 1, bytes, stream);
}
