// The files that this process has open, for tests of what stays open in a training. Called by tests, on any thread;
// another thread may open and close files meanwhile.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace weft::testing {

// One name for each descriptor, in order: names say more than a number where a test fails. One of them is the look's
// own.
inline std::vector<std::string> open_descriptors() {
  std::vector<std::string> open;
  for (const auto& descriptor : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed_meanwhile;
    open.push_back(std::filesystem::read_symlink(descriptor.path(), closed_meanwhile));
  }
  std::ranges::sort(open);
  return open;
}

}  // namespace weft::testing
