// From /proc and the clocks; see the header.
#include "trace/write/clocks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <system_error>

namespace weft {
namespace {

// Of a file that is shorter than this; "": it cannot be read.
std::string text_of(const char* path) {
  std::array<char, 512> bytes;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return "";
  const ssize_t count = ::read(file, bytes.data(), bytes.size());
  ::close(file);
  return count > 0 ? std::string(bytes.data(), static_cast<std::size_t>(count)) : "";
}

std::optional<std::int64_t> next_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

Duration reading(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

}  // namespace

std::string boot_id() {
  const std::string text = text_of("/proc/sys/kernel/random/boot_id");
  return text.substr(0, text.find('\n'));
}

// "monotonic <seconds> <nanoseconds>", and a line for another clock.
std::optional<Duration> clock_offset_in(std::string_view text) {
  constexpr std::string_view name = "monotonic";
  constexpr std::int64_t most_seconds = std::int64_t{1} << 32;
  if (!text.starts_with(name)) return std::nullopt;
  text.remove_prefix(name.size());
  const std::optional<std::int64_t> seconds = next_number(text);
  const std::optional<std::int64_t> nanoseconds = next_number(text);
  if (!seconds || !nanoseconds || *seconds > most_seconds || *seconds < -most_seconds) return std::nullopt;
  return std::chrono::seconds(*seconds) + Duration(*nanoseconds);
}

std::optional<Duration> clock_offset() {
  return clock_offset_in(text_of("/proc/self/timens_offsets"));
}

ClockRecord clock_pair() {
  constexpr int tries = 4;
  ClockRecord best;
  for (int attempt = 0; attempt < tries; ++attempt) {
    const Duration before = reading(CLOCK_MONOTONIC);
    const Duration wall_clock = reading(CLOCK_REALTIME);
    const Duration width = reading(CLOCK_MONOTONIC) - before;
    if (attempt == 0 || width < best.width) best = {TimePoint(before + width / 2), wall_clock, width};
  }
  return best;
}

}  // namespace weft
