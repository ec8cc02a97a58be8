// Does a fill kernel run while the main job's stream is blocked: on an event behind a receive, or behind a receive on
// the stream itself; with 1, 8 and 32 hardware queues, and with the main job's streams at the fill's priority or above
// it?
//
// Run by scripts/gpu-proof; each combination is a process of its own, since the queues are made with the context.
#include <cmath>
#include <stdexcept>

#include "children.h"
#include "gpu.h"
#include "report.h"
#include "work.h"

namespace probe {
namespace {

constexpr double patience = 60;      // milliseconds in which a fill of slice must have run, on hardware
constexpr double slice = 300;        // microseconds
constexpr double time_for_all = 16;  // seconds
constexpr int reserved = 8;          // multiprocessors that the fill leaves free

struct Outcome {
  bool ran;
  double microseconds;  // from the launch to the moment at which the host saw the end
};

struct Streams {
  CUstream receive, compute, fill;
};

Outcome fill_while_blocked(const Streams& streams, bool on_event) {
  Spin spin;
  Busy next, fill;
  const CUevent received = make_event(), filled = make_event();
  spin.launch(on_event ? streams.receive : streams.compute, 2);
  if (on_event) {
    check(driver().cuEventRecord(received, streams.receive));
    check(driver().cuStreamWaitEvent(streams.compute, received, 0));
  }
  next.launch(streams.compute, 0);
  spin.wait_until_resident();
  const int64_t begin = now();
  fill.launch_resident(streams.fill, slice, static_cast<unsigned>(gpu().multiprocessors - reserved));
  check(driver().cuEventRecord(filled, streams.fill));
  const bool ran = wait_for([&] { return is_done(filled); }, patience * slack());
  const double microseconds = static_cast<double>(now() - begin) / 1e3;
  if (spin.timed_out()) throw std::runtime_error("the receive ended before it was released");
  spin.release();
  check(driver().cuCtxSynchronize());
  return {ran, microseconds};
}

std::string measure_part(bool main_above_fill) {
  use_gpu();
  if (gpu().multiprocessors <= reserved) throw Skipped("too few multiprocessors");
  const int main_priority = main_above_fill ? gpu().highest_priority : gpu().lowest_priority;
  Streams streams;
  streams.receive = make_stream(main_priority);
  streams.compute = make_stream(main_priority);
  streams.fill = make_stream(gpu().lowest_priority);
  std::vector<double> numbers;
  for (const bool on_event : {true, false}) {
    const Outcome outcome = fill_while_blocked(streams, on_event);
    numbers.push_back(outcome.ran ? 1 : 0);
    numbers.push_back(outcome.microseconds);
  }
  return join(numbers);
}

// By outcome: "queues/priority of the main job/blocked on" of the combinations.
struct Found {
  std::string runs, blocked, unknown;
};

void ask(const std::string& queues, const std::string& priority, double seconds, Report& report, Found& found) {
  const std::vector<double> numbers = numbers_of_part({priority}, {{"CUDA_DEVICE_MAX_CONNECTIONS", queues}}, seconds);
  const char* blocks[] = {"event", "receive"};
  for (std::size_t index = 0; index < 2; ++index) {
    const std::string key = "queues_" + queues + "_main_" + priority + "_blocked_on_" + blocks[index];
    const bool ran = numbers.at(2 * index) != 0;
    report.add(key + "_ran", ran);
    report.add(key + "_us", ran ? numbers.at(2 * index + 1) : std::nan(""));
    (ran ? found.runs : found.blocked) += " " + queues + "/" + priority + "/" + blocks[index];
  }
}

std::string measure(const Options& options, Report& report) {
  if (!options.part.empty()) return measure_part(options.part.front() == "above");
  const TimeForParts time(time_for_all);
  gpu();
  Found found;
  for (const char* queues : {"1", "8", "32"}) {
    for (const char* priority : {"equal", "above"}) {
      const std::string key = std::string("queues_") + queues + "_main_" + priority;
      if (!answered(report, key, [&] { ask(queues, priority, time.for_next(), report, found); }))
        found.unknown += std::string(" ") + queues + "/" + priority;
    }
  }
  if (found.runs.empty() && found.blocked.empty()) throw std::runtime_error("no combination gave an answer");
  const std::string fact = "Fill next to a blocked stream (queues/priority of the main job/blocked on) runs with:" +
                           (found.runs.empty() ? " none" : found.runs) +
                           "; does not with:" + (found.blocked.empty() ? " none" : found.blocked);
  return fact + (found.unknown.empty() ? "" : "; no answer with:" + found.unknown);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "fill_next_to_blocked_stream", probe::measure);
}
