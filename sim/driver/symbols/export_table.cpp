// cuGetExportTable: the private tables of the real driver do not exist here; the only table is the one that the
// simulated NCCL asks for. Any thread, before cuInit too.
#include <cuda.h>

#include <cstring>

#include "api/api.h"
#include "engine/services.h"

SIMGPU_API cuGetExportTable(const void** ppExportTable, const CUuuid* pExportTableId) {
  static constexpr unsigned char services_id[] = SIMGPU_SERVICES_UUID_BYTES;
  static_assert(sizeof(services_id) == sizeof(pExportTableId->bytes));
  if (ppExportTable == nullptr || pExportTableId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (std::memcmp(pExportTableId->bytes, services_id, sizeof(services_id)) != 0) return CUDA_ERROR_NOT_FOUND;
  *ppExportTable = &simgpu::services();
  return CUDA_SUCCESS;
}
