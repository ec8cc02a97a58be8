// CUDA lets the legacy default stream and blocking streams wait for each other. Does a recorded event or a
// stream-ordered write, Weft's markers, keep to that as a kernel does; does something small on the legacy stream stand
// between two blocking ones; and what does a query of such a stream say?
//
// Run by scripts/gpu-proof; main thread only. A kernel spins on one stream, something else is enqueued on another one,
// and either it is over while the first one spins or it is not. Where it is not, Weft may say that the stream stands
// still.
#include <cmath>

#include "gpu.h"
#include "report.h"
#include "work.h"

namespace probe {
namespace {

constexpr double patience = 60;  // milliseconds in which what can go on must have gone on, on hardware

enum class Behind { kernel, event, write };
constexpr const char* names[] = {"kernel", "event", "write"};

class Experiment {
 public:
  CUstream blocking = make_stream({}, CU_STREAM_DEFAULT), second_blocking = make_stream({}, CU_STREAM_DEFAULT);
  CUstream non_blocking = make_stream();

  Experiment() { behind_.sets_when_done(word_); }

  // Whether it waits for the kernel that spins on `first`. `between` may be null: nothing is enqueued there.
  bool waits(Behind what, CUstream first, CUstream between, CUstream other) {
    __atomic_store_n(word_, 0, __ATOMIC_RELEASE);
    spin_.launch(first);
    if (between != nullptr) check(driver().cuEventRecord(between_, between));
    enqueue(what, other);
    spin_.wait_until_resident();
    const bool passed = wait_for([&] { return is_over(what); }, patience * slack());
    end();
    if (!is_over(what)) throw std::runtime_error("what was enqueued last never ended");
    return !passed;
  }

  // The answer to a query of `asked` while a kernel spins on `first`.
  std::string query(CUstream asked, CUstream first) {
    spin_.launch(first);
    spin_.wait_until_resident();
    std::string said = try_call(driver().cuStreamQuery, asked);
    end();
    return said;
  }

 private:
  void enqueue(Behind what, CUstream stream) {
    const auto word = reinterpret_cast<CUdeviceptr>(word_);
    switch (what) {
      case Behind::kernel:
        behind_.launch(stream, 0);
        break;
      case Behind::event:
        check(driver().cuEventRecord(event_, stream));
        break;
      case Behind::write:
        check(driver().cuStreamWriteValue32(stream, word, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
        break;
    }
  }

  bool is_over(Behind what) const { return what == Behind::event ? is_done(event_) : Spin::read(*word_) != 0; }

  void end() {
    spin_.release();
    check(driver().cuCtxSynchronize());
    if (spin_.timed_out()) throw std::runtime_error("the spinning kernel ended by itself");
  }

  uint32_t* word_ = make_pinned<uint32_t>();
  CUevent event_ = make_event(), between_ = make_event();
  Spin spin_;
  Busy behind_;
};

std::string measure(const Options&, Report& report) {
  use_gpu();
  warm_up();
  Experiment experiment;
  const CUstream legacy = CU_STREAM_LEGACY;
  const struct {
    const char* key;
    CUstream first, between, other;
    bool documented;  // that a kernel waits there
  } orders[] = {{"blocking_behind_legacy", legacy, nullptr, experiment.blocking, true},
                {"legacy_behind_blocking", experiment.blocking, nullptr, legacy, true},
                {"blocking_behind_event_on_legacy_behind_blocking", experiment.blocking, legacy,
                 experiment.second_blocking, true},
                {"blocking_behind_blocking", experiment.blocking, nullptr, experiment.second_blocking, false},
                {"non_blocking_behind_legacy", legacy, nullptr, experiment.non_blocking, false},
                {"legacy_behind_non_blocking", experiment.non_blocking, nullptr, legacy, false}};
  std::string others;
  for (const auto& order : orders) {
    for (const Behind what : {Behind::kernel, Behind::event, Behind::write}) {
      const char* const name = names[static_cast<std::size_t>(what)];
      const bool waits = experiment.waits(what, order.first, order.between, order.other);
      report.add(std::string(order.key) + "_" + name + "_waits", waits);
      if (waits != order.documented)
        others += (others.empty() ? "" : ", ") + std::string(order.key) + " (" + name + ")";
    }
  }
  const std::string of_legacy = experiment.query(legacy, experiment.blocking);
  const std::string of_blocking = experiment.query(experiment.blocking, legacy);
  report.add("query_of_legacy_while_blocking_runs", of_legacy);
  report.add("query_of_blocking_while_legacy_runs", of_blocking);
  return format(
      "Kernels, events and writes keep to the order of default streams %s%s; beside a running kernel of the other "
      "kind a query of the legacy stream says %s, of an empty blocking one %s",
      others.empty() ? "as documented" : "but for ", others.c_str(), of_legacy.c_str(), of_blocking.c_str());
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "default_stream_order", probe::measure);
}
