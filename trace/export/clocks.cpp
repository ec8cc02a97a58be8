// By boot, then by wall clock; see the header.
#include "trace/export/clocks.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace weft {
namespace {

// Farther apart no two clocks of one run are.
constexpr Duration most_apart = std::chrono::hours(24 * 365);

// An older Weft wrote no boot, and of some systems it cannot be read: then the host stands for it.
std::string clock_of(const TraceHeader& header) {
  return header.boot.empty() ? "host " + std::string(header.host) : "boot " + std::string(header.boot);
}

// Farther no clock and no offset of one is, and sums of some of them are still numbers.
constexpr Duration farthest{std::int64_t{1} << 59};

Duration offset_of(const TraceHeader& header) {
  return std::clamp(header.clock_offset, -farthest, farthest);
}

// On the kernel's own clock, when the header was written.
TimePoint kernel_start(const TraceHeader& header) {
  return std::min(header.started, TimePoint{farthest}) - offset_of(header);
}

// To be added to times of the kernel's clock of `header`: then the wall clocks of both show the same. Nothing: they are
// so far apart that one of them is not set.
std::optional<Duration> between(const TraceHeader& reference, const TraceHeader& header) {
  const Duration walls = header.wall_clock - reference.wall_clock;
  if (walls > most_apart || walls < -most_apart) return std::nullopt;
  return (kernel_start(reference) - kernel_start(header)) + walls;
}

// Some of the same clock tell their offset and some do not: these may be moved by any time.
bool lacks_offsets(const std::vector<TraceHeader>& headers) {
  std::map<std::string, std::set<bool>> known;
  for (const TraceHeader& header : headers) known[clock_of(header)].insert(header.clock_offset_known);
  return std::ranges::any_of(known, [](const auto& clock) { return clock.second.size() > 1; });
}

}  // namespace

CommonClock common_clock(const std::vector<TraceHeader>& headers) {
  CommonClock result;
  std::map<std::string, Duration> clocks;
  bool unset = false;
  for (const TraceHeader& header : headers) {
    const auto [clock, is_new] = clocks.emplace(clock_of(header), Duration{});
    if (is_new) {
      const std::optional<Duration> apart = between(headers.front(), header);
      unset = unset || !apart;
      clock->second = apart.value_or(kernel_start(headers.front()) - kernel_start(header));
    }
    result.shifts.push_back(clock->second - offset_of(header));
  }
  if (lacks_offsets(headers))
    result.notes.push_back(
        "ranks of one boot: some do not know by how much a time namespace has moved their clock (clock_offset is null) "
        "and were not moved; if they are in one, they stand at the wrong time");
  if (clocks.size() < 2) return result;
  std::string note =
      "the ranks are of " + std::to_string(clocks.size()) +
      " clocks (hosts), put beside each other by their wall clocks: times of different hosts may be apart by "
      "tenths of a millisecond and more (in a long run by more and more, as their drift is not taken out), and "
      "an arrow between them may begin after its end";
  if (unset) note += "; the wall clock of one is not set, and its ranks were moved to the start of the first";
  result.notes.push_back(note);
  return result;
}

}  // namespace weft
