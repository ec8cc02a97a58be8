// See spin_share.h.
#include "runner/core/spin_share.h"

#include <sched.h>

#include <cmath>
#include <fstream>
#include <sstream>

namespace weft {
namespace {

constexpr double enough_processors = 2;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A container sees its own group as the root.
bool is_limited(const std::string& root, std::string path) {
  for (;;) {
    const std::string folder = root + path;
    const std::string quota = text_of(folder + "/cpu.max");
    const std::string older = text_of(folder + "/cpu.cfs_quota_us") + " " + text_of(folder + "/cpu.cfs_period_us");
    if (processors_of_quota(quota).value_or(enough_processors) < enough_processors ||
        processors_of_quota(older).value_or(enough_processors) < enough_processors)
      return true;
    if (path.empty()) return false;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

// Lines of /proc/self/cgroup: "number:controllers:path".
bool is_limited() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",," && is_limited("/sys/fs/cgroup", path)) return true;
    if (controllers.find(",cpu,") != std::string::npos && is_limited("/sys/fs/cgroup/cpu", path)) return true;
  }
  return false;
}

}  // namespace

std::optional<double> processors_of_quota(std::string_view text) {
  std::istringstream words{std::string(text)};
  double quota = 0, period = 0;
  if (!(words >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

double spin_share(double wanted) {
  if (!std::isfinite(wanted)) return 0;  // off
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Of more processors than the set holds nobody needs to know how many there are.
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) < enough_processors) return 0;
  return is_limited() ? 0 : wanted;
}

}  // namespace weft
