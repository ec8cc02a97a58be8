// Devices of the process; see devices.h.
#include "shim/main_job/devices.h"

#include "shim/routing/real.h"

namespace weft {
namespace {

constexpr int several = -2;
constinit std::atomic<int> only_device{no_device};
constinit std::atomic<int> other_contexts{0};

}  // namespace

void note_device(int device) noexcept {
  int known = no_device;
  if (!only_device.compare_exchange_strong(known, device, std::memory_order_relaxed) && known != device) {
    only_device.store(several, std::memory_order_relaxed);
  }
}

bool several_devices() noexcept {
  return only_device.load(std::memory_order_relaxed) == several;
}

void note_context_made() noexcept {
  other_contexts.fetch_add(1, std::memory_order_relaxed);
}

// One that was made before anybody counted is not there to be counted down.
void note_context_destroyed() noexcept {
  int count = other_contexts.load(std::memory_order_relaxed);
  while (count > 0 && !other_contexts.compare_exchange_weak(count, count - 1, std::memory_order_relaxed)) continue;
}

bool has_other_contexts() noexcept {
  return other_contexts.load(std::memory_order_relaxed) > 0;
}

bool several_default_streams() noexcept {
  return several_devices() || has_other_contexts();
}

int current_device() noexcept {
  const int known = only_device.load(std::memory_order_relaxed);
  return known >= 0 ? known : ask_current_device();
}

int ask_current_device() noexcept {
  CUdevice device = 0;
  return real<Symbol::cuCtxGetDevice>()(&device) == CUDA_SUCCESS && device < most_devices ? device : no_device;
}

}  // namespace weft
