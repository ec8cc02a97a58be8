// Kinds of addresses, with the last range of each thread remembered; see addresses.h.
#include "api/addresses.h"

#include "memory/ranges.h"

namespace simgpu {
namespace {

struct LastRange {
  std::uintptr_t base = 0;
  std::uintptr_t end = 0;
  uint64_t removals = ~uint64_t{0};
  AddressKind kind = AddressKind::pageable;
};
thread_local LastRange last_range;

}  // namespace

AddressKind kind_of(std::uintptr_t address, std::size_t bytes) {
  LastRange& last = last_range;
  const Ranges& ranges = accessible_ranges();
  // Read before the lookup: a removal in between makes the remembered range stale, not wrong.
  const uint64_t removals = ranges.removals();
  if (last.removals != removals || address < last.base || address >= last.end) {
    const std::optional<Range> found = ranges.find(address);
    if (!found) return AddressKind::pageable;
    last = {found->base, found->end(), removals, found->on_host() ? AddressKind::pinned : AddressKind::device};
  }
  return bytes <= last.end - address ? last.kind : AddressKind::pageable;
}

}  // namespace simgpu
