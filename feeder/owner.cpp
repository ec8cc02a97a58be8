// See owner.h.
#include "feeder/owner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "feeder/files/folder.h"

namespace weft {
namespace {

std::string word_in(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

std::string letters_of(std::string text, std::size_t most) {
  std::erase_if(text, [](unsigned char c) { return std::isalnum(c) == 0; });
  return text.substr(0, most);
}

// When the process started, in ticks since boot; 0: there is none.
std::uint64_t start_of(std::uint64_t pid) {
  // Not by a stream: one throws where the process ends while it is read.
  const int file = ::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 2048> bytes{};
  const ssize_t got = ::read(file, bytes.data(), bytes.size());
  ::close(file);
  const std::string_view text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  const std::size_t end = text.rfind(')');  // of its name, which may have anything in it
  if (end == std::string_view::npos) return 0;
  std::string_view rest = text;
  rest.remove_prefix(end + 1);
  for (int field = 3; field < 22; ++field) {
    const std::size_t space = rest.find(' ', 1);
    if (space == std::string_view::npos) return 0;
    rest.remove_prefix(space);
  }
  return std::strtoull(std::string(rest).c_str(), nullptr, 10);
}

// Of the machine since its start, and of the processes that see each other.
const std::string& own_place() {
  static const std::string place = [] {
    struct stat names {};
    ::stat("/proc/self/ns/pid", &names);
    return letters_of(host_name(), 32) + "-" + letters_of(word_in("/proc/sys/kernel/random/boot_id"), 12) + "-" +
           std::to_string(names.st_ino);
  }();
  return place;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string own_name() {
  const auto pid = static_cast<std::uint64_t>(::getpid());  // asked each time: a child has another one
  return own_place() + "-" + std::to_string(pid) + "-" + std::to_string(start_of(pid));
}

// Nobody knows of processes of another machine, or of one where processes do not see each other.
bool has_ended(const std::string& owner) {
  const std::string place = own_place() + "-";
  if (!owner.starts_with(place)) return false;
  const std::string_view rest = std::string_view(owner).substr(place.size());
  const std::size_t dash = rest.find('-');
  if (dash == std::string_view::npos) return false;
  const auto pid = number_of(rest.substr(0, dash)), start = number_of(rest.substr(dash + 1));
  if (!pid || !start || *start == 0) return false;
  const std::uint64_t there = start_of(*pid);
  // Without a look at it (hidepid) it may live all the same.
  return there == 0 ? ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH : there != *start;
}

}  // namespace weft
