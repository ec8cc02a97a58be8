// How much later does a kernel of NCCL's shape (640 threads, 96 registers, clusters of 4) start when fill holds all but
// N multiprocessors? Decides how many the fill must leave free.
//
// Run by scripts/gpu-proof; main thread only. All times are of the device's clock: from the end of a stamp on NCCL's
// stream to the moment at which all blocks of the kernel behind it are resident.
#include "gpu.h"
#include "report.h"
#include "statistics.h"
#include "work.h"

namespace probe {
namespace {

constexpr double fill_microseconds = 2000, predecessor_microseconds = 200;

struct Delay {
  double start;      // of the kernel, after its predecessor
  double remaining;  // of the fill, at the end of the predecessor
};

class Experiment {
 public:
  // Fill on so many multiprocessors, 0: none.
  std::vector<Delay> measure(unsigned fill_blocks, unsigned blocks, unsigned cluster, int count) {
    std::vector<Delay> delays;
    for (int attempt = 0; attempt < count; ++attempt) delays.push_back(once(fill_blocks, blocks, cluster));
    return delays;
  }

 private:
  Delay once(unsigned fill_blocks, unsigned blocks, unsigned cluster) {
    hold_.launch(fill_stream_);
    check(driver().cuEventRecord(begun_, fill_stream_));
    if (fill_blocks > 0) fill_.launch_resident(fill_stream_, fill_microseconds, fill_blocks);
    check(driver().cuStreamWaitEvent(stream_, begun_, 0));
    predecessor_.launch(stream_, predecessor_microseconds);
    spin_.launch_released(stream_, blocks, cluster);
    hold_.release();
    check(driver().cuStreamSynchronize(stream_));
    check(driver().cuStreamSynchronize(fill_stream_));
    const auto before = static_cast<double>(predecessor_.ended());
    const double end = fill_blocks > 0 ? static_cast<double>(fill_.ended()) : before;
    return {(static_cast<double>(spin_.started()) - before) / 1e3, (end - before) / 1e3};
  }

  CUstream stream_ = make_stream(), fill_stream_ = make_stream();
  CUevent begun_ = make_event();
  Busy fill_, predecessor_;
  Spin hold_, spin_;
};

std::vector<double> starts_of(const std::vector<Delay>& delays) {
  std::vector<double> starts;
  for (const Delay& each : delays) starts.push_back(each.start);
  return starts;
}

std::string measure(const Options& options, Report& report) {
  use_gpu();
  const int count = options.quick ? 8 : 30;
  const unsigned cluster = gpu().major >= 9 ? 4 : 1;
  const auto all = static_cast<unsigned>(gpu().multiprocessors);
  int registers = 0;
  check(driver().cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS,
                                    gpu().functions[static_cast<std::size_t>(Kernel::spin)]));
  report.add("multiprocessors", gpu().multiprocessors);
  report.add("registers_of_kernel", registers);
  report.add("cluster", static_cast<int>(cluster));
  Experiment experiment;
  std::string fact;
  for (const unsigned blocks : {4U, 16U}) {
    const std::string key = "blocks_" + std::to_string(blocks);
    const std::vector<double> idle = starts_of(experiment.measure(0, blocks, cluster, count));
    report.add(key + "_idle_us", median(idle));
    std::vector<double> free_counts, medians, tails, delayed_shares;
    double enough = std::nan("");
    for (const unsigned free : {0U, 2U, 4U, 6U, 8U, 12U, 16U, 20U, 24U, 32U}) {
      if (free >= all) continue;
      const std::vector<Delay> delays = experiment.measure(all - free, blocks, cluster, count);
      double delayed = 0;
      for (const Delay& each : delays) delayed += each.start > each.remaining / 2 ? 1 : 0;
      free_counts.push_back(free);
      medians.push_back(median(starts_of(delays)));
      tails.push_back(quantile(starts_of(delays), 0.99));
      delayed_shares.push_back(delayed / static_cast<double>(delays.size()));
      if (std::isnan(enough) && delayed == 0) enough = free;
      if (delayed > 0) enough = std::nan("");
    }
    report.add(key + "_free", free_counts);
    report.add(key + "_start_us", medians);
    report.add(key + "_start_p99_us", tails);
    report.add(key + "_delayed_share", delayed_shares);
    report.add(key + "_enough_free", enough);
    fact += format(
        "%s%u blocks in clusters of %u start %.1f us after their predecessor on the idle device and wait for "
        "the fill (%.0f us at 0 free) unless %s multiprocessors are free",
        fact.empty() ? "" : "; ", blocks, cluster, median(idle), medians.front(),
        std::isnan(enough) ? "more than 32" : std::to_string(static_cast<int>(enough)).c_str());
  }
  return fact;
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "start_delay_against_fill", probe::measure);
}
