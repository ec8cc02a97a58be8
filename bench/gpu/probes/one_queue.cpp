// Who holds up the hardware queues as this environment has them: with a kernel that runs like a blocked one of NCCL and
// something enqueued behind it, does a kernel of another stream that is launched next start before the first one ends?
//
// Run by scripts/gpu-proof, and by `weft check` under the environment of a job. Each case is a process of its own with
// a time limit, so that one that hangs costs only its own answer. The environment is left as it is.
#include <cmath>
#include <functional>
#include <stdexcept>
#include <thread>

#include "children.h"
#include "gpu.h"
#include "green_stream.h"
#include "report.h"
#include "work.h"

namespace probe {
namespace {

constexpr double patience = 60;      // milliseconds in which a kernel must have run that can, on hardware
constexpr double time_for_all = 16;  // seconds
constexpr int times = 3;

// Where fill work is launched: a stream like the others, one of a higher priority, or one of a green context.
enum class Fill { plain, above, green, green_balanced };

CUstream make_fill_stream(Fill kind) {
  if (kind == Fill::green) return make_green_stream(Workqueues::of_all_contexts);
  if (kind == Fill::green_balanced) return make_green_stream(Workqueues::balanced);
  return kind == Fill::above ? make_stream(gpu().highest_priority) : make_stream();
}

struct Places {
  explicit Places(Fill kind) : fill(make_fill_stream(kind)) {
    other.sets_when_done(stamp);
    training.sets_when_done(stamp);
    slice = make_slice(fill, [this] {
      for (int time = 0; time < 2; ++time) other.launch(fill, 0);
    });
  }

  CUstream communication = make_stream(), compute = make_stream();
  CUstream fill;
  uint32_t* word = make_pinned<uint32_t>();
  uint32_t* stamp = make_pinned<uint32_t>();
  CUevent event = make_event(), mark = make_event();
  Spin running;
  Busy behind, other, training;
  CUgraphExec slice = nullptr;  // two of `other`, one behind the other, as fill work is launched
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

// Fill work, a slice and its mark, with another behind it: what the training may find in the queue of the fill stream.
void slices(Places& places) {
  places.running.launch(places.fill);
  check(driver().cuStreamWriteValue32(places.fill, reinterpret_cast<CUdeviceptr>(places.word), 1,
                                      CU_STREAM_WRITE_VALUE_DEFAULT));
  check(driver().cuGraphLaunch(places.slice, places.fill));
}

// The names are those of runner/options/answers.def.
struct Case {
  const char* name;
  void (*enqueue)(Places&);
  Fill fill = Fill::plain;
  bool graph = false;       // the other stream runs a graph
  bool host_waits = false;  // another thread waits for the device meanwhile
  bool both_ways = false;   // nor does fill work hold up a stream of the training
};
constexpr Case cases[] = {{"nothing", nothing},
                          {"event", event},
                          {"write", write},
                          {"kernel", kernel},
                          {"wait", wait},
                          {"wait_and_kernel", wait_and_kernel},
                          {"above", wait_and_kernel, Fill::above, true, false, true},
                          {"green", wait_and_kernel, Fill::green, true, false, true},
                          {"green_balanced", wait_and_kernel, Fill::green_balanced, true, false, true},
                          {"host_wait", event, Fill::plain, true, true},
                          {"host_and_stream_wait", two_waits, Fill::plain, true, true}};

// Whether what `launch` puts on another stream runs while what `enqueue` has put there does.
bool runs_beside(Places& places, bool host_waits, const std::function<void()>& enqueue,
                 const std::function<void()>& launch) {
  __atomic_store_n(places.stamp, 0, __ATOMIC_RELEASE);
  enqueue();
  places.running.wait_until_resident();
  std::thread waiting;
  if (host_waits) {
    waiting = std::thread([] {
      use_gpu();
      driver().cuCtxSynchronize();
    });
    sleep_milliseconds(5);
  }
  launch();
  const bool ran = wait_for([&] { return Spin::read(*places.stamp) != 0; }, patience * slack());
  const bool ended = places.running.timed_out();
  places.running.release();
  check(driver().cuCtxSynchronize());
  if (waiting.joinable()) waiting.join();
  // A launch that stands until the host has waited comes back when the running kernel has ended by itself.
  if (ended && !host_waits) throw std::runtime_error("the running kernel ended before it was released");
  return ran && !ended;
}

bool fill_runs(const Case& asked, Places& places) {
  const auto enqueue = [&] {
    places.running.launch(places.communication);
    asked.enqueue(places);
  };
  const auto launch = [&] {
    if (asked.graph) {
      check(driver().cuGraphLaunch(places.slice, places.fill));
    } else {
      places.other.launch(places.fill, 0);
    }
  };
  return runs_beside(places, asked.host_waits, enqueue, launch);
}

bool training_runs(Places& places) {
  return runs_beside(
      places, false, [&] { slices(places); }, [&] { places.training.launch(places.compute, 0); });
}

// It runs each time, or the queue is held up.
std::string measure_part(const std::string& name) {
  use_gpu();
  for (const Case& asked : cases) {
    if (name != asked.name) continue;
    Places places(asked.fill);
    bool ran = true;
    for (int time = 0; time < times && ran; ++time)
      ran = fill_runs(asked, places) && (!asked.both_ways || training_runs(places));
    return join({ran ? 1.0 : 0.0});
  }
  throw std::runtime_error("no such case: " + name);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
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
    const std::string name = asked.name;
    answered(report, name, [&] {
      bool ran = false;
      try {
        ran = numbers_of_part({name}, {}, time.for_next()).at(0) != 0;
      } catch (const Skipped& refusal) {
        // The driver has no such stream: so nothing runs in one, and the other questions still count.
        if (asked.fill == Fill::plain) throw;
        report.add(name + "_why", first_line(refusal.what()));
      }
      report.add(name + "_passes", ran);
      (ran ? passes : holds) += " " + name;
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
