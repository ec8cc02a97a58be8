// See check.h.
#include "check.h"

#include <cstdio>
#include <cstdlib>

namespace trainer {
namespace {

[[noreturn]] void fail(const char* call, const char* file, int line, const char* why) {
  std::fprintf(stderr, "trainer: %s failed: %s (%s:%d)\n", call, why, file, line);
  std::_Exit(1);
}

}  // namespace

void check(cudaError_t result, const char* call, const char* file, int line) {
  if (result != cudaSuccess) fail(call, file, line, cudaGetErrorString(result));
}

void check(ncclResult_t result, const char* call, const char* file, int line) {
  if (result != ncclSuccess) fail(call, file, line, ncclGetErrorString(result));
}

void check_launch() {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "trainer: a kernel cannot be launched: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

}  // namespace trainer
