// The own declarations of CUPTI (cupti_abi.h) held against CUPTI's headers, at compile time: constants, the beginning
// of each version of a record, and how functions are called.
#include "runner/validate/cupti_abi.h"

#include <cupti.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "runner/validate/cupti.h"

namespace weft::cupti {
namespace {

static_assert(success == CUPTI_SUCCESS && max_limit_reached == CUPTI_ERROR_MAX_LIMIT_REACHED &&
              invalid_kind == CUPTI_ERROR_INVALID_KIND &&
              multiple_subscribers_not_supported == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
static_assert(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES == 35);  // as name_of() says
static_assert(memory_copy == CUPTI_ACTIVITY_KIND_MEMCPY && memory_set == CUPTI_ACTIVITY_KIND_MEMSET &&
              concurrent_kernel == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(copy_device_to_device == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
static_assert(flush_forced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
static_assert(sizeof(Result) == sizeof(CUptiResult) && sizeof(Kind) == sizeof(CUpti_ActivityKind));

#define SAME_PLACES(Real, Ours)                                                                                     \
  static_assert(offsetof(Real, kind) == offsetof(Ours, kind) && offsetof(Real, start) == offsetof(Ours, start) &&   \
                offsetof(Real, end) == offsetof(Ours, end) && offsetof(Real, deviceId) == offsetof(Ours, device) && \
                offsetof(Real, contextId) == offsetof(Ours, context) &&                                             \
                offsetof(Real, streamId) == offsetof(Ours, stream) && sizeof(Real::start) == sizeof(Ours::start) && \
                sizeof(Real::deviceId) == sizeof(Ours::device) && sizeof(Real) >= sizeof(Ours))
// Every version of a record that a library of CUDA 12.0 or newer may deliver, and some older ones.
#define SAME_KERNEL(Real)            \
  SAME_PLACES(Real, KernelActivity); \
  static_assert(offsetof(Real, name) == offsetof(KernelActivity, name))
SAME_KERNEL(CUpti_ActivityKernel4);
SAME_KERNEL(CUpti_ActivityKernel5);
SAME_KERNEL(CUpti_ActivityKernel6);
SAME_KERNEL(CUpti_ActivityKernel7);
SAME_KERNEL(CUpti_ActivityKernel8);
SAME_KERNEL(CUpti_ActivityKernel9);
SAME_KERNEL(WEFT_CUPTI_KERNEL_RECORD);
#define SAME_COPY(Real)                                                          \
  SAME_PLACES(Real, CopyActivity);                                               \
  static_assert(offsetof(Real, copyKind) == offsetof(CopyActivity, copy_kind) && \
                offsetof(Real, bytes) == offsetof(CopyActivity, bytes))
SAME_COPY(CUpti_ActivityMemcpy4);
SAME_COPY(CUpti_ActivityMemcpy5);
SAME_COPY(WEFT_CUPTI_MEMCPY_RECORD);
SAME_PLACES(CUpti_ActivityMemset3, SetActivity);
SAME_PLACES(WEFT_CUPTI_MEMSET_RECORD, SetActivity);

// As many parameters of the same size and sort.
template <class Ours, class Real>
struct SameCall : std::false_type {};
template <class... Ours, class... Real>
struct SameCall<Result (*)(Ours...), CUptiResult (*)(Real...)>
    : std::bool_constant<sizeof...(Ours) == sizeof...(Real) &&
                         ((sizeof(Ours) == sizeof(Real) && std::is_pointer_v<Ours> == std::is_pointer_v<Real>)&&...)> {
};
static_assert(SameCall<decltype(Library::get_version), decltype(&cuptiGetVersion)>::value);
static_assert(SameCall<decltype(Library::subscribe), decltype(&cuptiSubscribe)>::value);
static_assert(SameCall<decltype(Library::unsubscribe), decltype(&cuptiUnsubscribe)>::value);
static_assert(SameCall<decltype(Library::register_callbacks), decltype(&cuptiActivityRegisterCallbacks)>::value);
static_assert(SameCall<decltype(Library::enable), decltype(&cuptiActivityEnable)>::value);
static_assert(SameCall<decltype(Library::next_record), decltype(&cuptiActivityGetNextRecord)>::value);
static_assert(SameCall<decltype(Library::dropped_records), decltype(&cuptiActivityGetNumDroppedRecords)>::value);
static_assert(SameCall<decltype(Library::flush_all), decltype(&cuptiActivityFlushAll)>::value);
static_assert(SameCall<decltype(Library::get_timestamp), decltype(&cuptiGetTimestamp)>::value);
static_assert(SameCall<decltype(Library::get_device_id), decltype(&cuptiGetDeviceId)>::value);
static_assert(SameCall<decltype(Library::get_context_id), decltype(&cuptiGetContextId)>::value);
static_assert(SameCall<decltype(Library::get_stream_id), decltype(&cuptiGetStreamIdEx)>::value);

TEST(CuptiAbi, TheHeadersOfThisBuildAreKnown) {
  EXPECT_EQ(version_of_headers(), static_cast<std::uint32_t>(CUPTI_API_VERSION));
  EXPECT_TRUE(knows_records(CUPTI_API_VERSION, 0) || knows_records(CUPTI_API_VERSION, version_of_headers()));
}

}  // namespace
}  // namespace weft::cupti
