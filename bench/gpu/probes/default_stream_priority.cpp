// Does a priority take effect on the default stream: set on the stream, or given with the launch? Weft's fill can be
// below the main job only if it does, as most main jobs compute on streams of the lowest priority.
//
// Run by scripts/gpu-proof; main thread only. A kernel that starts in the middle of fill of many waves of blocks has a
// higher priority than the fill; one that starts when the fill's last blocks have been placed has not. Everything is
// enqueued behind a kernel that the host ends last, so that the host cannot be late.
#include <cmath>

#include "gpu.h"
#include "report.h"
#include "work.h"

namespace probe {
namespace {

constexpr double fill_microseconds = 20'000, predecessor_microseconds = 2000;
constexpr unsigned waves = 20, blocks_per_multiprocessor = 8;

struct Place {
  CUstream stream;
  std::optional<int> launch_priority;
};

class Experiment {
 public:
  Experiment()
      : fill_stream_(make_stream()),
        fill_(Work::Kind::compute, static_cast<unsigned>(gpu().multiprocessors) * blocks_per_multiprocessor * waves,
              fill_microseconds, fill_stream_) {}

  // Share of the fill's time after which the kernel started; 0: at once, 1: when the fill was over.
  // NaN: the launch was refused, see refused().
  double start_of(const Place& place) {
    const Shape shape{1, 1, 1, 0, place.launch_priority};
    hold_.launch(fill_stream_);
    check(driver().cuEventRecord(begun_, fill_stream_));
    before_.launch(fill_stream_, 0);
    fill_.launch(fill_stream_);
    after_.launch(fill_stream_, 0);
    try {
      check(driver().cuStreamWaitEvent(place.stream, begun_, 0));
      predecessor_.launch(place.stream, predecessor_microseconds, shape);
      victim_.launch(place.stream, 0, shape);
    } catch (const std::runtime_error& error) {
      hold_.release();
      check(driver().cuCtxSynchronize());
      refused_ = error.what();
      return std::nan("");
    }
    hold_.release();
    check(driver().cuStreamSynchronize(fill_stream_));
    check(driver().cuStreamSynchronize(place.stream));
    const double began_at = static_cast<double>(before_.ended());
    return (static_cast<double>(victim_.started()) - began_at) / (static_cast<double>(after_.started()) - began_at);
  }

  const std::string& refused() const { return refused_; }

 private:
  std::string refused_;
  CUstream fill_stream_;
  Work fill_;
  CUevent begun_ = make_event();
  Spin hold_;
  Busy before_, after_, predecessor_, victim_;
};

std::string set_priority(CUstream stream, int priority) {
  CUstreamAttrValue value{};
  value.priority = priority;
  return try_call(driver().cuStreamSetAttribute, stream, CU_STREAM_ATTRIBUTE_PRIORITY,
                  static_cast<const CUstreamAttrValue*>(&value));
}

const char* verdict(double start) {
  if (std::isnan(start)) return "is refused";
  return start < 0.5 ? "takes effect" : "does not take effect";
}

std::string measure(const Options&, Report& report) {
  use_gpu();
  const int highest = gpu().highest_priority;
  if (highest == gpu().lowest_priority) throw Skipped("the device has one priority only");
  Experiment experiment;
  const CUstream changed = make_stream();
  const auto start = [&](const char* key, const Place& place) {
    experiment.start_of(place);  // the first time is not like the others
    const double share = experiment.start_of(place);
    report.add(std::string("start_") + key, share);
    if (std::isnan(share)) report.add(std::string("refused_") + key, experiment.refused());
    return share;
  };
  report.add("priority_lowest", gpu().lowest_priority);
  report.add("priority_highest", highest);
  const double equal = start("stream_equal", {make_stream(), {}});
  const double above = start("stream_above", {make_stream(highest), {}});
  const double by_launch = start("launch_above", {make_stream(), highest});
  report.add("set_on_stream", set_priority(changed, highest));
  const double by_set = start("stream_set_above", {changed, {}});
  const double plain_default = start("default", {CU_STREAM_LEGACY, {}});
  const double default_launch = start("default_launch_above", {CU_STREAM_LEGACY, highest});
  const std::string set = set_priority(CU_STREAM_LEGACY, highest);
  report.add("set_on_default", set);
  const double default_set = start("default_set_above", {CU_STREAM_LEGACY, {}});
  return format(
      "Above the fill, a priority of the stream %s, of a launch %s, set on an existing stream %s; on the default "
      "stream "
      "a launch's %s, a set one (%s) %s; starts at %.0f %% of the fill (equal: stream %.0f %%, default %.0f %%)",
      verdict(above), verdict(by_launch), verdict(by_set), verdict(default_launch), set.c_str(), verdict(default_set),
      100 * above, 100 * equal, 100 * plain_default);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "default_stream_priority", probe::measure);
}
