// The hooks of stream-ordered waits for words in memory: whoever writes such a word, nobody sees it (main_job/waits.h).
// Each notes what it sees, calls the real function of the very same ABI, and returns its result as it is. Any thread of
// the main job. NCCL's own waits are not noted. No lock, no allocation, no log, no string.
#include "shim/caller.h"
#include "shim/main_job/waits.h"
#include "shim/routing/real.h"

namespace weft {
namespace {

template <class Operation>
bool any_waits(const Operation* operations, unsigned int count) noexcept {
  constexpr unsigned int most = 256;  // the driver refuses more, and has not looked at them yet
  for (unsigned int index = 0; operations != nullptr && count <= most && index < count; ++index) {
    const auto kind = operations[index].operation;
    if (kind == CU_STREAM_MEM_OP_WAIT_VALUE_32 || kind == CU_STREAM_MEM_OP_WAIT_VALUE_64) return true;
  }
  return false;
}

}  // namespace
}  // namespace weft

using namespace weft;

extern "C" {

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  const auto call = real<Symbol::cuStreamWaitValue32>();
  return wait_for_memory(stream, false, observing(), [=] { return call(stream, address, value, flags); });
}

CUresult cuStreamWaitValue32_ptsz(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  const auto call = real<Symbol::cuStreamWaitValue32_ptsz>();
  return wait_for_memory(stream, true, observing(), [=] { return call(stream, address, value, flags); });
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  const auto call = real<Symbol::cuStreamWaitValue32_v2>();
  return wait_for_memory(stream, false, observing(), [=] { return call(stream, address, value, flags); });
}

CUresult cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  const auto call = real<Symbol::cuStreamWaitValue32_v2_ptsz>();
  return wait_for_memory(stream, true, observing(), [=] { return call(stream, address, value, flags); });
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags) {
  const auto call = real<Symbol::cuStreamWaitValue64>();
  return wait_for_memory(stream, false, observing(), [=] { return call(stream, address, value, flags); });
}

CUresult cuStreamWaitValue64_ptsz(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags) {
  const auto call = real<Symbol::cuStreamWaitValue64_ptsz>();
  return wait_for_memory(stream, true, observing(), [=] { return call(stream, address, value, flags); });
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags) {
  const auto call = real<Symbol::cuStreamWaitValue64_v2>();
  return wait_for_memory(stream, false, observing(), [=] { return call(stream, address, value, flags); });
}

CUresult cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags) {
  const auto call = real<Symbol::cuStreamWaitValue64_v2_ptsz>();
  return wait_for_memory(stream, true, observing(), [=] { return call(stream, address, value, flags); });
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* all, unsigned int flags) {
  const auto call = real<Symbol::cuStreamBatchMemOp>();
  const bool waits = observing() && any_waits(all, count);
  return wait_for_memory(stream, false, waits, [=] { return call(stream, count, all, flags); });
}

CUresult cuStreamBatchMemOp_ptsz(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* all,
                                 unsigned int flags) {
  const auto call = real<Symbol::cuStreamBatchMemOp_ptsz>();
  const bool waits = observing() && any_waits(all, count);
  return wait_for_memory(stream, true, waits, [=] { return call(stream, count, all, flags); });
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* all, unsigned int flags) {
  const auto call = real<Symbol::cuStreamBatchMemOp_v2>();
  const bool waits = observing() && any_waits(all, count);
  return wait_for_memory(stream, false, waits, [=] { return call(stream, count, all, flags); });
}

CUresult cuStreamBatchMemOp_v2_ptsz(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* all,
                                    unsigned int flags) {
  const auto call = real<Symbol::cuStreamBatchMemOp_v2_ptsz>();
  const bool waits = observing() && any_waits(all, count);
  return wait_for_memory(stream, true, waits, [=] { return call(stream, count, all, flags); });
}

}  // extern "C"
