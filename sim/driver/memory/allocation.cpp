// Allocations that belong to a context; see allocation.h.
#include "memory/allocation.h"

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "engine/engine.h"
#include "memory/pages.h"

namespace simgpu {
namespace {

// Bases of the allocations that die with a context.
struct ByContext {
  std::mutex mutex;
  std::map<CUcontext, std::set<std::uintptr_t>> bases;
};

ByContext& by_context() {
  static auto* const instance = new ByContext;
  return *instance;
}

bool has_own_pages(const Range& range) {
  return range.kind == RangeKind::device || range.kind == RangeKind::managed || range.kind == RangeKind::pinned;
}

}  // namespace

bool charge(Device& device, std::size_t bytes) {
  if (engine().allocation_fault() || !device.memory.take(bytes)) return false;
  engine().note_memory(device);
  return true;
}

bool enter(Context& context, Range range) {
  range.context = reinterpret_cast<CUcontext>(&context);
  range.device = context.device->ordinal;
  const std::uintptr_t base = range.base;
  if (!accessible_ranges().insert(std::move(range))) return false;
  const std::lock_guard lock(by_context().mutex);
  by_context().bases[reinterpret_cast<CUcontext>(&context)].insert(base);
  return true;
}

void discard(const Range& range) {
  {
    const std::lock_guard lock(by_context().mutex);
    by_context().bases[range.context].erase(range.base);
  }
  if (has_own_pages(range)) release_pages(reinterpret_cast<void*>(range.base), round_up(range.size, page_size));
  if (range.charged == 0) return;
  device_of(range).memory.give_back(range.charged);
  engine().note_memory(device_of(range));
}

Device& device_of(const Range& range) {
  return *engine().devices().at(static_cast<std::size_t>(range.device));
}

void release_context_memory(Context& context) {
  std::set<std::uintptr_t> bases;
  {
    const std::lock_guard lock(by_context().mutex);
    bases.swap(by_context().bases[reinterpret_cast<CUcontext>(&context)]);
  }
  for (const std::uintptr_t base : bases) {
    const auto taken =
        accessible_ranges().erase(base, [](const Range& range) { return range.kind != RangeKind::pooled; });
    if (taken) discard(*taken);
  }
}

}  // namespace simgpu
