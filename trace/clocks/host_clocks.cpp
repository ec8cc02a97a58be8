// See the header.
#include "trace/clocks/host_clocks.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "trace/clocks/clock_offset.h"
#include "trace/read/printable.h"

namespace weft {
namespace {

// Farther apart no two clocks of one run are, and none that is set shows an earlier time (the year 2000).
constexpr Duration most_apart = std::chrono::hours(24 * 365), earliest_set = 30 * most_apart;

// An older Weft wrote no boot, and of some systems it cannot be read: then the host stands for it.
std::string clock_of(const TraceHeader& header) {
  return header.boot.empty() ? "host " + std::string(header.host) : "boot " + std::string(header.boot);
}

Duration offset_of(const TraceHeader& header) {
  return std::clamp(header.clock_offset, -farthest_time, farthest_time);
}

TimePoint outside(TimePoint time, const TraceClock& trace) {
  return TimePoint(std::clamp(time.time_since_epoch(), -farthest_time, farthest_time)) - trace.offset;
}

// Those that do not know their offset are not sure where others of the clock do.
void find_sure(HostClocks& hosts, const std::vector<TraceHeader>& headers) {
  for (const HostClock& clock : hosts.clocks) {
    const auto is_known = [&](std::size_t trace) { return headers[trace].clock_offset_known; };
    const auto known = std::ranges::count_if(clock.traces, is_known);
    if (known == 0 || known == std::ssize(clock.traces)) continue;
    hosts.lacks_offsets = true;
    for (const std::size_t trace : clock.traces) hosts.traces[trace].is_sure = is_known(trace);
  }
}

void find_times(HostClocks& hosts, const std::vector<TraceHeader>& headers, const std::vector<TimePoint>& ends) {
  for (HostClock& clock : hosts.clocks) {
    bool is_first = true;
    for (const std::size_t trace : clock.traces) {
      if (!hosts.traces[trace].is_sure) continue;
      const TimePoint started = outside(headers[trace].started, hosts.traces[trace]);
      const TimePoint ended = ends.empty() ? started : outside(ends[trace], hosts.traces[trace]);
      if (is_first) {
        clock.started = clock.first = clock.last = started;
        clock.wall_clock = headers[trace].wall_clock;
      }
      is_first = false;
      clock.first = std::min(clock.first, started);
      clock.last = std::max(clock.last, ended);
    }
  }
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
  const Duration one = clocks[clock].wall_clock, other = clocks[base].wall_clock;
  return std::min(one, other) >= earliest_set && std::chrono::abs(one - other) <= most_apart;
}

HostClocks host_clocks(const std::vector<TraceHeader>& headers, const std::vector<TimePoint>& ends) {
  HostClocks result;
  std::map<std::string, std::uint32_t> numbers;
  for (std::size_t trace = 0; trace < headers.size(); ++trace) {
    const TraceHeader& header = headers[trace];
    const auto [entry, is_new] = numbers.emplace(clock_of(header), static_cast<std::uint32_t>(result.clocks.size()));
    if (is_new) {
      result.clocks.emplace_back();
      result.clocks.back().name = "host " + printable(header.host);
    }
    result.clocks[entry->second].traces.push_back(trace);
    result.traces.push_back({entry->second, offset_of(header)});
  }
  find_sure(result, headers);
  find_times(result, headers, ends);
  tell_apart(result.clocks, headers);
  return result;
}

}  // namespace weft
