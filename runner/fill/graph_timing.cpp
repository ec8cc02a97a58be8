// See graph_timing.h.
#include "runner/fill/graph_timing.h"

#include <algorithm>
#include <utility>

#include "detector/median.h"
#include "runner/core/scopes.h"
#include "runner/fill/fill_wait.h"

namespace weft {
namespace {

using std::chrono::nanoseconds;

// Launches timed between two waits: few enough that queues of the driver do not fill.
constexpr std::size_t batch = 64;

// Timing events, destroyed with their scope.
class Events {
 public:
  // Of the stream's context, or they could not be recorded there.
  Events(const Driver& driver, CUstream stream, std::size_t count) : driver_(driver) {
    const CurrentContext current(driver, context_of(driver, stream));
    if (!current.pushed()) throw SetUpError("the context of the fill stream cannot be used");
    for (std::size_t index = 0; index < count; ++index) {
      CUevent event = nullptr;
      check(driver_, driver_.cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
      events_.push_back(event);
    }
  }
  ~Events() {
    for (const CUevent event : events_) driver_.cuEventDestroy_v2(event);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  CUevent operator[](std::size_t index) const { return events_[index]; }

 private:
  const Driver& driver_;
  std::vector<CUevent> events_;
};

// So many pieces of work, each of which is enqueued by its number.
struct Work {
  std::size_t count;
  const std::function<void(std::size_t)>& enqueue;
};

// One pass over all of it, in order, back to back; adds what each piece took to `samples`.
void time_once(const Driver& driver, const Work& work, CUstream stream, const Events& events, nanoseconds patience,
               std::vector<std::vector<nanoseconds>>& samples) {
  for (std::size_t first = 0; first < work.count; first += batch) {
    const std::size_t count = std::min(batch, work.count - first);
    check(driver, driver.cuEventRecord(events[0], stream), "cuEventRecord");
    for (std::size_t index = 0; index < count; ++index) {
      work.enqueue(first + index);
      check(driver, driver.cuEventRecord(events[index + 1], stream), "cuEventRecord");
    }
    wait_for(driver, stream, patience);
    for (std::size_t index = 0; index < count; ++index) {
      float milliseconds = 0;
      check(driver, driver.cuEventElapsedTime(&milliseconds, events[index], events[index + 1]), "cuEventElapsedTime");
      samples[first + index].emplace_back(static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6));
    }
  }
}

std::vector<nanoseconds> medians_of(const Driver& driver, const Work& work, CUstream stream,
                                    const TimingOptions& options) {
  const Events events(driver, stream, std::min(batch, work.count) + 1);
  std::vector<std::vector<nanoseconds>> samples(work.count);
  time_once(driver, work, stream, events, options.patience, samples);
  for (auto& sample : samples) sample.clear();
  for (int pass = 0; pass < options.repeats; ++pass) time_once(driver, work, stream, events, options.patience, samples);
  std::vector<nanoseconds> medians;
  for (auto& sample : samples) medians.push_back(std::max(median(std::move(sample)), nanoseconds{1}));
  return medians;
}

}  // namespace

std::vector<nanoseconds> measure(const Driver& driver, std::span<const CUgraphExec> graphs, CUstream stream,
                                 const TimingOptions& options) {
  const auto launch = [&](std::size_t number) {
    check(driver, driver.cuGraphLaunch(graphs[number], stream), "cuGraphLaunch");
  };
  return medians_of(driver, {graphs.size(), launch}, stream, options);
}

nanoseconds measure(const Driver& driver, const std::function<void()>& enqueue, CUstream stream,
                    const TimingOptions& options) {
  return medians_of(driver, {1, [&](std::size_t) { enqueue(); }}, stream, options).front();
}

}  // namespace weft
