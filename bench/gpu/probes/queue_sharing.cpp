// Which streams of a process share a hardware queue when it has 8, 12, 16 or 32 of them, and does one more stream
// (Weft's, for fill) change that so that a job that ran before dead-locks?
//
// Run by scripts/gpu-proof; each configuration is a process of its own, since the queues are made with the context. The
// dead-lock: a receive on stream A ends when a kernel on B has run (a send that a peer waits for), C waits for A; if B
// and C share a queue, B's kernel stands behind C's wait. The main thread ends it after a while.
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "children.h"
#include "gpu.h"
#include "report.h"
#include "work.h"

namespace probe {
namespace {

// By stream of the job: a number that streams have in common which share a queue. The extra stream comes last.
using Classes = std::vector<double>;

constexpr double patience = 15;            // milliseconds in which a kernel must have run that can, on hardware
constexpr double time_for_measuring = 12;  // seconds, after which no further configuration is begun
constexpr double time_for_all = 16;        // seconds, for all parts together

enum class Extra { middle, last };  // created between the job's streams, as Weft's is, or after them

struct Job {
  std::vector<CUstream> streams;  // the extra one last
};

Job make_job(int count, Extra extra, bool above) {
  const int priority = above ? gpu().highest_priority : gpu().lowest_priority;
  CUstream more = nullptr;
  Job job;
  for (int index = 0; index < count; ++index) {
    if (extra == Extra::middle && index == count / 2) more = make_stream();
    job.streams.push_back(make_stream(priority));
  }
  job.streams.push_back(extra == Extra::middle ? more : make_stream());
  return job;
}

// Blocks one stream, by a kernel that runs and another one behind it, as behind a receive; looks whose kernels do not
// run, and goes on with those that belong to no class yet.
Classes find_classes(const Job& job) {
  Classes classes(job.streams.size(), std::nan(""));
  auto* word = make_pinned<uint32_t>();
  std::vector<Busy> stamps(job.streams.size());
  Spin receive;
  receive.released_by(word);
  std::vector<CUevent> done;
  for (std::size_t index = 0; index < job.streams.size(); ++index) done.push_back(make_event());
  for (std::size_t blocked = 0; blocked < job.streams.size(); ++blocked) {
    if (!std::isnan(classes[blocked])) continue;
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
    receive.launch(job.streams[blocked], 1, 1, 2000);
    receive.wait_until_resident();
    const auto enqueue = [&](std::size_t index) {
      stamps[index].launch(job.streams[index], 0);
      check(driver().cuEventRecord(done[index], job.streams[index]));
    };
    enqueue(blocked);
    for (std::size_t index = 0; index < job.streams.size(); ++index)
      if (index != blocked) enqueue(index);
    sleep_milliseconds(patience * slack());
    for (std::size_t index = 0; index < job.streams.size(); ++index) {
      if (!is_done(done[index])) classes[index] = static_cast<double>(blocked);
    }
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    check(driver().cuCtxSynchronize());
  }
  return classes;
}

struct Trap {
  std::size_t receive, waiting, sending;  // A, C, B
};

bool dead_locks(const Job& job, const Trap& trap) {
  Spin receive;
  Busy send, after;
  const CUevent received = make_event(), sent = make_event();
  auto* word = make_pinned<uint32_t>();
  send.sets_when_done(word);
  receive.released_by(word);
  receive.launch(job.streams.at(trap.receive), 1, 1, 2000);
  check(driver().cuEventRecord(received, job.streams.at(trap.receive)));
  check(driver().cuStreamWaitEvent(job.streams.at(trap.waiting), received, 0));
  after.launch(job.streams.at(trap.waiting), 0);
  receive.wait_until_resident();
  send.launch(job.streams.at(trap.sending), 0);
  check(driver().cuEventRecord(sent, job.streams.at(trap.sending)));
  const bool stuck = !wait_for([&] { return is_done(sent); }, 10 * patience * slack());
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  check(driver().cuCtxSynchronize());
  return stuck;
}

// --part classes|trap STREAMS middle|last equal|above [A C B]
std::string measure_part(const std::vector<std::string>& part) {
  use_gpu();
  const Job job =
      make_job(std::stoi(part.at(1)), part.at(2) == "middle" ? Extra::middle : Extra::last, part.at(3) == "above");
  if (part.front() == "classes") return join(find_classes(job));
  return dead_locks(job, {std::stoul(part.at(4)), std::stoul(part.at(5)), std::stoul(part.at(6))}) ? "1" : "0";
}

bool share(const Classes& classes, std::size_t a, std::size_t b) {
  return classes.at(a) == classes.at(b);
}

// Pairs of the job's streams that share a queue, counted; with `before` given, only those that did not share then.
int count_pairs(const Classes& classes, const Classes* before = nullptr) {
  int pairs = 0;
  for (std::size_t a = 0; a + 1 < classes.size(); ++a) {
    for (std::size_t b = a + 1; b + 1 < classes.size(); ++b) {
      pairs += share(classes, a, b) && !(before != nullptr && share(*before, a, b)) ? 1 : 0;
    }
  }
  return pairs;
}

int count_with_extra(const Classes& classes) {
  int streams = 0;
  for (std::size_t index = 0; index + 1 < classes.size(); ++index) {
    streams += share(classes, index, classes.size() - 1) ? 1 : 0;
  }
  return streams;
}

// Streams that run without the extra one and get stuck with it. False: there are none.
bool find_trap(const Classes& before, const Classes& now_shared, Trap& trap) {
  const std::size_t count = before.size() - 1;
  for (trap.waiting = 0; trap.waiting < count; ++trap.waiting) {
    for (trap.sending = 0; trap.sending < count; ++trap.sending) {
      if (!share(now_shared, trap.waiting, trap.sending) || share(before, trap.waiting, trap.sending)) continue;
      for (trap.receive = 0; trap.receive < count; ++trap.receive) {
        const bool apart = !share(before, trap.receive, trap.sending) &&
                           !share(now_shared, trap.receive, trap.sending) &&
                           !share(before, trap.receive, trap.waiting) && !share(now_shared, trap.receive, trap.waiting);
        if (apart) return true;
      }
    }
  }
  return false;
}

class Configuration {
 public:
  Configuration(int queues, int streams, const TimeForParts& time)
      : queues_(std::to_string(queues)), streams_(std::to_string(streams)), time_(time) {}

  std::string name() const { return "queues_" + queues_ + "_streams_" + streams_; }

  std::string measure(Report& report) const {
    const Classes last = ask("classes", "last", "equal"), middle = ask("classes", "middle", "equal");
    const int moved = count_pairs(middle, &last);
    report.add(name() + "_pairs_that_share", count_pairs(last));
    report.add(name() + "_streams_that_share_with_the_extra", count_with_extra(last));
    report.add(name() + "_pairs_that_share_because_of_the_extra", moved);
    Trap trap{};
    std::string lock = "no pair that could dead-lock";
    if (find_trap(last, middle, trap)) {
      const bool without = ask("trap", "last", "equal", trap).at(0) != 0;
      const bool with = ask("trap", "middle", "equal", trap).at(0) != 0;
      report.add(name() + "_dead_locks_without_the_extra", without);
      report.add(name() + "_dead_locks_with_the_extra", with);
      lock = std::string(with ? "dead-locks" : "runs") + " with it, " + (without ? "dead-locks" : "runs") + " without";
    }
    return format(
        "%s streams on %s queues: one more, made in the middle, lets %d more pairs share a queue (%s); made last "
        "it shares with %d",
        streams_.c_str(), queues_.c_str(), moved, lock.c_str(), count_with_extra(last));
  }

  // The job's streams have the highest priority, the extra one the lowest.
  int count_below(Report& report) const {
    const int count = count_with_extra(ask("classes", "last", "above"));
    report.add(name() + "_streams_above_that_share_with_the_extra", count);
    return count;
  }

 private:
  std::vector<double> ask(const char* what, const char* extra, const char* priority, const Trap& trap = {}) const {
    return numbers_of_part({what, streams_, extra, priority, std::to_string(trap.receive), std::to_string(trap.waiting),
                            std::to_string(trap.sending)},
                           {{"CUDA_DEVICE_MAX_CONNECTIONS", queues_}}, time_.for_next());
  }

  std::string queues_, streams_;
  TimeForParts time_;
};

std::string measure(const Options& options, Report& report) {
  if (!options.part.empty()) return measure_part(options.part);
  const TimeForParts to_begin(time_for_measuring), time(time_for_all);
  gpu();
  // With two queues, streams that share one must show.
  const std::vector<std::pair<int, int>> quick = {{8, 12}, {8, 7}, {2, 4}},
                                         full = {{8, 12}, {8, 8}, {8, 16}, {8, 32}, {32, 16}, {8, 7}, {2, 4}};
  std::vector<std::string> facts, left_out;
  const auto ask = [&](const std::string& key, const std::function<std::string()>& question) {
    std::string fact;
    if (answered(report, key, [&] { fact = question(); })) facts.push_back(fact);
  };
  for (const auto& [queues, streams] : options.quick ? quick : full) {
    const Configuration each(queues, streams, time);
    if (to_begin.over()) {
      left_out.push_back(each.name());
    } else {
      ask(each.name(), [&] { return each.measure(report); });
    }
  }
  report.add("left_out_for_time", left_out);
  const Configuration first(8, 12, time);
  ask(first.name() + "_streams_above", [&] {
    return format("below 12 streams of a job of higher priority it shares with %d", first.count_below(report));
  });
  if (facts.empty()) throw std::runtime_error("no configuration gave an answer");
  std::string fact = facts.front();
  for (std::size_t index = 1; index < facts.size(); ++index) fact += "; " + facts[index];
  return fact;
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "queue_sharing", probe::measure);
}
