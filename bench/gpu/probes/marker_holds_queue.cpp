// Does a marker behind a running kernel hold up its hardware queue: does a kernel of another stream, launched after the
// marker, start while the first one runs; with 1, 8 and 32 hardware queues; for a stream-ordered write, an event, and a
// second kernel?
//
// Run by scripts/gpu-proof; each number of queues is a process of its own, since the queues are made with the context.
// Frameworks set one queue so that a communication kernel runs beside the compute kernel that they launch next. As long
// as nobody knows the answer for a driver, Weft enqueues no marker there.
#include <cmath>
#include <iterator>
#include <stdexcept>

#include "children.h"
#include "gpu.h"
#include "report.h"
#include "work.h"

namespace probe {
namespace {

constexpr double patience = 60;      // milliseconds in which a kernel must have run that can, on hardware
constexpr double time_for_all = 16;  // seconds
constexpr int times = 3;

enum class Behind { nothing, write, event, timed_event, kernel };
constexpr const char* names[] = {"nothing", "write", "event", "timed_event", "kernel"};

struct Places {
  CUstream first = make_stream(), second = make_stream();
  uint32_t* word = make_pinned<uint32_t>();
  uint32_t* stamp = make_pinned<uint32_t>();
  CUevent event = make_event();
  CUevent timed_event = make_event(CU_EVENT_DEFAULT);
  Spin running;
  Busy behind, other;
};

void enqueue(Behind marker, Places& places) {
  const auto word = reinterpret_cast<CUdeviceptr>(places.word);
  switch (marker) {
    case Behind::nothing:
      break;
    case Behind::write:
      check(driver().cuStreamWriteValue32(places.first, word, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
      break;
    case Behind::event:
      check(driver().cuEventRecord(places.event, places.first));
      break;
    case Behind::timed_event:
      check(driver().cuEventRecord(places.timed_event, places.first));
      break;
    case Behind::kernel:
      places.behind.launch(places.first, 0);
      break;
  }
}

struct Outcome {
  bool ran;
  double microseconds;  // from the launch to the moment at which the host saw that it had run
};

Outcome launch_after(Behind marker, Places& places) {
  __atomic_store_n(places.stamp, 0, __ATOMIC_RELEASE);
  places.running.launch(places.first);
  enqueue(marker, places);
  places.running.wait_until_resident();
  const int64_t begin = now();
  places.other.launch(places.second, 0);
  const bool ran = wait_for([&] { return Spin::read(*places.stamp) != 0; }, patience * slack());
  const double microseconds = static_cast<double>(now() - begin) / 1e3;
  if (places.running.timed_out()) throw std::runtime_error("the running kernel ended before it was released");
  places.running.release();
  check(driver().cuCtxSynchronize());
  return {ran, microseconds};
}

// It runs each time, or the queue is held up.
Outcome worst_of_several(Behind marker, Places& places) {
  Outcome worst = launch_after(marker, places);
  for (int time = 1; time < times && worst.ran; ++time) {
    const Outcome next = launch_after(marker, places);
    if (!next.ran || next.microseconds > worst.microseconds) worst = next;
  }
  return worst;
}

std::string measure_part() {
  use_gpu();
  Places places;
  places.other.sets_when_done(places.stamp);
  std::vector<double> numbers;
  for (std::size_t index = 0; index < std::size(names); ++index) {
    const Outcome outcome = worst_of_several(static_cast<Behind>(index), places);
    numbers.push_back(outcome.ran ? 1 : 0);
    numbers.push_back(outcome.microseconds);
  }
  return join(numbers);
}

// "held up by write, event; not by nothing"
std::string ask(const std::string& queues, double seconds, Report& report) {
  const std::vector<double> numbers = numbers_of_part({queues}, {{"CUDA_DEVICE_MAX_CONNECTIONS", queues}}, seconds);
  std::string held, free;
  for (std::size_t index = 0; index < std::size(names); ++index) {
    const std::string key = "queues_" + queues + "_behind_" + names[index];
    const bool ran = numbers.at(2 * index) != 0;
    report.add(key + "_other_stream_ran", ran);
    report.add(key + "_us", ran ? numbers.at(2 * index + 1) : std::nan(""));
    std::string& list = ran ? free : held;
    list += (list.empty() ? " " : ", ") + std::string(names[index]);
  }
  return "with " + queues + " held up by" + (held.empty() ? " none" : held) + ", not by" +
         (free.empty() ? " any" : free);
}

std::string measure(const Options& options, Report& report) {
  if (!options.part.empty()) return measure_part();
  const TimeForParts time(time_for_all);
  gpu();
  std::string fact;
  for (const char* queues : {"1", "8", "32"}) {
    std::string found;
    if (!answered(report, std::string("queues_") + queues, [&] { found = ask(queues, time.for_next(), report); }))
      found = std::string("no answer with ") + queues;
    fact += (fact.empty() ? "Behind a running kernel a hardware queue is, " : "; ") + found;
  }
  return fact;
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "marker_holds_queue", probe::measure);
}
