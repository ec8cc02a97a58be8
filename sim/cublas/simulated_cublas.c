// Stands in for cuBLAS under PyTorch on the simulated GPU: matrix products that take no time and write nothing.
//
// Preloaded by scripts/on-simulated-gpu --pytorch only. The real cuBLAS holds the real CUDA runtime, which does not come
// up on the simulated driver. PyTorch's own kernels write nothing there either, but its streams, events, NCCL calls and
// graphs run. Called on PyTorch's threads; must not know anything of CUDA.
#include <stddef.h>

enum { success = 0 };  // CUBLAS_STATUS_SUCCESS

#define EXPORTED __attribute__((visibility("default")))

static int handle;

EXPORTED int cublasCreate_v2(void** result);
EXPORTED int cublasCreate_v2(void** result) {
  *result = &handle;
  return success;
}

// The C calling convention lets a function ignore the arguments that its caller passes.
#define SUCCEEDS(name)      \
  EXPORTED int name(void);  \
  EXPORTED int name(void) { \
    return success;         \
  }

SUCCEEDS(cublasDestroy_v2)
SUCCEEDS(cublasSetStream_v2)
SUCCEEDS(cublasSetWorkspace_v2)
SUCCEEDS(cublasSetMathMode)
SUCCEEDS(cublasSgemm_v2)
SUCCEEDS(cublasSgemmStridedBatched)
SUCCEEDS(cublasGemmEx)
SUCCEEDS(cublasGemmStridedBatchedEx)
SUCCEEDS(cublasLtMatmul)

EXPORTED int cublasGetMathMode(void* context, int* mode);
EXPORTED int cublasGetMathMode(void* context, int* mode) {
  (void)context;
  *mode = 0;
  return success;
}

EXPORTED int cublasLtMatmulAlgoGetHeuristic(void* context, void* operation, void* a, void* b, void* c, void* d,
                                            void* preference, int wanted, void* results, int* found);
EXPORTED int cublasLtMatmulAlgoGetHeuristic(void* context, void* operation, void* a, void* b, void* c, void* d,
                                            void* preference, int wanted, void* results, int* found) {
  (void)context, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference, (void)wanted, (void)results;
  *found = 1;  // the algorithm itself is opaque to the caller
  return success;
}
