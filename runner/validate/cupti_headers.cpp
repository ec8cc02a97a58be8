// The version of CUPTI's headers at build time, if their newest records begin as cupti_abi.h says. The build names
// those records (cmake/cupti_headers.cmake); without the headers this file says 0.
#include "runner/validate/cupti.h"

#ifdef WEFT_CUPTI_KERNEL_RECORD
#include <cupti.h>
#endif

namespace weft::cupti {

#ifdef WEFT_CUPTI_KERNEL_RECORD
namespace {

template <class Real, class Ours>
constexpr bool begins_alike() {
  return offsetof(Real, kind) == 0 && offsetof(Real, start) == offsetof(Ours, start) &&
         offsetof(Real, end) == offsetof(Ours, end) && offsetof(Real, deviceId) == offsetof(Ours, device) &&
         offsetof(Real, contextId) == offsetof(Ours, context) && offsetof(Real, streamId) == offsetof(Ours, stream);
}

constexpr bool all_alike = begins_alike<WEFT_CUPTI_KERNEL_RECORD, KernelActivity>() &&
                           begins_alike<WEFT_CUPTI_MEMCPY_RECORD, CopyActivity>() &&
                           begins_alike<WEFT_CUPTI_MEMSET_RECORD, SetActivity>() &&
                           offsetof(WEFT_CUPTI_KERNEL_RECORD, name) == offsetof(KernelActivity, name) &&
                           offsetof(WEFT_CUPTI_MEMCPY_RECORD, copyKind) == offsetof(CopyActivity, copy_kind);

}  // namespace

std::uint32_t version_of_headers() {
  return all_alike ? CUPTI_API_VERSION : 0;
}
#else
std::uint32_t version_of_headers() {
  return 0;
}
#endif

}  // namespace weft::cupti
