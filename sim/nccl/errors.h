// Failing with a message: what ncclGetLastError tells afterwards. Any thread.
#ifndef SIMGPU_NCCL_ERRORS_H
#define SIMGPU_NCCL_ERRORS_H

#include <cuda.h>
#include <nccl.h>

namespace simgpu::nccl {

// Remembers the message for ncclGetLastError and returns `code`. NCCL_DEBUG=WARN (or INFO) also prints it.
[[gnu::format(printf, 2, 3)]] ncclResult_t fail(ncclResult_t code, const char* format, ...);
// A driver call that did not succeed.
ncclResult_t driver_failed(const char* call, CUresult result);
const char* last_error();

}  // namespace simgpu::nccl

#endif
