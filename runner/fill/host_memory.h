// Host memory that this process could still get: what the machine has, and what its memory groups leave of their
// limits.
//
// Asked on a thread of the main job while a device is set up, and in the fill probe. The parsing is pure;
// available_host_memory() reads /proc and /sys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Files of one group of processes (cgroup) as they are read; "" where there is none.
struct MemoryGroup {
  std::string limit, usage, statistics;
};

// Bytes. Nothing where the text does not say, or the group has no limit. Cached pages of files count as available: the
// kernel takes those back first.
std::optional<std::uint64_t> available_on_machine(std::string_view meminfo);
std::optional<std::uint64_t> available_in_group(const MemoryGroup& group);

// From /proc/self/cgroup, of version 1 or 2: the folders of the groups that may limit memory, those above included.
std::vector<std::string> memory_group_folders(std::string_view groups);

// The least of all of these; nothing: nobody tells.
std::optional<std::uint64_t> available_host_memory();

// Whether a copy may be made next to a training. `taken` bytes of it are taken already and miss in `available`. Asked
// again as it grows, because the other ranks on the machine make theirs at the same time.
bool copy_is_small(std::uint64_t bytes, std::uint64_t taken, std::uint64_t available);

}  // namespace weft
