// How long do the dispatcher's calls (launch, record, query, write) take while another thread of the process is inside
// a synchronise, or launches all the time; as against alone? Long ones would mean that they share a lock.
//
// Run by scripts/gpu-proof. The main thread is the dispatcher; the other one waits for a spinning kernel or launches.
#include <atomic>
#include <thread>

#include "gpu.h"
#include "report.h"
#include "statistics.h"
#include "work.h"

namespace probe {
namespace {

constexpr double settle = 20;  // milliseconds until a thread is surely inside its call

struct Call {
  const char* key;
  std::function<void()> make;
};

struct Summary {
  double median, p99;  // nanoseconds
};

class Dispatcher {
 public:
  std::vector<Call> calls() {
    return {{"launch", [this] { stamp_.launch(stream_, 0); }},
            {"record", [this] { check(driver().cuEventRecord(event_, stream_)); }},
            {"query_event", [this] { is_done(event_); }},
            {"query_stream", [this] { static_cast<void>(driver().cuStreamQuery(stream_)); }},
            {"write",
             [this] { check(driver().cuStreamWriteValue32(stream_, reinterpret_cast<CUdeviceptr>(word_), 1, 0)); }}};
  }
  Summary time(const Call& call, int count) {
    std::vector<double> times;
    for (int index = 0; index < count; ++index) {
      const int64_t begin = now();
      call.make();
      times.push_back(static_cast<double>(now() - begin));
      if (index % 16 == 15) drain();
    }
    drain();
    return {median(times), quantile(times, 0.99)};
  }

 private:
  // Without a call that waits inside the driver.
  void drain() {
    check(driver().cuEventRecord(drained_, stream_));
    wait_for([this] { return is_done(drained_); }, 2000);
  }

  CUstream stream_ = make_stream();
  CUevent event_ = make_event(), drained_ = make_event();
  uint32_t* word_ = make_pinned<uint32_t>();
  Busy stamp_;
};

// The other thread's work while the dispatcher's calls are timed.
struct Company {
  const char* key;
  std::function<void(const std::atomic<bool>& stop)> run;
};

std::string measure(const Options& options, Report& report) {
  use_gpu();
  const int count = options.quick ? 200 : 1000;
  Dispatcher dispatcher;
  Spin spin;
  Busy noise;
  const CUstream receive = make_stream(), launching = make_stream();
  const Company companies[] = {
      {"alone", nullptr},
      {"in_context_synchronise", [](const auto&) { check(driver().cuCtxSynchronize()); }},
      {"in_stream_synchronise", [=](const auto&) { check(driver().cuStreamSynchronize(receive)); }},
      {"launching",
       [&](const std::atomic<bool>& stop) {
         for (int index = 1; !stop; ++index) {
           noise.launch(launching, 0);
           if (index % 64 == 0) check(driver().cuStreamSynchronize(launching));
         }
       }},
  };
  std::string fact = "Median/p99 in us";
  for (const Company& company : companies) {
    ask_at_risk(company.key);
    spin.launch(receive);
    spin.wait_until_resident();
    std::atomic<bool> stop{false};
    std::thread thread;
    if (company.run) {
      thread = std::thread([&] {
        use_gpu();
        company.run(stop);
      });
    }
    sleep_milliseconds(settle);
    fact += std::string("; ") + company.key + ":";
    for (const Call& call : dispatcher.calls()) {
      const Summary summary = dispatcher.time(call, count);
      report.add(std::string(call.key) + "_" + company.key + "_ns", summary.median);
      report.add(std::string(call.key) + "_" + company.key + "_p99_ns", summary.p99);
      fact += format(" %s %.2f/%.2f", call.key, summary.median / 1e3, summary.p99 / 1e3);
    }
    report.add(std::string(company.key) + "_held_until_the_kernel_ended", spin.timed_out());
    stop = true;
    spin.release();
    if (thread.joinable()) thread.join();
    check(driver().cuCtxSynchronize());
  }
  ask_at_risk(nullptr);
  return fact;
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "calls_during_synchronise", probe::measure);
}
