// Stream memory operations: writes of words in stream order, and waits for words. Weft's markers are such writes, so
// this is the hottest path of the driver. Any thread.
#include <memory>
#include <vector>

#include "api/addresses.h"
#include "api/api.h"

using namespace simgpu;

namespace {

constexpr unsigned most_operations = 256;
constexpr unsigned comparison_mask = 3;

CUresult check(const MemoryOperation& operation, unsigned flags) {
  if (operation.kind == MemoryOperation::Kind::barrier) return CUDA_SUCCESS;
  // No flag of a write is supported (NO_MEMORY_BARRIER belongs to the first version of these functions), nor is a flush
  // of remote writes, as the device says.
  const unsigned known = operation.kind == MemoryOperation::Kind::write ? 0 : comparison_mask;
  if ((flags & ~known) != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto address = reinterpret_cast<std::uintptr_t>(operation.address);
  if (address % operation.bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  if (kind_of(address, operation.bytes) == AddressKind::pageable) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

MemoryOperation make(MemoryOperation::Kind kind, uint8_t bytes, CUdeviceptr address, uint64_t value, unsigned flags) {
  const bool waits = kind == MemoryOperation::Kind::wait;
  return {kind, bytes, waits ? static_cast<uint8_t>(flags & comparison_mask) : uint8_t{0},
          reinterpret_cast<void*>(address), value};
}

CUresult submit_one(CUstream handle, DefaultStream meaning, MemoryOperation::Kind kind, uint8_t bytes,
                    CUdeviceptr address, uint64_t value, unsigned flags) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  const MemoryOperation operation = make(kind, bytes, address, value, flags);
  if (const CUresult result = check(operation, flags); result != CUDA_SUCCESS) return result;
  return engine().submit(*stream, operation);
}

CUresult translate(const CUstreamBatchMemOpParams& parameters, MemoryOperation& operation, unsigned& flags) {
  using Kind = MemoryOperation::Kind;
  switch (parameters.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      flags = parameters.waitValue.flags;
      operation = make(Kind::wait, 4, parameters.waitValue.address, parameters.waitValue.value, flags);
      return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      flags = parameters.waitValue.flags;
      operation = make(Kind::wait, 8, parameters.waitValue.address, parameters.waitValue.value64, flags);
      return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      flags = parameters.writeValue.flags;
      operation = make(Kind::write, 4, parameters.writeValue.address, parameters.writeValue.value, flags);
      return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      flags = parameters.writeValue.flags;
      operation = make(Kind::write, 8, parameters.writeValue.address, parameters.writeValue.value64, flags);
      return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_BARRIER:
      operation.kind = Kind::barrier;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult submit_batch(CUstream handle, DefaultStream meaning, unsigned count, const CUstreamBatchMemOpParams* all,
                      unsigned flags) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (count == 0 || count >= most_operations || all == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<MemoryOperation> operations(count);
  for (unsigned index = 0; index < count; ++index) {
    unsigned operation_flags = 0;
    CUresult result = translate(all[index], operations[index], operation_flags);
    if (result == CUDA_SUCCESS) result = check(operations[index], operation_flags);
    if (result != CUDA_SUCCESS) return result;
  }
  return engine().submit(*stream,
                         MemoryBatch{std::make_shared<const std::vector<MemoryOperation>>(std::move(operations))});
}

constexpr auto write_kind = MemoryOperation::Kind::write;
constexpr auto wait_kind = MemoryOperation::Kind::wait;

}  // namespace

SIMGPU_PAIR(cuStreamWriteValue32_v2, _ptsz, (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),
            submit_one(stream, meaning, write_kind, 4, addr, value, flags))
SIMGPU_PAIR(cuStreamWriteValue64_v2, _ptsz, (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags),
            submit_one(stream, meaning, write_kind, 8, addr, value, flags))
SIMGPU_PAIR(cuStreamWaitValue32_v2, _ptsz, (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),
            submit_one(stream, meaning, wait_kind, 4, addr, value, flags))
SIMGPU_PAIR(cuStreamWaitValue64_v2, _ptsz, (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags),
            submit_one(stream, meaning, wait_kind, 8, addr, value, flags))
SIMGPU_PAIR(cuStreamBatchMemOp_v2, _ptsz,
            (CUstream stream, unsigned int count, CUstreamBatchMemOpParams* paramArray, unsigned int flags),
            submit_batch(stream, meaning, count, paramArray, flags))

// The first ABI: the same operations.
SIMGPU_PAIR(cuStreamWriteValue32, _ptsz, (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),
            submit_one(stream, meaning, write_kind, 4, addr, value, flags))
SIMGPU_PAIR(cuStreamWriteValue64, _ptsz, (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags),
            submit_one(stream, meaning, write_kind, 8, addr, value, flags))
SIMGPU_PAIR(cuStreamWaitValue32, _ptsz, (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),
            submit_one(stream, meaning, wait_kind, 4, addr, value, flags))
SIMGPU_PAIR(cuStreamWaitValue64, _ptsz, (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags),
            submit_one(stream, meaning, wait_kind, 8, addr, value, flags))
SIMGPU_PAIR(cuStreamBatchMemOp, _ptsz,
            (CUstream stream, unsigned int count, CUstreamBatchMemOpParams* paramArray, unsigned int flags),
            submit_batch(stream, meaning, count, paramArray, flags))
