// See call_sites.h.
#include "shim/main_job/call_sites.h"

#include "shim/activate.h"
#include "shim/main_job/capture.h"
#include "shim/main_job/ranges.h"
#include "shim/process.h"

namespace weft {

constinit std::atomic<GroupId> calls_wanted_from[most_devices]{};

// The core may want another one meanwhile: then it waits in vain for that, and asks again.
[[gnu::noinline]] void show_call(int device, GroupId group) noexcept {
  const CoreServices* const services = core();
  if (services == nullptr || level() != Level::observe || any_capture()) return;
  CoreCall inside;
  want_calls(device, services->call_returned(device, group, innermost_range()));
}

void want_calls(int device, GroupId from) noexcept {
  calls_wanted_from[device].store(from, std::memory_order_relaxed);
}

}  // namespace weft
