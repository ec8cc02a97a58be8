// How much does one slice of fill delay the main job when it is still running as the job goes on, against the slice's
// length; for work in registers and work in memory on either side? Decides how long slices may be.
//
// Run by scripts/gpu-proof; main thread only. The main job's kernels start when 10 to 90 % of the slice are over, by
// the device's clock; everything is enqueued behind a kernel that the host ends last.
#include "gpu.h"
#include "report.h"
#include "statistics.h"
#include "work.h"

namespace probe {
namespace {

constexpr int main_kernels = 10;
constexpr double main_microseconds = 200;  // of each
constexpr unsigned blocks_per_multiprocessor = 4;
constexpr int reserved = 8;  // multiprocessors that fill leaves free

void require_length(const Work& work, double wanted) {
  if (work.microseconds() > 1.5 * wanted) {
    throw Skipped(format("work of %.0f us is wanted, the shortest here takes %.0f us: the device is too slow", wanted,
                         work.microseconds()));
  }
}

const char* name_of(Work::Kind kind) {
  return kind == Work::Kind::compute ? "compute" : "memory";
}

class MainJob {
 public:
  explicit MainJob(Work::Kind kind)
      : work_(kind, static_cast<unsigned>(gpu().multiprocessors) * blocks_per_multiprocessor, main_microseconds,
              stream_) {}

  // Its time from where it goes on, microseconds; with a slice of which so many microseconds are over by then.
  double run(const Work* slice, double over) {
    hold_.launch(fill_stream_);
    check(driver().cuEventRecord(begun_, fill_stream_));
    if (slice != nullptr) slice->launch(fill_stream_);
    check(driver().cuStreamWaitEvent(stream_, begun_, 0));
    predecessor_.launch(stream_, over);
    for (int index = 0; index < main_kernels; ++index) work_.launch(stream_);
    last_.launch(stream_, 0);
    hold_.release();
    check(driver().cuStreamSynchronize(stream_));
    check(driver().cuStreamSynchronize(fill_stream_));
    return static_cast<double>(last_.started() - predecessor_.ended()) / 1e3;
  }
  CUstream fill_stream() const { return fill_stream_; }

 private:
  CUstream stream_ = make_stream(), fill_stream_ = make_stream();
  CUevent begun_ = make_event();
  Work work_;
  Spin hold_;
  Busy predecessor_, last_;
};

std::string measure(const Options& options, Report& report) {
  use_gpu();
  if (gpu().multiprocessors <= reserved) throw Skipped("too few multiprocessors");
  const int repeats = options.quick ? 1 : 5;
  const std::vector<double> lengths =
      options.quick ? std::vector<double>{100, 300, 1000} : std::vector<double>{50, 100, 200, 300, 500, 1000};
  const auto fill_blocks = static_cast<unsigned>(gpu().multiprocessors - reserved) * blocks_per_multiprocessor;
  report.add("slice_us", lengths);
  std::string fact = "Delay of the main job per collision with half a slice on average";
  for (const Work::Kind main_kind : {Work::Kind::compute, Work::Kind::memory}) {
    MainJob job(main_kind);
    for (const Work::Kind fill_kind : {Work::Kind::compute, Work::Kind::memory}) {
      std::vector<double> delays;
      for (const double length : lengths) {
        const Work slice(fill_kind, fill_blocks, length, job.fill_stream());
        require_length(slice, length);
        std::vector<double> alone, together;
        for (int repeat = 0; repeat < repeats; ++repeat) {
          for (const double share : {0.1, 0.3, 0.5, 0.7, 0.9}) {
            alone.push_back(job.run(nullptr, share * length));
            together.push_back(job.run(&slice, share * length));
          }
        }
        double sum = 0;
        for (const double each : together) sum += each - median(alone);
        delays.push_back(sum / static_cast<double>(together.size()));
      }
      const std::string key = std::string("main_") + name_of(main_kind) + "_fill_" + name_of(fill_kind);
      report.add(key + "_delay_us", delays);
      fact += "; main job in " + std::string(name_of(main_kind)) + ", fill in " + name_of(fill_kind) + ":";
      for (std::size_t index = 0; index < lengths.size(); ++index) {
        fact += format(" %.0f us by %.1f", lengths[index], delays[index]);
      }
    }
  }
  return fact;
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "collision_slowdown", probe::measure);
}
