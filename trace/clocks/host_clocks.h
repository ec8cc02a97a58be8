// Which clock each trace of a run is of. Ranks of one boot have the same clock, also in several containers, the offsets
// of their time namespaces aside.
//
// Used by `weft summary`, `weft export` and `weft report`, in the weft command only. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/record.h"

namespace weft {

struct TraceClock {
  std::uint32_t clock = 0;  // index in HostClocks::clocks
  Duration offset{};        // by which a time namespace has set it ahead
  bool is_sure = true;      // false: that is not known, though other traces of its clock tell theirs
};

struct HostClock {
  std::string name;                 // printable: "host a", and its boot where several have that name
  std::vector<std::size_t> traces;  // in their order
  // Of its first trace that is sure of its offset, at the same time: on the kernel's clock, and since 1970.
  TimePoint started{};
  Duration wall_clock{};
  TimePoint first{}, last{};  // likewise of all of them, on the kernel's clock: from the first start to the last record
};

struct HostClocks {
  std::vector<TraceClock> traces;
  std::vector<HostClock> clocks;  // by their first traces
  bool lacks_offsets = false;     // of one clock some traces tell their offset, and some do not

  // How far `clock` is ahead of `base`, by their wall clocks. One of these that is not set, as that of a machine which
  // takes it to be 1970, is not believed: then both are taken to have started at the same time.
  Duration ahead_by_wall_clock(std::uint32_t clock, std::uint32_t base) const;
  bool has_wall_clock(std::uint32_t clock, std::uint32_t base) const;
};

// `ends`: of each trace the time of its last record, on its own clock; none: they are not known.
HostClocks host_clocks(const std::vector<TraceHeader>& headers, const std::vector<TimePoint>& ends = {});

}  // namespace weft
