// Link times and the reading of their environment variables.
// The environment is read once, on the thread of the first communicator.
#include "link_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace simgpu::nccl {
namespace {

constexpr double nanoseconds_per_second = 1e9;
constexpr uint64_t smallest_fifo = 4096;
constexpr uint64_t largest_fifo = 1 << 26;

void complain(const char* name, const char* value) {
  std::fprintf(stderr, "simgpu: %s=%s cannot be read; the default is used\n", name, value);
}

double positive(const char* name, double fallback) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (*end == '\0' && std::isfinite(value) && value > 0) return value;
  complain(name, text);
  return fallback;
}

nanoseconds duration(const char* name, nanoseconds fallback) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  const std::string_view unit = end;
  const double scale = unit == "ns"                   ? 1
                       : unit == "us" || unit.empty() ? 1e3
                       : unit == "ms"                 ? 1e6
                       : unit == "s"                  ? 1e9
                                                      : 0;
  if (end != text && scale > 0 && std::isfinite(value) && value >= 0) {
    return nanoseconds(static_cast<int64_t>(value * scale));
  }
  complain(name, text);
  return fallback;
}

}  // namespace

std::vector<LinkModel::SlowLink> parse_slow_links(std::string_view faults) {
  std::vector<LinkModel::SlowLink> links;
  while (!faults.empty()) {
    const size_t comma = faults.find(',');
    const std::string entry(faults.substr(0, comma));
    faults = comma == std::string_view::npos ? std::string_view() : faults.substr(comma + 1);
    if (entry.rfind("link=", 0) != 0) continue;
    LinkModel::SlowLink link{};
    int used = 0;
    if (std::sscanf(entry.c_str(), "link=%d>%d:%lf%n", &link.source, &link.destination, &link.factor, &used) == 3 &&
        static_cast<size_t>(used) == entry.size() && link.factor > 0) {
      links.push_back(link);
    } else {
      complain("SIMGPU_FAULTS entry", entry.c_str());
    }
  }
  return links;
}

LinkModel::LinkModel(nanoseconds latency, double bytes_per_second, uint64_t fifo_bytes, double time_scale,
                     std::vector<SlowLink> slow_links)
    : latency_(static_cast<int64_t>(static_cast<double>(latency.count()) * time_scale)),
      bytes_per_second_(bytes_per_second),
      fifo_bytes_(std::bit_ceil(std::clamp(fifo_bytes, smallest_fifo, largest_fifo))),
      time_scale_(time_scale),
      slow_links_(std::move(slow_links)) {}

const LinkModel& LinkModel::from_environment() {
  static const LinkModel* const model = [] {
    const LinkModel defaults;
    const char* faults = std::getenv("SIMGPU_FAULTS");
    return new LinkModel(duration("SIMGPU_NCCL_LATENCY", defaults.latency_),
                         positive("SIMGPU_NCCL_BANDWIDTH", defaults.bytes_per_second_),
                         static_cast<uint64_t>(positive("SIMGPU_NCCL_FIFO", static_cast<double>(defaults.fifo_bytes_))),
                         positive("SIMGPU_TIME_SCALE", 1), parse_slow_links(faults == nullptr ? "" : faults));
  }();
  return *model;
}

double LinkModel::factor(int source, int destination) const {
  double product = 1;
  for (const SlowLink& link : slow_links_) {
    if (link.source == source && link.destination == destination) product *= link.factor;
  }
  return product;
}

nanoseconds LinkModel::time(double messages, double bytes, double slower) const {
  const double wire = bytes / bytes_per_second_ * nanoseconds_per_second * time_scale_;
  return nanoseconds(static_cast<int64_t>((static_cast<double>(latency_.count()) * messages + wire) * slower));
}

nanoseconds LinkModel::transfer(int source, int destination, uint64_t bytes) const {
  return time(1, static_cast<double>(bytes), factor(source, destination));
}

nanoseconds LinkModel::ring(const std::vector<int>& world_ranks, int steps, double bytes) const {
  double slowest = 1;
  for (size_t i = 0; i < world_ranks.size(); ++i) {
    slowest = std::max(slowest, factor(world_ranks[i], world_ranks[(i + 1) % world_ranks.size()]));
  }
  return time(steps, bytes, slowest);
}

}  // namespace simgpu::nccl
