// Host memory according to /proc and /sys; see the header.
#include "runner/fill/host_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

namespace weft {
namespace {

std::optional<std::uint64_t> number_at_start(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const auto result = std::from_chars(text.data() + start, text.data() + text.size(), number);
  return result.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

template <class Take>
void for_each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// The number behind `name` at the start of a line.
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view name) {
  std::optional<std::uint64_t> found;
  for_each_line(text, [&](std::string_view line) {
    if (!found && line.starts_with(name)) found = number_at_start(line.substr(name.size()));
  });
  return found;
}

// Version 1 tells a group's own pages and, as totals, also those of the groups in it; version 2 only the latter.
std::uint64_t pages_of_files(std::string_view statistics) {
  std::uint64_t sum = 0;
  for (const std::string name : {"inactive_file ", "active_file "})
    sum += number_of(statistics, "total_" + name).value_or(number_of(statistics, name).value_or(0));
  return sum;
}

void append_with_those_above(const std::string& root, std::string_view path, std::vector<std::string>& folders) {
  while (!path.empty() && path != "/") {
    folders.push_back(root + std::string(path));
    path = path.substr(0, path.rfind('/'));
  }
  folders.push_back(root);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string text_of_either(const std::string& path, const std::string& other) {
  const std::string text = text_of(path);
  return text.empty() ? text_of(other) : text;
}

}  // namespace

std::optional<std::uint64_t> available_on_machine(std::string_view meminfo) {
  const auto kibibytes = number_of(meminfo, "MemAvailable:");
  return kibibytes ? std::optional(*kibibytes * 1024) : std::nullopt;
}

std::optional<std::uint64_t> available_in_group(const MemoryGroup& group) {
  const auto limit = number_at_start(group.limit), usage = number_at_start(group.usage);
  if (!limit || !usage) return std::nullopt;
  const std::uint64_t needed = *usage - std::min(*usage, pages_of_files(group.statistics));
  return *limit - std::min(*limit, needed);
}

std::vector<std::string> memory_group_folders(std::string_view groups) {
  std::vector<std::string> folders;
  for_each_line(groups, [&](std::string_view line) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    const std::string_view path = line.substr(second + 1);
    if (controllers == ",,") append_with_those_above("/sys/fs/cgroup", path, folders);
    if (controllers.find(",memory,") != std::string::npos)
      append_with_those_above("/sys/fs/cgroup/memory", path, folders);
  });
  return folders;
}

std::optional<std::uint64_t> available_host_memory() {
  std::optional<std::uint64_t> least = available_on_machine(text_of("/proc/meminfo"));
  for (const std::string& folder : memory_group_folders(text_of("/proc/self/cgroup"))) {
    const auto left = available_in_group({text_of_either(folder + "/memory.max", folder + "/memory.limit_in_bytes"),
                                          text_of_either(folder + "/memory.current", folder + "/memory.usage_in_bytes"),
                                          text_of(folder + "/memory.stat")});
    if (left) least = std::min(*left, least.value_or(*left));
  }
  return least;
}

bool copy_is_small(std::uint64_t bytes, std::uint64_t taken, std::uint64_t available) {
  return bytes <= (available + taken) / 4;
}

}  // namespace weft
