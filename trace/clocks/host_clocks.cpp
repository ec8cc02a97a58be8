// See the header.
#include "trace/clocks/host_clocks.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "trace/clocks/clock_offset.h"
#include "trace/read/printable.h"

namespace weft {
namespace {

// Farther apart no two clocks of one run are.
constexpr Duration most_apart = std::chrono::hours(24 * 365);

// An older Weft wrote no boot, and of some systems it cannot be read: then the host stands for it.
std::string clock_of(const TraceHeader& header) {
  return header.boot.empty() ? "host " + std::string(header.host) : "boot " + std::string(header.boot);
}

Duration offset_of(const TraceHeader& header) {
  return std::clamp(header.clock_offset, -farthest_time, farthest_time);
}

HostClock clock_from(const TraceHeader& header) {
  HostClock clock;
  clock.name = "host " + printable(header.host);
  clock.started = std::min(header.started, TimePoint{farthest_time}) - offset_of(header);
  clock.wall_clock = header.wall_clock;
  return clock;
}

// Containers may all be called the same.
void tell_apart(std::vector<HostClock>& clocks, const std::vector<TraceHeader>& headers) {
  constexpr std::size_t shown = 8;  // letters of a boot
  std::map<std::string, std::size_t> times;
  for (const HostClock& clock : clocks) ++times[clock.name];
  for (HostClock& clock : clocks) {
    if (times[clock.name] == 1) continue;
    const std::string boot = printable(std::string_view(headers[clock.traces.front()].boot).substr(0, shown));
    clock.name += boot.empty() ? " (boot not known)" : " (boot " + boot + ")";
  }
}

}  // namespace

Duration HostClocks::ahead_by_wall_clock(std::uint32_t clock, std::uint32_t base) const {
  const HostClock &one = clocks[clock], &other = clocks[base];
  const Duration walls = has_wall_clock(clock, base) ? one.wall_clock - other.wall_clock : Duration{};
  return (one.started - other.started) - walls;
}

bool HostClocks::has_wall_clock(std::uint32_t clock, std::uint32_t base) const {
  return std::chrono::abs(clocks[clock].wall_clock - clocks[base].wall_clock) <= most_apart;
}

HostClocks host_clocks(const std::vector<TraceHeader>& headers) {
  HostClocks result;
  std::map<std::string, std::uint32_t> numbers;
  std::map<std::string, std::set<bool>> known;
  for (std::size_t trace = 0; trace < headers.size(); ++trace) {
    const TraceHeader& header = headers[trace];
    const auto [entry, is_new] = numbers.emplace(clock_of(header), static_cast<std::uint32_t>(result.clocks.size()));
    if (is_new) result.clocks.push_back(clock_from(header));
    result.clocks[entry->second].traces.push_back(trace);
    result.traces.push_back({entry->second, offset_of(header)});
    known[entry->first].insert(header.clock_offset_known);
  }
  result.lacks_offsets = std::ranges::any_of(known, [](const auto& clock) { return clock.second.size() > 1; });
  tell_apart(result.clocks, headers);
  return result;
}

}  // namespace weft
