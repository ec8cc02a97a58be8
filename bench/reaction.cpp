// bench_reaction: how soon the dispatcher's thread sees what streams have written, and launches. The real Dispatcher on
// a driver of a few lines; this program's own thread plays hooks, streams and GPU, and notes when it wrote a word.
//
// It needs two cores that are idle otherwise: one for each of the two threads.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runner/clock.h"
#include "runner/core/dispatcher.h"
#include "shim/seam/ring.h"
#include "tests/runner/fake_driver.h"
#include "tests/shim/push.h"
#include "trace/read/reader.h"
#include "trace/write/writer.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

EventRing ring;

// Launches of the dispatcher's thread, for the one that plays the GPU. The address of a graph is its length.
struct Launch {
  TimePoint time{};
  Duration length{};
  std::uint32_t number = 0;
};
constexpr std::size_t most_launches = 1 << 20;
std::vector<Launch> launches(most_launches);
std::atomic<std::size_t> launched{0};

CUresult launch(CUgraphExec graph, CUstream) {
  launches[launched.load(std::memory_order_relaxed) % most_launches] = {
      now(), Duration(reinterpret_cast<std::intptr_t>(graph)), 0};
  return CUDA_SUCCESS;
}
CUresult write_behind_it(CUstream, CUdeviceptr, cuuint32_t number, unsigned) {
  const std::size_t index = launched.load(std::memory_order_relaxed);
  launches[index % most_launches].number = number;
  launched.store(index + 1, std::memory_order_release);
  return CUDA_SUCCESS;
}

struct Wanted {
  int bubbles = 2000;
  double jitter = 0.01, spin = 0.05;
  Duration compute = 3ms, length = 5ms, slice = 50us;
};

// The stage of a pipeline, and the GPU that runs it and the fill work.
class Stage {
 public:
  Stage(const Wanted& options, std::atomic<std::uint32_t>& done_word) : options_(options), done_word_(done_word) {}

  void microbatch() {
    const Ticket started = ++last_ticket_, done = ++last_ticket_, reached = ++last_ticket_;
    Event group = event(EventKind::group_issued, 2);
    group.group = ++last_group_;
    group.ticket = started;
    group.done_ticket = done;
    group.summary.signature = 70 + last_group_ % 3;
    const bool ends_iteration = last_group_ % 3 == 0;
    group.summary.receives = ends_iteration ? 0 : 1;
    group.summary.collectives = ends_iteration ? 1 : 0;
    group.summary.receive_peer = ends_iteration ? -1 : 0;
    group.summary.send_peer = -1;
    push(ring, group);
    Event waiting = event(EventKind::wait_issued, 1);
    waiting.awaited = {2, done};
    waiting.ticket = reached;
    push(ring, waiting);
    write(started);
    sleep_until(now() + options_.compute - 500us);
    run_until(now() + 500us);
    const Duration wait(
        std::llround(static_cast<double>(options_.length.count()) * std::exp(options_.jitter * normal_(random_))));
    begin_ = write(reached);
    is_first_ = true;
    run_until(*begin_ + wait);
    ends.push_back(write(done));
    begin_.reset();
    run_until(now() + 200us);
  }

  std::atomic<std::uint32_t>* words() { return words_.data(); }
  std::uint32_t word_count() const { return static_cast<std::uint32_t>(words_.size()); }
  std::vector<TimePoint> ends;     // of bubbles
  std::vector<Duration> to_first;  // launch, from the begin of a bubble
  std::vector<Duration> to_next;   // from the end of a slice; 0: it came before that

 private:
  static Event event(EventKind kind, StreamId stream) {
    Event made{};
    made.time = now();
    made.kind = kind;
    made.stream = stream;
    made.communicator = 1;
    return made;
  }
  TimePoint write(Ticket ticket) {
    const TimePoint time = now();
    words_[ticket % words_.size()].store(ticket, std::memory_order_release);
    return time;
  }
  void run_until(TimePoint until) {
    for (TimePoint time = now(); time < until; time = now()) {
      for (; taken_ != launched.load(std::memory_order_acquire); ++taken_) take(launches[taken_ % most_launches]);
      if (running_.empty() || running_.front().time > time) continue;
      done_word_.store(running_.front().number, std::memory_order_release);
      last_end_ = running_.front().time;
      running_.pop_front();
    }
  }
  // `time` becomes that of its end.
  void take(Launch launch) {
    if (begin_ && is_first_ && running_.empty()) to_first.push_back(launch.time - *begin_);
    if (begin_ && !is_first_ && !running_.empty()) to_next.push_back({});  // it waits behind another one: no pause
    if (begin_ && !is_first_ && running_.empty() && last_end_ > *begin_) to_next.push_back(launch.time - last_end_);
    is_first_ = false;
    launch.time = std::max(launch.time, running_.empty() ? launch.time : running_.back().time) + launch.length;
    running_.push_back(launch);
  }

  const Wanted options_;
  std::atomic<std::uint32_t>& done_word_;
  std::array<std::atomic<std::uint32_t>, 1024> words_{};
  Ticket last_ticket_ = 0;
  GroupId last_group_ = 0;
  std::mt19937_64 random_{1};
  std::normal_distribution<double> normal_;
  std::deque<Launch> running_;
  std::size_t taken_ = 0;
  std::optional<TimePoint> begin_;
  bool is_first_ = false;
  TimePoint last_end_{};
};

ShimServices shim_services() {
  ShimServices shim;
  shim.ring = &ring;
  shim.dropped_events = [] { return ring.dropped.load(); };
  shim.list_streams_to_ask = [](int, StreamId*, int) { return 0; };
  shim.ask_stream = [](int, StreamId) { return Answer{StreamAnswer::unknown}; };
  shim.full_table = [] { return static_cast<const char*>(nullptr); };
  shim.streams_in_use = [](int) { return 2U; };
  return shim;
}

std::string microseconds_of(std::vector<Duration> all) {
  if (all.empty()) return "none | none | none";
  std::sort(all.begin(), all.end());
  char text[64];
  const auto at = [&](double part) {
    return static_cast<double>(all[static_cast<std::size_t>(part * static_cast<double>(all.size() - 1))].count()) / 1e3;
  };
  std::snprintf(text, sizeof text, "%.1f | %.1f | %.1f", at(0.5), at(0.9), at(0.99));
  return text;
}

// From the word of a bubble's end to the end of the look that saw it, of bubbles with a forecast.
std::vector<Duration> seen_after(const std::string& path, const std::vector<TimePoint>& ends) {
  std::vector<Duration> all;
  const TraceFile trace = read_trace(path);
  for (const Record& record : trace.segments.at(0).records) {
    if (record.kind != RecordKind::bubble || !record.bubble.forecast || record.bubble.left_out) continue;
    const TimePoint seen = record.bubble.closed + record.bubble.closed_within;
    const auto next = std::lower_bound(ends.begin(), ends.end(), seen);
    Duration after = next == ends.begin() ? Duration::max() : seen - *std::prev(next);
    if (next != ends.end() && *next - seen < after) after = seen - *next;  // a call was noted in between
    all.push_back(after);
  }
  return all;
}

void print_row(const Wanted& options) {
  const std::string folder = std::filesystem::temp_directory_path() / ("weft-reaction-" + std::to_string(getpid()));
  testing::FakeGpu gpu;
  Driver driver = testing::fake_driver(gpu);
  driver.cuGraphLaunch = launch;
  driver.cuStreamWriteValue32_v2 = write_behind_it;
  std::atomic<std::uint32_t> done_word{0};
  Stage stage(options, done_word);
  const ShimServices shim = shim_services();
  EventRouter router(ring);
  const Reporter reporter(0);
  Reservation reservation(driver, 1 << 20);
  const std::unique_ptr<FillJob> job = FillJob::load({BENCH_FILL_JOB, ""}, reservation, {0, 100});
  const Unit unit(driver,
                  std::vector<Slice>(40, Slice{reinterpret_cast<CUgraphExec>(options.slice.count()), options.slice}));
  Filler filler(driver, JobPolicy::throughput);
  std::string error;
  std::unique_ptr<TraceWriter> trace = TraceWriter::open(
      folder, completed({}), TraceWriter::unlimited, [](Audience, const std::string&) {}, error);
  DispatcherParts parts;
  parts.shim = &shim;
  parts.router = &router;
  parts.driver = &driver;
  parts.reporter = &reporter;
  parts.trace = trace.get();
  parts.filler = &filler;
  parts.note_failure = [] {};
  parts.words = {stage.words(), 0, stage.word_count()};
  DispatcherOptions wanted;
  wanted.session.spin = options.spin;
  Dispatcher dispatcher(parts, wanted);
  dispatcher.add_job({0, "job", job.get(), &unit, {}, {nullptr, DoneMark{&done_word, 0}}}, JobRecord{});
  const TimePoint begin = now();
  if (!dispatcher.start()) throw std::runtime_error("no thread could be started");
  for (int bubble = 0; bubble < options.bubbles; ++bubble) stage.microbatch();
  const Duration took = now() - begin;
  while (!dispatcher.stop(1s)) {
  }
  const TraceSummary summary = dispatcher.summary();
  const std::string path = trace->path();
  trace->finish(summary);
  const auto share = [&](Duration time) {
    return 100 * static_cast<double>(time.count()) / static_cast<double>(took.count());
  };
  std::printf("| %g %% | %s | %s | %s | %.1f %% | %.1f %% |\n", 100 * options.spin,
              microseconds_of(seen_after(path, stage.ends)).c_str(), microseconds_of(stage.to_next).c_str(),
              microseconds_of(stage.to_first).c_str(), share(summary.cpu), share(summary.spun));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  CLI::App app{"How soon Weft's thread sees what streams have written. Needs two idle cores."};
  weft::Wanted options;
  std::vector<double> spins{0, 0.05};
  app.add_option("--bubbles", options.bubbles)->check(CLI::Range(100, 1'000'000))->capture_default_str();
  app.add_option("--jitter", options.jitter, "Of the lengths of bubbles")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--spin", spins, "WEFT_SPIN as a share, one row each")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::printf(
      "| `WEFT_SPIN` | end of a bubble until seen, median | 90 %% | 99 %% | end of a slice until next launch, median | "
      "90 %% | 99 %% | "
      "begin of a bubble until first launch, median | 90 %% | 99 %% | CPU of the thread | without sleep |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const double spin : spins) {
    options.spin = spin;
    weft::print_row(options);
  }
  return 0;
}
