// Who holds up the hardware queues as this environment has them: with a kernel that runs like a blocked one of NCCL and
// something enqueued behind it, does a kernel of another stream that is launched next start before the first one ends?
//
// Run by scripts/gpu-proof, and by `weft check` under the environment of a job. Each case is a process of its own with
// a time limit, so that one that hangs costs only its own answer. The environment is left as it is.
#include <cmath>
#include <stdexcept>
#include <thread>

#include "children.h"
#include "gpu.h"
#include "report.h"
#include "work.h"

namespace probe {
namespace {

constexpr double patience = 60;      // milliseconds in which a kernel must have run that can, on hardware
constexpr double time_for_all = 16;  // seconds
constexpr int times = 3;

struct Places {
  CUstream communication = make_stream(), compute = make_stream(), fill = make_stream();
  CUstream above = make_stream(gpu().highest_priority);
  uint32_t* word = make_pinned<uint32_t>();
  uint32_t* stamp = make_pinned<uint32_t>();
  CUevent event = make_event(), mark = make_event();
  Spin running;
  Busy behind, other;
  CUgraphExec slice = nullptr;  // two of `other`, one behind the other, as fill work is launched

  Places() {
    other.sets_when_done(stamp);
    check(driver().cuStreamBeginCapture(fill, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int time = 0; time < 2; ++time) other.launch(fill, 0);
    CUgraph graph = nullptr;
    check(driver().cuStreamEndCapture(fill, &graph));
    check(driver().cuGraphInstantiate(&slice, graph, 0));
    check(driver().cuGraphUpload(slice, fill));
    check(driver().cuStreamSynchronize(fill));
  }
};

void nothing(Places&) {}
void event(Places& places) {
  check(driver().cuEventRecord(places.event, places.communication));
}
void write(Places& places) {
  check(driver().cuStreamWriteValue32(places.communication, reinterpret_cast<CUdeviceptr>(places.word), 1,
                                      CU_STREAM_WRITE_VALUE_DEFAULT));
}
void kernel(Places& places) {
  places.behind.launch(places.communication, 0);
}
void wait(Places& places) {
  event(places);
  check(driver().cuStreamWaitEvent(places.compute, places.event, 0));
}
// As Megatron-LM and PyTorch do before the host waits, with the markers of Weft (recorded events) on either side.
void two_waits(Places& places) {
  event(places);
  for (int time = 0; time < 2; ++time) {
    check(driver().cuEventRecord(places.mark, places.compute));
    check(driver().cuStreamWaitEvent(places.compute, places.event, 0));
  }
  check(driver().cuEventRecord(places.mark, places.compute));
}
void wait_and_kernel(Places& places) {
  wait(places);
  places.behind.launch(places.compute, 0);
}

// The names are those of runner/options/answers.def.
struct Case {
  const char* name;
  void (*enqueue)(Places&);
  bool above = false;       // the other stream has a higher priority
  bool host_waits = false;  // another thread waits for the device meanwhile; the other stream runs a graph
};
constexpr Case cases[] = {{"nothing", nothing},
                          {"event", event},
                          {"write", write},
                          {"kernel", kernel},
                          {"wait", wait},
                          {"wait_and_kernel", wait_and_kernel},
                          {"above", wait_and_kernel, true},
                          {"host_wait", event, false, true},
                          {"host_and_stream_wait", two_waits, false, true}};

bool runs_beside(const Case& asked, Places& places) {
  __atomic_store_n(places.stamp, 0, __ATOMIC_RELEASE);
  places.running.launch(places.communication);
  asked.enqueue(places);
  places.running.wait_until_resident();
  std::thread waiting;
  if (asked.host_waits) {
    waiting = std::thread([] {
      use_gpu();
      driver().cuCtxSynchronize();
    });
    sleep_milliseconds(5);
  }
  if (asked.host_waits) {
    check(driver().cuGraphLaunch(places.slice, places.fill));
  } else {
    places.other.launch(asked.above ? places.above : places.fill, 0);
  }
  const bool ran = wait_for([&] { return Spin::read(*places.stamp) != 0; }, patience * slack());
  const bool ended = places.running.timed_out();
  places.running.release();
  check(driver().cuCtxSynchronize());
  if (waiting.joinable()) waiting.join();
  // A launch that stands until the host has waited comes back when the running kernel has ended by itself.
  if (ended && !asked.host_waits) throw std::runtime_error("the running kernel ended before it was released");
  return ran && !ended;
}

// It runs each time, or the queue is held up.
std::string measure_part(const std::string& name) {
  use_gpu();
  Places places;
  for (const Case& asked : cases) {
    if (name != asked.name) continue;
    bool ran = true;
    for (int time = 0; time < times && ran; ++time) ran = runs_beside(asked, places);
    return join({ran ? 1.0 : 0.0});
  }
  throw std::runtime_error("no such case: " + name);
}

std::string measure(const Options& options, Report& report) {
  if (!options.part.empty()) return measure_part(options.part.front());
  const TimeForParts time(time_for_all);
  gpu();
  int version = 0;
  if (driver().cuDriverGetVersion != nullptr) driver().cuDriverGetVersion(&version);
  report.add("driver_version", version);
  std::string passes, holds;
  for (const Case& asked : cases) {
    answered(report, asked.name, [&] {
      const bool ran = numbers_of_part({asked.name}, {}, time.for_next()).at(0) != 0;
      report.add(std::string(asked.name) + "_passes", ran);
      (ran ? passes : holds) += " " + std::string(asked.name);
    });
  }
  if (passes.empty() && holds.empty()) throw std::runtime_error("no case gave an answer");
  return "Other streams run beside:" + (passes.empty() ? " nothing" : passes) +
         "; are held up by:" + (holds.empty() ? " nothing" : holds);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "one_queue", probe::measure);
}
