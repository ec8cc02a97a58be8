// See the header.
#include "runner/core/device_setup.h"

#include "runner/core/pinned.h"
#include "runner/core/scopes.h"
#include "runner/fill/queues.h"
#include "runner/options/launcher.h"

namespace weft {
namespace {

constexpr std::uint32_t marker_words = 65536;

CUdevice device_of(const Driver& driver, int ordinal) {
  CUdevice device{};
  check(driver, driver.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  return device;
}

std::uint32_t multiprocessors_of(const Driver& driver, CUdevice device) {
  int count = 0;
  check(driver, driver.cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
        "cuDeviceGetAttribute");
  return static_cast<std::uint32_t>(count);
}

// The current context if it is of this device, else the device's primary one.
CUcontext context_of(const Driver& driver, CUdevice device, int ordinal) {
  CUcontext context = nullptr;
  CUdevice current_device{};
  if (driver.cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr &&
      driver.cuCtxGetDevice(&current_device) == CUDA_SUCCESS && current_device == device)
    return context;
  unsigned flags = 0;
  int active = 0;
  check(driver, driver.cuDevicePrimaryCtxGetState(device, &flags, &active), "cuDevicePrimaryCtxGetState");
  if (active == 0) throw SetUpError("device " + std::to_string(ordinal) + " has no context");
  // The main job holds it; our own hold would change when its context goes away.
  check(driver, driver.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(driver, driver.cuDevicePrimaryCtxRelease_v2(device), "cuDevicePrimaryCtxRelease");
  return context;
}

// With the context current. Words that no stream can write where the device is unmarked: the hooks note groups and
// enqueue nothing.
MarkerWords words_of(CoreContext& core, int ordinal, bool unmarked) {
  const std::lock_guard lock(core.words_mutex);
  MarkerWords& words = core.words[ordinal];
  if (words.device != 0) return words;
  constexpr std::size_t bytes = marker_words * sizeof(std::uint32_t);
  if (words.host == nullptr) words = {static_cast<std::atomic<std::uint32_t>*>(map_pages(bytes)), 0, marker_words};
  if (!unmarked) words.device = register_pages(core.driver, words.host, bytes);
  return words;
}

}  // namespace

DeviceSetup set_up_device(CoreContext& core, int ordinal, const CommunicatorInfo& first) {
  DeviceSetup setup;
  setup.ordinal = ordinal;
  const JobPlace place = place_in_job(core.environments.now, {first.rank, first.ranks});
  setup.rank = place.rank;
  setup.ranks = place.ranks;
  // A process with one device, as most are, has it in no name. Whichever device comes first counts as the one.
  int none = -1;
  setup.is_further_device = !core.first_device.compare_exchange_strong(none, ordinal) && none != ordinal;
  const CUdevice device = device_of(core.driver, ordinal);
  setup.multiprocessors = multiprocessors_of(core.driver, device);
  setup.context = context_of(core.driver, device, ordinal);
  setup.idle_unknown = why_unmarked(core.environments);
  const CurrentContext current(core.driver, setup.context);
  if (!current.pushed()) throw SetUpError("the context of device " + std::to_string(ordinal) + " cannot be used");
  setup.words = words_of(core, ordinal, setup.is_unmarked());
  return setup;
}

}  // namespace weft
