// How long do the commands take of which everything else is made: from the call of a launch to the kernel's start, the
// shortest kernel, a copy of a few bytes? They are constants of the simulated GPU.
//
// Run by scripts/gpu-proof; main thread only. The host's clock and the device's are set against each other with a
// kernel that the host releases: the release lies between two times of the host.
#include <algorithm>
#include <cmath>

#include "gpu.h"
#include "report.h"
#include "statistics.h"
#include "work.h"

namespace probe {
namespace {

constexpr double copied_bytes = 64;

struct Sample {
  double error;    // at most so far off, nanoseconds: the clocks were compared while the kernel was resident
  double latency;  // from the call to the start
};

// Those of the samples whose clocks could be compared best.
std::vector<Sample> launch_latencies(CUstream stream, int count) {
  Spin spin;
  std::vector<Sample> samples;
  for (int index = 0; index < count; ++index) {
    const int64_t called = now();
    spin.launch(stream);
    spin.wait_until_resident();
    const int64_t before = now();
    spin.release();
    while (!spin.has_seen_release()) {
    }
    const int64_t after = now();
    check(driver().cuStreamSynchronize(stream));
    // Differences of large numbers as integers. The kernel saw its release in the middle of `before` and `after`.
    const auto on_device = static_cast<int64_t>(spin.ended() - spin.started());
    const double error = static_cast<double>(after - before) / 2;
    samples.push_back({error, static_cast<double>(before - called) + error - static_cast<double>(on_device)});
  }
  std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.error < b.error; });
  samples.resize((samples.size() + 3) / 4);
  return samples;
}

// Between two stamps, `count` times what `enqueue` does; nanoseconds.
double chain(CUstream stream, int count, const std::function<void()>& enqueue) {
  Spin hold;
  Busy first, last;
  std::vector<double> times;
  for (int repeat = 0; repeat < 40; ++repeat) {
    hold.launch(stream);
    first.launch(stream, 0);
    for (int index = 0; index < count; ++index) enqueue();
    last.launch(stream, 0);
    hold.release();
    check(driver().cuStreamSynchronize(stream));
    times.push_back(static_cast<double>(last.started() - first.ended()));
  }
  return middle_mean(times);
}

std::string measure(const Options& options, Report& report) {
  use_gpu();
  const int count = options.quick ? 50 : 300;
  const CUstream stream = make_stream();
  const CUdeviceptr memory = make_device_memory(4096);
  void* const host = make_pinned(4096);
  std::vector<double> latencies, errors;
  for (const Sample& each : launch_latencies(stream, count)) {
    latencies.push_back(each.latency);
    errors.push_back(each.error);
  }
  double latency = middle_mean(latencies);
  const double error = median(errors);
  if (error > std::abs(latency) / 2) latency = std::nan("");  // the clocks could not be compared well enough
  const double gap = chain(stream, 0, [] {});
  constexpr int kernel_count = 20;
  const double kernels = chain(stream, kernel_count, [&] { launch(Kernel::compute, {}, stream, memory, uint64_t{0}); });
  const double shortest = (kernels - (kernel_count + 1) * gap) / kernel_count;
  const auto copy = [&](bool up) {
    return chain(stream, 1,
                 [&] {
                   check(up ? driver().cuMemcpyHtoDAsync(memory, host, static_cast<std::size_t>(copied_bytes), stream)
                            : driver().cuMemcpyDtoHAsync(host, memory, static_cast<std::size_t>(copied_bytes), stream));
                 }) -
           2 * gap;
  };
  const double up = copy(true), down = copy(false);
  report.add("launch_latency", latency);
  report.add("clock_error_ns", error);
  report.add("gap_ns", gap);
  report.add("shortest_block", shortest);
  report.add("copy_latency", up);
  report.add("copy_latency_to_host_ns", down);
  const std::string start = std::isnan(latency)
                                ? "how soon a kernel starts cannot be told"
                                : format("a kernel starts %.2f us after the call of its launch", latency / 1e3);
  return format(
      "An empty kernel takes %.2f us and the next one starts %.2f us later; a copy of %.0f bytes takes %.2f us to the "
      "device, %.2f us from it; %s (clocks compared to %.2f us)",
      shortest / 1e3, gap / 1e3, copied_bytes, up / 1e3, down / 1e3, start.c_str(), error / 1e3);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "command_times", probe::measure);
}
