// How long do the commands take of which everything else is made: from the call of a launch to the kernel's start, the
// shortest kernel, a copy of a few bytes? They are constants of the simulated GPU.
//
// Run by scripts/gpu-proof; main thread only. The host's clock and the device's are set against each other with a
// kernel that the host releases: the release lies between two times of the host.
#include <cmath>
#include <limits>

#include "gpu.h"
#include "report.h"
#include "statistics.h"
#include "work.h"

namespace probe {
namespace {

constexpr double kCopiedBytes = 64;

struct ClockOffset {
  double device_minus_host = 0;                            // nanoseconds
  double error = std::numeric_limits<double>::infinity();  // at most so far off
};

ClockOffset compare_clocks(CUstream stream, int count) {
  Spin spin;
  ClockOffset best;
  for (int index = 0; index < count; ++index) {
    spin.launch(stream);
    spin.wait_until_resident();
    const int64_t before = now();
    spin.release();
    while (!spin.has_seen_release()) {
    }
    const int64_t after = now();
    const double error = static_cast<double>(after - before) / 2;
    if (error < best.error) {
      // Differences of large numbers: as integers first.
      const auto ended = static_cast<int64_t>(spin.ended());
      best = {static_cast<double>(ended - before) - error, error};
    }
    check(driver().cuStreamSynchronize(stream));
  }
  return best;
}

double launch_latency(CUstream stream, const ClockOffset& clocks, int count) {
  Busy stamp;
  std::vector<double> latencies;
  for (int index = 0; index < count; ++index) {
    const int64_t called = now();
    stamp.launch(stream, 0);
    check(driver().cuStreamSynchronize(stream));
    const auto started = static_cast<int64_t>(stamp.started());
    latencies.push_back(static_cast<double>(started - called) - clocks.device_minus_host);
  }
  return median(latencies);
}

// Between two stamps, `count` times what `enqueue` does; nanoseconds.
double chain(CUstream stream, int count, const std::function<void()>& enqueue) {
  Spin hold;
  Busy first, last;
  std::vector<double> times;
  for (int repeat = 0; repeat < 10; ++repeat) {
    hold.launch(stream);
    first.launch(stream, 0);
    for (int index = 0; index < count; ++index) enqueue();
    last.launch(stream, 0);
    hold.release();
    check(driver().cuStreamSynchronize(stream));
    times.push_back(static_cast<double>(last.started() - first.ended()));
  }
  return median(times);
}

std::string measure(const Options& options, Report& report) {
  use_gpu();
  const int count = options.quick ? 50 : 300;
  const CUstream stream = make_stream();
  const CUdeviceptr memory = make_device_memory(4096);
  void* const host = make_pinned(4096);
  const ClockOffset clocks = compare_clocks(stream, count);
  double latency = launch_latency(stream, clocks, count);
  if (clocks.error > std::abs(latency) / 2) latency = std::nan("");  // the clocks could not be compared well enough
  const double gap = chain(stream, 0, [] {});
  constexpr int kKernels = 20;
  const double kernels = chain(stream, kKernels, [&] { launch(Kernel::compute, {}, stream, memory, uint64_t{0}); });
  const double shortest = (kernels - (kKernels + 1) * gap) / kKernels;
  const auto copy = [&](bool up) {
    return chain(stream, 1,
                 [&] {
                   check(up ? driver().cuMemcpyHtoDAsync(memory, host, static_cast<std::size_t>(kCopiedBytes), stream)
                            : driver().cuMemcpyDtoHAsync(host, memory, static_cast<std::size_t>(kCopiedBytes), stream));
                 }) -
           2 * gap;
  };
  const double up = copy(true), down = copy(false);
  report.add("launch_latency", latency);
  report.add("clock_error_ns", clocks.error);
  report.add("gap_ns", gap);
  report.add("shortest_block", shortest);
  report.add("copy_latency", up);
  report.add("copy_latency_to_host_ns", down);
  return format(
      "A kernel starts %.2f us after the call of its launch (clocks compared to %.2f us); an empty one takes %.2f us "
      "and "
      "the next one starts %.2f us later; a copy of %.0f bytes takes %.2f us to the device, %.2f us from it",
      latency / 1e3, clocks.error / 1e3, shortest / 1e3, gap / 1e3, kCopiedBytes, up / 1e3, down / 1e3);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "command_times", probe::measure);
}
