// Does a synchronise wait for work that was submitted after it was entered? Where it does, fill that is launched during
// the main job's wait makes that wait longer.
//
// Run by scripts/gpu-proof. A second thread is in the call while the main thread submits more and ends what the call
// has to wait for.
#include <atomic>
#include <thread>

#include "gpu.h"
#include "report.h"
#include "work.h"

namespace probe {
namespace {

constexpr double later_work = 300'000;  // microseconds
constexpr double settle = 60;           // milliseconds until a thread is surely inside its call

struct Case {
  const char* key;
  const char* text;
  CUstream waited;  // the stream that holds what the call waits for
  CUstream later;   // the stream of the later work
  std::function<CUresult()> call;
};

struct Outcome {
  bool for_earlier;  // it waited for what was submitted before it, on the stream in question
  bool for_later;
  double returned_after;  // milliseconds after the release
};

class Experiment {
 public:
  Outcome measure(const Case& which) {
    spin_.launch(which.waited);
    if (event_recorded_on(which.waited) != CUDA_SUCCESS) throw std::runtime_error("the event cannot be recorded");
    spin_.wait_until_resident();
    std::atomic<bool> entering{false};
    std::atomic<bool> waited{false};
    std::atomic<int64_t> returned{0};
    std::thread thread([&] {
      use_gpu();
      entering = true;
      const CUresult result = which.call();
      returned = now();
      waited = result == CUDA_SUCCESS && is_done(later_done_);
    });
    wait_for([&] { return entering.load(); }, 1000);
    sleep_milliseconds(settle);
    later_.launch(which.later, later_work);
    check(driver().cuEventRecord(later_done_, which.later));
    sleep_milliseconds(settle);
    const bool for_earlier = returned == 0;
    const int64_t released = now();
    spin_.release();
    thread.join();
    check(driver().cuCtxSynchronize());
    return {for_earlier, for_earlier && waited, static_cast<double>(returned - released) / 1e6};
  }

  CUevent event() const { return event_; }

 private:
  CUresult event_recorded_on(CUstream stream) { return driver().cuEventRecord(event_, stream); }

  Spin spin_;
  Busy later_;
  CUevent event_ = make_event(), later_done_ = make_event();
};

std::string measure(const Options&, Report& report) {
  use_gpu();
  Experiment experiment;
  const CUstream a = make_stream(), b = make_stream();
  const CUstream blocking = make_stream({}, CU_STREAM_DEFAULT), other_blocking = make_stream({}, CU_STREAM_DEFAULT);
  const Case cases[] = {
      {"context", "the context's", a, b, [] { return driver().cuCtxSynchronize(); }},
      {"stream", "a stream's (later work on it)", a, a, [=] { return driver().cuStreamSynchronize(a); }},
      {"default_stream", "the default stream's (later work on a blocking stream)", CU_STREAM_LEGACY, blocking,
       [] { return driver().cuStreamSynchronize(CU_STREAM_LEGACY); }},
      {"default_stream_for_blocking", "the default stream's (all work on blocking streams)", blocking, other_blocking,
       [] { return driver().cuStreamSynchronize(CU_STREAM_LEGACY); }},
      {"event", "an event's (later work on its stream)", a, a,
       [&] { return driver().cuEventSynchronize(experiment.event()); }},
  };
  std::string waits, does_not;
  for (const Case& each : cases) {
    ask_at_risk(each.key);
    const Outcome outcome = experiment.measure(each);
    report.add(std::string(each.key) + "_waits_for_earlier", outcome.for_earlier);
    report.add(std::string(each.key) + "_waits_for_later", outcome.for_later);
    report.add(std::string(each.key) + "_returned_after_ms", outcome.returned_after);
    std::string& list = outcome.for_later ? waits : does_not;
    list += (list.empty() ? "" : ", ") + std::string(each.text);
  }
  ask_at_risk(nullptr);
  report.add("later_work_ms", later_work / 1e3);
  return "A synchronise waits for work submitted after it was entered: " + (waits.empty() ? "none" : waits) +
         "; does not: " + (does_not.empty() ? "none" : does_not);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "synchronise_semantics", probe::measure);
}
