// weft_core_start() and the services that the shim calls: the border between C function pointers and the core.
//
// Runs on threads of the main job, inside hooks. Nothing leaves by an exception: what cannot be handled turns the shim
// into a pass-through. The one object of the process is never destroyed, so that nothing of it runs at exit.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "runner/core/device_setup.h"
#include "runner/core/device_table.h"
#include "runner/core/exception_tables.h"
#include "runner/core/rescue.h"
#include "runner/log.h"
#include "shim/seam/core_interface.h"

namespace weft {
namespace {

// How long the opening of a communicator may wait for memory that an earlier one has left.
constexpr Duration left_over_limit = std::chrono::seconds(1);
constexpr Duration longest_stay = std::chrono::seconds(5);  // of a thread in a device that another one closes

struct Core {
  Core(const ShimServices& shim, const Options& options, std::string fill_probe)
      : context(shim, options, std::move(fill_probe)) {}

  CoreContext context;
  DeviceTable devices;
  std::atomic<bool> failed{false};  // nothing is reserved any more
  // The functions of a fill job are called by one thread at a time, also where the process has several devices.
  std::mutex set_up_mutex;
};

// Set before the shim can call a service. Released and acquired here, too, because no sanitizer sees the shim do it.
constinit std::atomic<Core*> started{nullptr};

Core& the_core() noexcept {
  return *started.load(std::memory_order_acquire);
}

// The core, or a thread of it, has failed. The hooks become pass-throughs when all memory has been given back, because
// nothing could do that later; until then the services go on.
void wind_up() noexcept {
  try {
    if (the_core().devices.give_all_back()) the_core().context.shim.turn_off("the core failed");
  } catch (...) {
    // No memory even for this: at the next call of a service.
  }
}

template <class Call>
auto guarded(Call call) noexcept -> decltype(call()) {
  struct AtTheEnd {
    ~AtTheEnd() {
      if (the_core().failed) wind_up();
    }
  };
  [[maybe_unused]] const AtTheEnd after{};
  const auto fail = [](const char* reason) {
    if (!the_core().failed.exchange(true)) log_parts(LogLevel::error, {"Weft is off in this process: ", reason});
  };
  try {
    return call();
  } catch (const std::exception& error) {
    fail(error.what());
  } catch (...) {
    fail("an unknown failure");
  }
  return decltype(call())();
}

void communicator_opened(const CommunicatorInfo& communicator) {
  guarded([&] {
    Core& core = the_core();
    DeviceEntry& entry = core.devices.entry(communicator.device);
    const std::lock_guard lock(entry.mutex);
    if (!entry.device) {
      const std::lock_guard set_up_lock(core.set_up_mutex);
      auto device = std::make_unique<Device>(core.context, communicator.device);
      device->open(communicator, !core.failed && entry.release_left_over(left_over_limit));
      entry.device = std::move(device);
    } else {
      entry.device->communicator_opened(communicator);
      // Nothing of the communicator is pending yet, and making it took its time anyway.
      const std::unique_lock set_up_lock(core.set_up_mutex, std::try_to_lock);
      if (set_up_lock.owns_lock()) entry.device->quiet_moment(Hold::any);
    }
    core.devices.note(communicator.id, communicator.device);
  });
}

void quiet_moment(int device) {
  guarded([&] {
    DeviceEntry& entry = the_core().devices.entry(device);
    const std::unique_lock lock(entry.mutex, std::try_to_lock);
    const std::unique_lock set_up_lock(the_core().set_up_mutex, std::try_to_lock);
    if (lock.owns_lock() && set_up_lock.owns_lock() && entry.device && !the_core().failed)
      entry.device->quiet_moment(Hold::bounded);
  });
}

// A thread that holds it may be stuck in the driver until the main job has done what it is about to do.
std::unique_lock<std::mutex> locked(DeviceEntry& entry) {
  std::unique_lock lock = entry.lock_within(the_core().failed ? Duration{0} : longest_stay);
  if (!lock.owns_lock()) throw std::runtime_error("another thread does not come back from the driver");
  return lock;
}

void communicator_closing(CommunicatorId communicator) {
  guarded([&] {
    DeviceEntry* const entry = the_core().devices.entry_of(communicator);
    if (entry == nullptr) return;
    const auto lock = locked(*entry);
    if (entry->device && entry->device->communicator_closing(communicator)) entry->finish();
    the_core().devices.forget(communicator);
  });
}

bool rescue_memory(int device) {
  if (the_core().context.options.mode != Mode::fill) return false;
  return guarded([&] { return rescue_memory(the_core().context, the_core().devices.entry(device), device); });
}

std::uint64_t memory_taken(int device) {
  if (the_core().context.options.mode != Mode::fill) return std::numeric_limits<std::int64_t>::max();
  return guarded([&] { return allow_memory(the_core().context, the_core().devices.entry(device)); });
}

void context_closing(int device) {
  guarded([&] {
    DeviceEntry& entry = the_core().devices.entry(device);
    const auto lock = locked(entry);
    entry.abandon();
    forget_words(the_core().context, device);
  });
}

GroupId call_returned(int device, GroupId group, const char* range) {
  return the_core().context.call_sites.call_returned(device, group, range);
}

std::string directory_of_this_library() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&weft_core_start), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string joined(const std::vector<const char*>& names) {
  std::string text;
  for (const char* name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

bool start(const ShimServices& shim, CoreServices& services) {
  const Variables variables = environment_variables();
  ParsedOptions parsed = parse_options(variables);
  set_log_level(parsed.options.log);
  if (parsed.options.mode == Mode::off) return false;
  find_exception_tables_without_lock();
  auto core = std::make_unique<Core>(shim, parsed.options, directory_of_this_library() + "/weft-fill-probe");
  core->context.environments = {variables, first_environment_variables()};
  core->context.option_warnings = std::move(parsed.warnings);
  core->context.validation = std::make_unique<Validation>(parsed.options, variables, shim.mark_own_thread);
  core->context.driver.load(shim.real_driver_symbol);
  if (!core->context.driver.missing_to_observe.empty()) {
    log(LogLevel::error, "this CUDA driver lacks " + joined(core->context.driver.missing_to_observe) + " (it is " +
                             shim.driver_path + "); Weft is off in this process");
    return false;
  }
  services.communicator_opened = &communicator_opened;
  services.communicator_closing = &communicator_closing;
  services.rescue_memory = &rescue_memory;
  services.memory_taken = &memory_taken;
  services.context_closing = &context_closing;
  services.quiet_moment = &quiet_moment;
  services.call_returned = &call_returned;
  core->context.note_failure = [] { the_core().failed = true; };
  started.store(core.release(), std::memory_order_release);
  return true;
}

}  // namespace
}  // namespace weft

extern "C" __attribute__((visibility("default"))) bool weft_core_start(const weft::ShimServices* shim,
                                                                       weft::CoreServices* core) {
  if (std::strcmp(shim->build_id, WEFT_BUILD_ID) != 0) {
    weft::log(weft::LogLevel::error,
              "libweft.so and libweft-core.so are of different builds; Weft is off in this process");
    return false;
  }
  try {
    return weft::start(*shim, *core);
  } catch (...) {
    weft::log_parts(weft::LogLevel::error, {"the core cannot start; Weft is off in this process"});
    return false;
  }
}
