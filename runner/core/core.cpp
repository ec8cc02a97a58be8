// weft_core_start() and the services that the shim calls: the border between C function pointers and the core.
//
// Runs on threads of the main job, inside hooks. Nothing leaves by an exception: what cannot be handled turns the shim
// into a pass-through. The one object of the process is never destroyed, so that nothing of it runs at exit.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "runner/clock.h"
#include "runner/core/device.h"
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

  // A device with the lock that makes its calls come one at a time.
  struct Entry {
    std::mutex mutex;
    std::unique_ptr<Device> device;           // nothing before its first and after its last communicator
    std::unique_ptr<Device> leftover;         // an earlier one that could not free its memory
    std::atomic<bool> waited_in_vain{false};  // for the driver; no later rescue waits
    std::atomic<bool> said_in_vain{false};    // that an allocation could not be rescued
    std::atomic<std::uint32_t> rescues{0};    // times that memory was given back to the main job
  };

  Entry& entry(int ordinal) {
    const std::lock_guard lock(mutex);
    std::unique_ptr<Entry>& found = entries[ordinal];
    if (!found) found = std::make_unique<Entry>();
    return *found;
  }
  Entry* entry_of(CommunicatorId communicator) {
    const std::lock_guard lock(mutex);
    const auto found = device_of.find(communicator);
    return found == device_of.end() ? nullptr : entries[found->second].get();
  }
  void forget(CommunicatorId communicator) {
    const std::lock_guard lock(mutex);
    device_of.erase(communicator);
  }

  Entry* nth_entry(std::size_t number) {
    const std::lock_guard lock(mutex);
    if (number >= entries.size()) return nullptr;
    return std::next(entries.begin(), static_cast<std::ptrdiff_t>(number))->second.get();
  }

  CoreContext context;
  std::atomic<bool> failed{false};  // nothing is reserved any more
  std::mutex set_up_mutex;
  std::mutex mutex;
  std::map<int, std::unique_ptr<Entry>> entries;  // guarded by mutex; an entry is never removed
  std::map<CommunicatorId, int> device_of;        // guarded by mutex
};

Core* the_core = nullptr;  // set before the shim can call a service

// True: nothing is left.
bool release_left_over(Core::Entry& entry, Duration limit) {
  if (entry.leftover == nullptr) return true;
  entry.leftover->release_left_over(limit);
  if (entry.leftover->holds_fill()) return false;
  entry.leftover = nullptr;
  return true;
}

// True: nothing is reserved on the device any more.
bool give_back(Core::Entry& entry) {
  const std::unique_lock lock(entry.mutex, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  if (entry.device) entry.device->give_memory_back("Weft has failed", Duration{0});
  return release_left_over(entry, Duration{0}) && (!entry.device || !entry.device->holds_memory());
}

// The core, or a thread of it, has failed. The hooks become pass-throughs when all memory has been given back, because
// nothing could do that later; until then the services go on.
void wind_up() noexcept {
  try {
    bool all = true;
    for (std::size_t number = 0; Core::Entry* const entry = the_core->nth_entry(number); ++number)
      all = give_back(*entry) && all;
    if (all) the_core->context.shim.turn_off("the core failed");
  } catch (...) {
    // No memory even for this: at the next call of a service.
  }
}

template <class Call>
auto guarded(Call call) noexcept -> decltype(call()) {
  struct AtTheEnd {
    ~AtTheEnd() {
      if (the_core->failed) wind_up();
    }
  };
  [[maybe_unused]] const AtTheEnd after{};
  const auto fail = [](const char* reason) {
    if (!the_core->failed.exchange(true)) log_parts(LogLevel::error, {"Weft is off in this process: ", reason});
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

// Nobody but the entry knows a device, and whoever looks at it has the entry's lock; so it goes, unless it has memory
// that cannot be freed yet.
void finish_with(Core::Entry& entry) {
  if (entry.device->holds_fill())
    entry.leftover = std::move(entry.device);
  else
    entry.device.reset();
}

void communicator_opened(const CommunicatorInfo& communicator) {
  guarded([&] {
    Core& core = *the_core;
    Core::Entry& entry = core.entry(communicator.device);
    const std::lock_guard lock(entry.mutex);
    if (!entry.device) {
      // The functions of a fill job are called by one thread at a time, also where the process has several devices.
      const std::lock_guard set_up_lock(core.set_up_mutex);
      auto device = std::make_unique<Device>(core.context, communicator.device);
      device->open(communicator, !core.failed && release_left_over(entry, left_over_limit));
      entry.device = std::move(device);
    } else {
      entry.device->communicator_opened(communicator);
      // Nothing of the communicator is pending yet, and making it took its time anyway.
      const std::unique_lock set_up_lock(core.set_up_mutex, std::try_to_lock);
      if (set_up_lock.owns_lock()) entry.device->quiet_moment(Hold::any);
    }
    const std::lock_guard map_lock(core.mutex);
    core.device_of[communicator.id] = communicator.device;
  });
}

void quiet_moment(int device) {
  guarded([&] {
    Core::Entry& entry = the_core->entry(device);
    const std::unique_lock lock(entry.mutex, std::try_to_lock);
    const std::unique_lock set_up_lock(the_core->set_up_mutex, std::try_to_lock);
    if (lock.owns_lock() && set_up_lock.owns_lock() && entry.device && !the_core->failed)
      entry.device->quiet_moment(Hold::bounded);
  });
}

// A thread that holds it may be stuck in the driver until the main job has done what it is about to do.
std::unique_lock<std::mutex> locked(Core::Entry& entry) {
  std::unique_lock lock(entry.mutex, std::try_to_lock);
  const Duration limit = the_core->failed ? Duration{0} : longest_stay;
  if (!lock.owns_lock() && !wait_at_most(limit, [&] { return lock.try_lock(); }))
    throw std::runtime_error("another thread does not come back from the driver");
  return lock;
}

void communicator_closing(CommunicatorId communicator) {
  guarded([&] {
    Core::Entry* const entry = the_core->entry_of(communicator);
    if (entry == nullptr) return;
    const auto lock = locked(*entry);
    if (entry->device && entry->device->communicator_closing(communicator)) finish_with(*entry);
    the_core->forget(communicator);
  });
}

// A failing allocation goes back to the main job as it is. Said once on a device.
void not_rescued(Core::Entry& entry, const char* why) {
  if (entry.said_in_vain.exchange(true)) return;
  log(LogLevel::warn,
      "an allocation of the training failed while Weft held " + std::to_string(the_core->context.options.memory >> 20) +
          " MiB of device memory, which could not be given back within 1 s: " + why + "; set a smaller WEFT_MEMORY");
}

// The thread that sets the device up, if one does, finds out by itself.
bool trial_gave_way(Core::Entry& entry) {
  ++entry.rescues;
  const std::unique_lock lock(entry.mutex, std::try_to_lock);
  if (lock.owns_lock() && entry.device) entry.device->trial_gave_way();
  return true;
}

bool rescue_memory(int device) {
  if (the_core->context.options.mode != Mode::fill) return false;
  return guarded([&] {
    Core::Entry& entry = the_core->entry(device);
    const std::uint32_t before = entry.rescues;
    if (the_core->context.trials.give_way(device, rescue_limit)) return trial_gave_way(entry);
    const auto patience = [&] { return entry.waited_in_vain ? Duration{0} : rescue_limit; };
    std::unique_lock lock(entry.mutex, std::try_to_lock);
    if (!lock.owns_lock() && !wait_at_most(patience(), [&] { return lock.try_lock(); })) {
      not_rescued(entry, "another thread prepares or closes the device");
      return false;
    }
    // Two threads may have run out of memory at the same time: what the first has got back is there for both.
    if (entry.rescues != before) return true;
    const char* const reason = "the main job needed the memory of the reservation (WEFT_MEMORY)";
    bool rescued = false, held = false;
    for (Device* const holder : {entry.device.get(), entry.leftover.get()}) {
      if (holder == nullptr) continue;
      held = held || holder->holds_memory();
      rescued = holder->give_memory_back(reason, patience()) || rescued;
    }
    if (rescued) {
      ++entry.rescues;
    } else if (held) {
      entry.waited_in_vain = true;
      not_rescued(entry, "the driver waits for work that has not ended");
    }
    return rescued;
  });
}

// At the hand of a thread that has just allocated: it is not made to wait for another one that is in the device.
std::uint64_t memory_taken(int device) {
  constexpr std::uint64_t soon = std::uint64_t{1} << 20, later = std::uint64_t{1} << 30;
  if (the_core->context.options.mode != Mode::fill) return later;
  return guarded([&]() -> std::uint64_t {
    Core::Entry& entry = the_core->entry(device);
    const std::unique_lock lock(entry.mutex, std::try_to_lock);
    if (!lock.owns_lock()) return soon;
    if (!entry.device || !entry.device->holds_memory()) return later;
    const std::uint64_t left = entry.device->keep_head_room();
    if (!entry.device->holds_memory()) ++entry.rescues;  // for a thread whose allocation has failed meanwhile
    return left;
  });
}

void context_closing(int device) {
  guarded([&] {
    Core::Entry& entry = the_core->entry(device);
    const auto lock = locked(entry);
    if (entry.device) entry.device->context_closing();
    if (entry.leftover) entry.leftover->abandon_fill();
    entry.device.reset();
    entry.leftover.reset();
  });
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
  auto core = std::make_unique<Core>(shim, parsed.options, directory_of_this_library() + "/weft-fill-probe");
  core->context.variables = variables;
  core->context.option_warnings = std::move(parsed.warnings);
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
  core->context.note_failure = [] { the_core->failed = true; };
  the_core = core.release();
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
