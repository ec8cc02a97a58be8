// From /proc; see the header.
#include "trace/write/own_process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string>
#include <system_error>

namespace weft {

std::uint64_t own_process_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

// The name of the program is the second field, in brackets, and may hold blanks and brackets. The state is the third,
// the start the 22nd.
std::optional<std::uint64_t> start_in_stat(std::string_view text) {
  constexpr int fields_between = 20;  // from the name to the start
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(name_end);
  if (text.starts_with(") Z") || text.starts_with(") X")) return std::nullopt;  // nobody has asked how it ended
  for (int field = 0; field < fields_between; ++field) {
    const std::size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    text.remove_prefix(blank + 1);
  }
  std::uint64_t start = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), start);
  return error == std::errc{} ? std::optional(start) : std::nullopt;
}

std::optional<std::uint64_t> start_of_process(std::int64_t process) {
  const std::string path = "/proc/" + std::to_string(process) + "/stat";
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return std::nullopt;
  std::array<char, 1024> bytes{};
  const ssize_t count = ::read(file, bytes.data(), bytes.size());
  ::close(file);
  if (count <= 0) return std::nullopt;
  return start_in_stat({bytes.data(), static_cast<std::size_t>(count)});
}

}  // namespace weft
