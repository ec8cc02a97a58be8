// The state of the memory rescue; see memory_rescue.h.
#include "shim/main_job/memory_rescue.h"

namespace weft {
namespace {

// How much the main job may still take of a device before the core wants to hear of it.
constinit std::atomic<std::int64_t> bytes_allowed[most_devices]{};

}  // namespace

constinit std::atomic<std::uint32_t> times_given_back{0};

void memory_reserved(int device) {
  if (device >= 0 && device < most_devices) bytes_allowed[device].store(0, std::memory_order_relaxed);
}

void memory_given_back() {
  times_given_back.fetch_add(1, std::memory_order_release);
}

void note_taken(int device, std::size_t bytes) noexcept {
  const auto taken = static_cast<std::int64_t>(bytes);
  if (bytes_allowed[device].fetch_sub(taken, std::memory_order_relaxed) > taken) return;
  CoreCall inside;
  bytes_allowed[device].store(static_cast<std::int64_t>(core()->memory_taken(device)), std::memory_order_relaxed);
}

}  // namespace weft
