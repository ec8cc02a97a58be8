// See read_live.h.
#include "trace/live/read_live.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "trace/read/printable.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t longest = std::int64_t{1} << 57;     // four years: a length
constexpr std::int64_t latest = 4'000'000'000'000'000'000;  // the year 2096: a time
constexpr std::int64_t most_ranks = 1 << 24;

bool is_length(std::int64_t length) {
  return length >= 0 && length <= longest;
}
bool is_time(std::int64_t time) {
  return time >= 0 && time <= latest;
}
bool is_bytes(std::int64_t bytes) {
  return bytes >= 0 && bytes <= std::int64_t{1} << 60;
}
bool is_count(std::uint64_t count) {
  return count <= std::uint64_t{1} << 60;
}

bool all(const auto& values, auto is_good) {
  for (const auto& value : values)
    if (!is_good(value)) return false;
  return true;
}

// "": it may be true.
const char* fault_of(const LiveIdentity& identity) {
  if (identity.rank < 0 || identity.ranks < 1 || identity.ranks > most_ranks || identity.rank >= most_ranks)
    return "its rank cannot be";
  if (identity.device < 0 || identity.process < 0) return "its device or process cannot be";
  const bool times =
      is_time(identity.started) && is_time(identity.wall_clock) && std::abs(identity.clock_offset / 2) < latest / 2;
  return times ? "" : "its times cannot be";
}

const char* fault_of(const LiveNumbers& numbers) {
  if (!is_time(numbers.time) || !is_time(numbers.window_begin) || !is_time(numbers.window_end) ||
      numbers.window_end < numbers.window_begin || !is_time(numbers.last_iteration_ended))
    return "its times cannot be";
  const std::array lengths{numbers.idle,           numbers.uncertain,          numbers.dark,
                           numbers.filled,         numbers.idle_left_out,      numbers.moved,
                           numbers.startup_length, numbers.startup_idle,       numbers.startup_uncertain,
                           numbers.startup_filled, numbers.idle_of_other_waits};
  if (!all(lengths, is_length) || !all(numbers.idle_by_cause, is_length)) return "a length cannot be";
  const auto is_iteration = [](const LiveIteration& one) {
    return is_length(one.length) && is_length(one.idle) && is_length(one.uncertain) && is_length(one.filled);
  };
  if (numbers.recent_count > live_iterations || !all(numbers.recent, is_iteration)) return "an iteration cannot be";
  const std::array counts{numbers.iterations,     numbers.bubbles,          numbers.slices,
                          numbers.fill_units,     numbers.fill_units_wrong, numbers.dropped_records,
                          numbers.last_iteration, numbers.forecasts,        numbers.forecasts_within};
  if (!all(counts, is_count) || !all(numbers.unfilled, is_count) || numbers.forecasts_within > numbers.forecasts)
    return "a count cannot be";
  const std::array memory{numbers.memory_cap, numbers.memory_reserved, numbers.memory_used, numbers.device_free,
                          numbers.device_total};
  if (!all(memory, is_bytes)) return "its memory cannot be";
  if (static_cast<std::uint32_t>(numbers.filling) >= live_fillings) return "its state cannot be";
  if (numbers.wait_count > live_waits || numbers.communicator_count > live_communicators ||
      !all(numbers.waits, [](const LiveWait& wait) { return is_length(wait.idle); }))
    return "its waits cannot be";
  return "";
}

bool are_numbers(std::initializer_list<double> values) {
  constexpr double most = 1e6;
  for (const double value : values)
    if (!std::isfinite(value) || std::abs(value) > most) return false;
  return true;
}

// A value that is no number is not known.
void forget_what_is_none(LiveNumbers& numbers) {
  if (!are_numbers({numbers.slowdown, numbers.slowdown_low, numbers.slowdown_high, numbers.slowdown_budget}))
    numbers.slowdown_known = 0;
  if (!are_numbers({numbers.watching, numbers.watching_low, numbers.watching_high})) numbers.watching_known = 0;
  if (!are_numbers({numbers.forecast_error}) || numbers.forecast_error < 0) numbers.forecasts = 0;
  if (!are_numbers({numbers.fill_share}) || numbers.fill_share < 0 || numbers.fill_share > 1) numbers.fill_share = 1;
}

LiveReading faulty(std::string fault, bool is_torn = false) {
  return {std::nullopt, std::move(fault), is_torn};
}

LiveReading read_once(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file < 0) return faulty(std::string("it cannot be opened: ") + std::strerror(errno));
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    return faulty("it is no regular file");
  }
  std::array<char, live_page_bytes> bytes{};
  const ssize_t count = ::pread(file, bytes.data(), bytes.size(), 0);
  const int error = errno;
  ::close(file);
  if (count < 0) return faulty(std::string("it cannot be read: ") + std::strerror(error));
  return read_live_page({bytes.data(), static_cast<std::size_t>(count)});
}

}  // namespace

LiveReading read_live_page(std::string_view bytes) {
  if (bytes.size() < live_page_bytes) return faulty("it is shorter than a page", true);
  LivePage page;
  std::memcpy(static_cast<void*>(&page), bytes.data(), sizeof page);
  if (page.magic != live_magic) return faulty("it is no page of Weft");
  if (page.layout != live_layout || page.bytes != live_page_bytes)
    return faulty("it has layout " + std::to_string(page.layout) + ", this weft knows " + std::to_string(live_layout));
  if (page.sequence != page.sequence_again || page.checksum != checksum_of(page))
    return faulty("it is half written", true);
  for (const char* const fault : {fault_of(page.identity), fault_of(page.numbers)})
    if (*fault != '\0') return faulty(std::string("it cannot be true: ") + fault);
  forget_what_is_none(page.numbers);
  return {page, "", false};
}

LiveReading read_live_file(const std::string& path) {
  constexpr int tries = 5;
  constexpr auto between = std::chrono::milliseconds(2);
  LiveReading reading = read_once(path);
  for (int again = 1; again < tries && reading.is_torn; ++again) {
    std::this_thread::sleep_for(between);
    reading = read_once(path);
  }
  return reading;
}

std::vector<std::string> live_files_in(const std::vector<std::string>& directories) {
  std::vector<std::string> paths;
  for (const std::string& directory : directories) {
    std::error_code error;
    for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (name.starts_with("rank") && name.ends_with(live_extension)) paths.push_back(entry->path().string());
    }
    if (error) throw std::runtime_error(printable(directory) + " cannot be read: " + error.message());
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace weft
