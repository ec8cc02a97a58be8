// The map from addresses to allocations; see ranges.h. Any thread.
#include "memory/ranges.h"

#include <iterator>

namespace simgpu {

bool Ranges::insert(Range range) {
  const std::lock_guard lock(mutex_);
  const auto after = by_base_.lower_bound(range.base);
  if (after != by_base_.end() && after->second.base < range.end()) return false;
  if (after != by_base_.begin() && std::prev(after)->second.end() > range.base) return false;
  range.id = next_id_++;
  by_base_.emplace_hint(after, range.base, std::move(range));
  return true;
}

std::optional<Range> Ranges::find(std::uintptr_t address) const {
  const std::lock_guard lock(mutex_);
  const Range* const range = locate(address);
  if (range == nullptr) return std::nullopt;
  return *range;
}

Range* Ranges::locate(std::uintptr_t address) const {
  const auto after = by_base_.upper_bound(address);
  if (after == by_base_.begin()) return nullptr;
  Range& range = std::prev(after)->second;
  return address < range.end() ? &range : nullptr;
}

// Never destroyed: threads may still call the driver while the process exits.
Ranges& accessible_ranges() {
  static auto* const ranges = new Ranges;
  return *ranges;
}

Ranges& reserved_ranges() {
  static auto* const ranges = new Ranges;
  return *ranges;
}

}  // namespace simgpu
