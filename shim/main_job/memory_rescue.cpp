// The state of the memory rescue; see memory_rescue.h.
#include "shim/main_job/memory_rescue.h"

namespace weft {
namespace {

// How much the main job may still take of a device before the core wants to hear of it.
constinit std::atomic<std::int64_t> bytes_allowed[most_devices]{};
constinit std::atomic<std::uint32_t> times_reserved{0};

}  // namespace

constinit std::atomic<std::uint32_t> times_given_back{0};

void memory_reserved(int device) {
  times_reserved.fetch_add(1, std::memory_order_seq_cst);
  if (device >= 0 && device < most_devices) bytes_allowed[device].store(0, std::memory_order_seq_cst);
}

void note_taken(int device, std::size_t bytes) noexcept {
  const auto taken = static_cast<std::int64_t>(bytes);
  if (bytes_allowed[device].fetch_sub(taken, std::memory_order_relaxed) > taken) return;
  CoreCall inside;
  const std::uint32_t before = times_reserved.load(std::memory_order_seq_cst);
  const auto allowed = static_cast<std::int64_t>(core()->memory_taken(device));
  bytes_allowed[device].store(allowed, std::memory_order_seq_cst);
  // The answer knows nothing of a reservation that was made since.
  if (times_reserved.load(std::memory_order_seq_cst) != before) bytes_allowed[device].store(0);
}

}  // namespace weft
