// The core in a process that runs out of host memory: each allocation of opening and of closing a device fails once,
// and from each on all of them do. Weft may be off after that; the process goes on.
//
// The core is linked in, because it is this program's operator new that fails; the driver is a table of fakes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "runner/core/driver.h"
#include "shim/seam/core_interface.h"
#include "shim/seam/ring.h"
#include "tests/trace/failing_memory.h"
#include "tests/trace/temporary_directory.h"

namespace weft {
namespace {

using test::FailingMemory;
using test::Failure;

EventRing ring;
std::atomic<std::uint32_t> times_given_back{0};
CoreServices core;

CUresult host_memory(void** address, std::size_t bytes, unsigned) {
  *address = std::calloc(1, bytes);
  return CUDA_SUCCESS;
}
CUresult some_context(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(&ring);
  return CUDA_SUCCESS;
}
CUresult any_device(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult retained_context(CUcontext* context, CUdevice) {
  return some_context(context);
}
CUresult context_state(CUdevice, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return CUDA_SUCCESS;
}
CUresult device_attribute(int* value, CUdevice_attribute, CUdevice) {
  *value = 132;
  return CUDA_SUCCESS;
}
CUresult device_pointer(CUdeviceptr* pointer, void* address, unsigned) {
  *pointer = reinterpret_cast<CUdeviceptr>(address);
  return CUDA_SUCCESS;
}
CUresult memory_info(std::size_t* free, std::size_t* total) {
  *free = *total = 1 << 20;
  return CUDA_SUCCESS;
}
CUresult nothing() {
  return CUDA_SUCCESS;
}

// Every function the core looks up; those that are not named are never called while observing.
void* driver_symbol(const char* name) {
  static const std::map<std::string_view, void*> functions{
      {"cuMemHostAlloc", reinterpret_cast<void*>(&host_memory)},
      {"cuCtxGetCurrent", reinterpret_cast<void*>(&some_context)},
      {"cuCtxGetDevice", reinterpret_cast<void*>(+[](CUdevice*) { return CUDA_ERROR_INVALID_CONTEXT; })},
      {"cuDeviceGet", reinterpret_cast<void*>(&any_device)},
      {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(&retained_context)},
      {"cuDevicePrimaryCtxGetState", reinterpret_cast<void*>(&context_state)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(&device_attribute)},
      {"cuMemHostGetDevicePointer_v2", reinterpret_cast<void*>(&device_pointer)},
      {"cuMemGetInfo_v2", reinterpret_cast<void*>(&memory_info)}};
  const auto found = functions.find(name);
  return found == functions.end() ? reinterpret_cast<void*>(&nothing) : found->second;
}

struct CoreWithoutMemory : ::testing::Test {
  test::TemporaryDirectory directory;

  void SetUp() override {
    ::setenv("WEFT_OUTPUT", directory.path().c_str(), 1);
    ShimServices shim;
    shim.build_id = WEFT_BUILD_ID;
    shim.ring = &ring;
    shim.set_marker_words = [](int, const MarkerWords&) {};
    shim.real_driver_symbol = &driver_symbol;
    shim.dropped_events = []() -> std::uint64_t { return 0; };
    shim.list_streams_to_ask = [](int, StreamId*, int) { return 0; };
    shim.ask_stream = [](int, StreamId) { return Answer{StreamAnswer::unknown}; };
    shim.turn_off = [](const char*) {};
    shim.full_table = []() -> const char* { return nullptr; };
    shim.streams_made = [](int) -> std::uint32_t { return 0; };
    shim.streams_in_use = [](int) -> std::uint32_t { return 0; };
    shim.is_idle = [](int) { return true; };
    shim.mark_own_thread = [] {};
    shim.want_quiet_moments = [](bool) {};
    shim.memory_reserved = [](int) {};
    shim.times_given_back = &times_given_back;
    ASSERT_TRUE(weft_core_start(&shim, &core));
    ::testing::internal::CaptureStderr();
  }
  void TearDown() override { ::testing::internal::GetCapturedStderr(); }

  int next = 0;  // device of the next turn: what an earlier one has left behind is out of the way

  // Opens and closes a device, one of the two without memory. False: the memory lasted.
  bool open(long allocation, Failure failure) {
    const CommunicatorInfo communicator{static_cast<CommunicatorId>(++next), next, 0, 2};
    bool struck = false;
    {
      const FailingMemory memory(allocation, failure);
      core.communicator_opened(communicator);
      struck = memory.struck();
    }
    core.communicator_closing(communicator.id);
    return struck;
  }
  bool close(long allocation, Failure failure) {
    const CommunicatorInfo communicator{static_cast<CommunicatorId>(++next), next, 0, 2};
    core.communicator_opened(communicator);
    const FailingMemory memory(allocation, failure);
    core.communicator_closing(communicator.id);
    return memory.struck();
  }
};

// One process has one core, so it is one test.
TEST_F(CoreWithoutMemory, TheProcessGoesOn) {
  long last = 0;
  for (const Failure failure : {Failure::once, Failure::from_then_on}) {
    for (last = 0; open(last, failure);) ++last;
    EXPECT_GT(last, 20) << "allocations of opening";
    for (last = 0; close(last, failure);) ++last;
    EXPECT_GT(last, 5) << "allocations of closing";
  }
}

}  // namespace
}  // namespace weft
