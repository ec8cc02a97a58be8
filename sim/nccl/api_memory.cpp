// Memory, registration, user-made reductions, messages. Host threads.
#include <cstring>

#include "api.h"
#include "driver.h"
#include "group.h"

using namespace simgpu::nccl;

SIMGPU_NCCL_API(ncclResult_t, ncclMemAlloc, (void** ptr, size_t size)) {
  if (ptr == nullptr || size == 0) return fail(ncclInvalidArgument, "ncclMemAlloc: nothing to allocate");
  if (driver() == nullptr) return ncclUnhandledCudaError;
  CUdeviceptr memory = 0;
  const CUresult result = driver()->cuMemAlloc(&memory, size);
  if (result != CUDA_SUCCESS) return driver_failed("cuMemAlloc", result);
  *ptr = reinterpret_cast<void*>(memory);
  return ncclSuccess;
}

SIMGPU_NCCL_API(ncclResult_t, ncclMemFree, (void* ptr)) {
  if (ptr == nullptr) return ncclSuccess;
  if (driver() == nullptr) return ncclUnhandledCudaError;
  const CUresult result = driver()->cuMemFree(reinterpret_cast<CUdeviceptr>(ptr));
  return result == CUDA_SUCCESS ? ncclSuccess : driver_failed("cuMemFree", result);
}

// Registered buffers are copied like others: a handle only has to be something that can be given back.
SIMGPU_NCCL_API(ncclResult_t, ncclCommRegister, (const ncclComm_t comm, void* buff, size_t size, void** handle)) {
  if (const ncclResult_t result = check_ready(comm, "ncclCommRegister"); result != ncclSuccess) return result;
  if (buff == nullptr || size == 0 || handle == nullptr)
    return fail(ncclInvalidArgument, "ncclCommRegister: no buffer");
  *handle = buff;
  return ncclSuccess;
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommDeregister, (const ncclComm_t comm, void* /*handle*/)) {
  return check_handle(comm, "ncclCommDeregister");
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommWindowRegister,
                (ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win, int /*winFlags*/)) {
  const char* const name = "ncclCommWindowRegister";
  if (const ncclResult_t result = check_pointer(win, name, "the result"); result != ncclSuccess) {
    return group_failed(result);
  }
  *win = nullptr;
  if (const ncclResult_t result = check_ready(comm, name); result != ncclSuccess) return group_failed(result);
  if (buff == nullptr || size == 0) return group_failed(fail(ncclInvalidArgument, "%s: no buffer", name));
  return submit(Job{comm, [comm, buff, size, win] {
                      uint64_t number = 0;
                      const ncclResult_t result = comm->register_window(buff, size, &number);
                      *win = window_of(number);
                      return result;
                    }});
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommWindowDeregister, (ncclComm_t comm, ncclWindow_t win)) {
  if (const ncclResult_t result = check_handle(comm, "ncclCommWindowDeregister"); result != ncclSuccess) return result;
  if (comm->endpoint() != nullptr) comm->endpoint()->remove_window(number_of(win));
  return ncclSuccess;
}

SIMGPU_NCCL_API(ncclResult_t, ncclRedOpCreatePreMulSum,
                (ncclRedOp_t * op, void* scalar, ncclDataType_t datatype, ncclScalarResidence_t residence,
                 ncclComm_t comm)) {
  const char* const name = "ncclRedOpCreatePreMulSum";
  if (const ncclResult_t result = check_ready(comm, name); result != ncclSuccess) return result;
  if (op == nullptr || scalar == nullptr || !valid_type(datatype) ||
      (residence != ncclScalarDevice && residence != ncclScalarHostImmediate)) {
    return fail(ncclInvalidArgument, "%s: an argument is missing or out of range", name);
  }
  Operation operation;
  operation.reduction = Reduction::scaled_sum;
  operation.type = datatype;
  if (residence == ncclScalarDevice) operation.device_scalar = scalar;
  if (residence == ncclScalarHostImmediate) std::memcpy(operation.scalar, scalar, size_of(datatype));
  auto& known = comm->operations();
  size_t place = 0;
  while (place < known.size() && known[place].has_value()) ++place;
  if (place == known.size()) known.emplace_back();
  known[place] = operation;
  *op = static_cast<ncclRedOp_t>(ncclNumOps + static_cast<int>(place));
  return ncclSuccess;
}

SIMGPU_NCCL_API(ncclResult_t, ncclRedOpDestroy, (ncclRedOp_t op, ncclComm_t comm)) {
  const char* const name = "ncclRedOpDestroy";
  if (const ncclResult_t result = check_handle(comm, name); result != ncclSuccess) return result;
  const int number = static_cast<int>(op);
  const auto place = static_cast<size_t>(number - ncclNumOps);
  if (number < ncclNumOps || place >= comm->operations().size() || !comm->operations()[place].has_value()) {
    return fail(ncclInvalidArgument, "%s: %d is no reduction of this communicator", name, number);
  }
  comm->operations()[place].reset();
  return ncclSuccess;
}

SIMGPU_NCCL_API(const char*, ncclGetErrorString, (ncclResult_t result)) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=WARN for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=WARN for details)";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    case ncclNumResults:
      break;
  }
  return "unknown result code";
}

SIMGPU_NCCL_API(const char*, ncclGetLastError, (ncclComm_t)) {
  return last_error();
}

SIMGPU_NCCL_API(void, ncclResetDebugInit, ()) {}

// The real library exports this one without a weak twin.
extern "C" __attribute__((visibility("default"))) void ncclResetDebugInitInternal();
extern "C" void ncclResetDebugInitInternal() {}
