// Preparing the job with the runner's own code, and the loop; see the header.
#include "continuous_fill.h"

#include <dlfcn.h>
#include <time.h>

#include <cinttypes>
#include <cstdio>
#include <memory>

#include "runner/fill/prepared_fill.h"

namespace measures {
namespace {

constexpr std::chrono::seconds patience{20};

// Weft's table of driver functions is filled through a plain function pointer.
void* open_driver = nullptr;
void* symbol(const char* name) {
  return ::dlsym(open_driver, name);
}

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

weft::FillSettings settings_of(const ContinuousFill& fill, const weft::Driver& driver, CUdevice device) {
  int multiprocessors = 0;
  check(driver, driver.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
        "cuDeviceGetAttribute");
  weft::FillSettings settings;
  settings.spec = weft::parse_fill_spec(fill.job);
  settings.lane.device = fill.device;
  settings.memory = fill.memory;
  const auto reserved = static_cast<std::uint32_t>(fill.free_multiprocessors);
  settings.unit.confine = {weft::Confine::automatic,
                           weft::blocks_left(static_cast<std::uint32_t>(multiprocessors), reserved), reserved};
  // Nothing decides between slices here: one graph per unit.
  settings.unit.slice_cap = patience;
  settings.unit.timing.repeats = 1;
  return settings;
}

void run_unit(const weft::Driver& driver, weft::PreparedFill& fill, std::uint64_t number, std::FILE* report) {
  if (!fill.job().begin_unit(number)) throw weft::SetUpError("begin_unit failed: " + fill.job().failure());
  for (const weft::Slice& slice : fill.unit().whole())
    check(driver, driver.cuGraphLaunch(slice.graph, fill.stream()), "launching a unit");
  weft::wait_for(driver, fill.stream(), patience);
  std::int8_t correct = -1;
  if (!fill.job().end_unit(number, correct)) throw weft::SetUpError("end_unit failed: " + fill.job().failure());
  std::fprintf(report, "%" PRId64 " %d\n", now(), static_cast<int>(correct));
  std::fflush(report);
}

void run_units(const ContinuousFill& fill, const std::atomic<bool>& stop, const std::function<void()>& ready) {
  weft::Driver driver;
  driver.load(symbol);
  if (!driver.missing_to_observe.empty() || !driver.missing_to_fill.empty())
    throw weft::SetUpError("the driver lacks functions that filling needs");
  CUdevice device{};
  CUcontext context = nullptr;
  check(driver, driver.cuDeviceGet(&device, fill.device), "cuDeviceGet");
  check(driver, driver.cuDevicePrimaryCtxRetain(&context, device), "retaining the context");
  check(driver, driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  weft::PreparedFill prepared(driver, settings_of(fill, driver, device), nullptr, [](const char*) {});
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> report(std::fopen(fill.report.c_str(), "w"), &std::fclose);
  if (report == nullptr) throw weft::SetUpError(fill.report + " cannot be written");
  if (ready) ready();
  for (std::uint64_t number = 0; !stop.load(std::memory_order_relaxed); ++number)
    run_unit(driver, prepared, number, report.get());
}

}  // namespace

std::string run(const ContinuousFill& fill, void* driver_library, const std::atomic<bool>& stop,
                const std::function<void()>& ready) {
  open_driver = driver_library;
  try {
    run_units(fill, stop, ready);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace measures
