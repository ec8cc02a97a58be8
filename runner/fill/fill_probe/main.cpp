// weft-fill-probe: loads a fill job and runs one unit of it on the device, so that a job that crashes does so here and
// not in the training process.
//
// Started by the core (runner/fill/fill_trial.cpp) or by weft try, never by hand: the verdict goes to file descriptor 3
// in the lines that fill_trial.h describes. For weft try it runs several units, and a line before the verdict is
// "report " with the object of report.h. Single thread, its own context; it ends by SIGALRM when it takes too long. A
// job that reads records or weights gets them from a thread that stands in for the feeder; its results are kept
// nowhere.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "feeder/records.h"
#include "feeder/served_channel.h"
#include "runner/clock.h"
#include "runner/fill/fill_probe/report.h"
#include "runner/fill/fill_wait.h"
#include "runner/fill/own_memory.h"
#include "runner/fill/prepared_fill.h"
#include "runner/options/asking.h"
#include "runner/options/marking.h"
#include "runner/options/probe_request.h"

namespace {

using weft::check;

void* driver_library = nullptr;

void* symbol(const char* name) {
  return ::dlsym(driver_library, name);
}

void say(const std::string& line) {
  const std::string text = line + "\n";
  [[maybe_unused]] const ssize_t written = ::write(3, text.data(), text.size());
}

void say_step(const char* step) {
  say(std::string("at ") + step);
}

// From one node to the other, in the longest slices.
void run_slices(const weft::Driver& driver, const weft::PreparedFill& fill, std::size_t from, std::size_t to,
                std::uint32_t slot, std::chrono::nanoseconds patience) {
  for (const weft::Slice& slice : fill.unit().slices_of({from, to - from}))
    check(driver, driver.cuGraphLaunch(slice.of_slot(slot), fill.stream()), "launching a slice");
  weft::wait_for(driver, fill.stream(), patience);
}

// How many passes it took.
std::uint64_t run_work(const weft::Driver& driver, weft::PreparedFill& fill, std::uint32_t slot,
                       std::chrono::nanoseconds patience) {
  const weft::Cuts& cuts = fill.unit().cuts();
  if (!fill.job().has_passes()) {
    run_slices(driver, fill, 0, cuts.nodes(), slot, patience);
    return 1;
  }
  const std::size_t first = cuts.pass().first, behind = first + cuts.pass().count;
  run_slices(driver, fill, 0, first, slot, patience);
  for (std::uint64_t passes = 1;; ++passes) {
    run_slices(driver, fill, first, behind, slot, patience);
    const weft::FillJob::Next next = fill.job().pass_ended();
    if (next == weft::FillJob::Next::failure) throw weft::SetUpError(fill.job().failure());
    if (next == weft::FillJob::Next::another_pass) continue;
    run_slices(driver, fill, behind, cuts.nodes(), slot, patience);
    return passes;
  }
}

// Whether its result is right, as end_unit() says.
std::int8_t run_unit(const weft::Driver& driver, weft::PreparedFill& fill, std::uint64_t number,
                     std::chrono::nanoseconds patience, weft::TriedUnits& units) {
  // All of a trial's records are there, over and over.
  weft::JobFeed& feed = fill.job().feed();
  if (feed.has_records() && !feed.feed().has_filled_one_within(patience))
    throw weft::SetUpError("no records for its first unit: " + feed.feed().why());
  const std::uint32_t slot = feed.has_records() ? feed.feed().next() : 0;
  say("at begin_unit");
  if (!fill.job().begin_unit(number)) throw weft::SetUpError("begin_unit failed: " + fill.job().failure());
  say("at the work of a unit");
  const weft::TimePoint began = weft::now();
  units.passes += run_work(driver, fill, slot, patience);
  const weft::Duration took = weft::now() - began;
  units.shortest = number == 0 ? took : std::min(units.shortest, took);
  say("at end_unit");
  std::int8_t correct = -1;
  if (!fill.job().end_unit(number, correct)) throw weft::SetUpError("end_unit failed: " + fill.job().failure());
  if (correct == 0 && number == 0) throw weft::SetUpError("the result of its first unit is wrong");
  return correct;
}

weft::TriedUnits run_units(const weft::Driver& driver, weft::PreparedFill& fill, std::uint64_t count,
                           std::chrono::nanoseconds patience) {
  weft::TriedUnits units;
  for (std::uint64_t number = 0; number < count; ++number) {
    const std::int8_t correct = run_unit(driver, fill, number, patience, units);
    ++(correct == 1 ? units.right : correct == 0 ? units.wrong : units.unchecked);
  }
  return units;
}

std::uint64_t free_memory(const weft::Driver& driver) {
  std::size_t free = 0, total = 0;
  check(driver, driver.cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  return free;
}

// Bytes of device memory that the job has allocated itself, and that it has marked.
struct JobMemory {
  std::uint64_t own = 0, movable = 0;
};

JobMemory make_ready_and_destroy(const weft::Driver& driver, const weft::FillSettings& settings, std::uint64_t units) {
  weft::FreeMemory free;
  free.before = free_memory(driver);
  const weft::TimePoint began = weft::now();
  weft::PreparedFill fill(driver, settings, nullptr, &say_step);
  const weft::Duration preparation = weft::now() - began;
  say("prepared " + std::to_string(preparation.count()));
  const std::uint64_t movable = fill.reservation().movable_asked();
  say("movable " + std::to_string(movable));
  const weft::TriedUnits done =
      run_units(driver, fill, std::max<std::uint64_t>(units, 1), settings.unit.timing.patience);
  if (units != 0) say("report " + weft::report_of(driver, fill, preparation, done));
  fill.destroy_unit();
  free.ready = free_memory(driver);
  say("at destroy");
  fill.destroy_job();
  free.destroyed = free_memory(driver);
  return {weft::own_memory(free, settings.memory), movable};
}

void move_all(const weft::Driver& driver, const weft::PreparedFill& fill, weft::MoveWay way,
              std::chrono::nanoseconds patience) {
  for (std::uint32_t piece = 0; piece < fill.mover()->cuts().slices().size(); ++piece)
    check(driver, fill.mover()->launch(way, piece, fill.stream()), "copying marked memory");
  weft::wait_for(driver, fill.stream(), patience);
}

// Of a job that has marked memory: as in a training that is short of memory, between two units. The job is prepared as
// it will be there, and how long that takes counts.
void try_moving(const weft::Driver& driver, weft::FillSettings settings, std::uint64_t movable) {
  settings.movable = movable;
  const std::chrono::nanoseconds patience = settings.unit.timing.patience;
  const weft::TimePoint began = weft::now();
  weft::PreparedFill fill(driver, settings, nullptr, &say_step);
  say("prepared " + std::to_string((weft::now() - began).count()));
  if (fill.mover() == nullptr) return;  // the host has too little memory for it
  weft::TriedUnits units;
  run_unit(driver, fill, 0, patience, units);
  move_all(driver, fill, weft::MoveWay::to_host, patience);
  if (!fill.reservation().let_movable_go(patience)) throw weft::SetUpError("its marked memory cannot be unmapped");
  say("at save, while its marked memory is on the host");
  fill.job().save();
  if (!fill.reservation().fetch_movable(patience)) throw weft::LacksMemory("its marked memory cannot be mapped again");
  move_all(driver, fill, weft::MoveWay::to_device, patience);
  if (run_unit(driver, fill, 1, patience, units) == 0)
    throw weft::SetUpError("the result of a unit is wrong after its marked memory was on the host");
}

void look_for_own_memory(const weft::Driver& driver, const weft::FillSettings& settings, std::uint64_t units) {
  const auto [own, movable] = make_ready_and_destroy(driver, settings, units);
  if (movable != 0) try_moving(driver, settings, movable);
  if (own > weft::most_own_memory && weft::is_of_the_job(own, make_ready_and_destroy(driver, settings, 0).own))
    throw weft::SetUpError("it allocates " + std::to_string(own >> 20) +
                           " MiB of device memory itself, which WEFT_MEMORY does not cap and the training cannot get "
                           "back: all of it has to come from host->allocate");
}

// For weft try, which does not know the GPU.
void take_all_but_reserved(const weft::Driver& driver, CUdevice device, weft::FillSettings& settings) {
  int multiprocessors = 0;
  check(driver, driver.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
        "cuDeviceGetAttribute");
  settings.unit.confine.max_blocks =
      weft::blocks_left(static_cast<std::uint32_t>(multiprocessors), settings.unit.confine.reserved);
}

// `units`: how many weft try wants, 0: it is the trial of a training.
void try_job(weft::FillSettings settings, std::uint64_t units) {
  driver_library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (driver_library == nullptr) throw weft::SetUpError("libcuda.so.1 cannot be loaded");
  weft::Driver driver;
  driver.load(symbol);
  const auto initialise = reinterpret_cast<decltype(&::cuInit)>(symbol("cuInit"));
  if (initialise == nullptr || !driver.missing_to_observe.empty() || !driver.missing_to_fill.empty())
    throw weft::SetUpError("the driver lacks functions that filling needs");
  check(driver, initialise(0), "cuInit");
  CUdevice device{};
  CUcontext context = nullptr;
  check(driver, driver.cuDeviceGet(&device, settings.lane.device), "cuDeviceGet");
  if (!settings.uuid.empty() && driver.uuid_of(settings.lane.device) != settings.uuid)
    throw weft::SetUpError("device " + std::to_string(settings.lane.device) +
                           " is another GPU in its trial process: CUDA_VISIBLE_DEVICES or CUDA_DEVICE_ORDER was "
                           "changed after CUDA had started");
  check(driver, driver.cuDevicePrimaryCtxRetain(&context, device), "creating a context");
  check(driver, driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  if (settings.unit.confine.max_blocks == 0) take_all_but_reserved(driver, device, settings);
  look_for_own_memory(driver, settings, units);
}

// Of one hardware queue, whatever the environment says by now: that is what the answers are needed for. Without an
// answer the job is tried all the same; what it means that there is none the core decides. The stream that follows.
weft::FillStream ask_about_one_queue(int device, weft::OneQueue wish) {
  weft::Variables variables = weft::environment_variables();
  variables["CUDA_DEVICE_MAX_CONNECTIONS"] = "1";
  variables[weft::asked_device] = std::to_string(device);
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  weft::Marking marking;
  if (length <= 0) return marking.stream;
  const std::string own(path, static_cast<std::size_t>(length));
  try {
    const std::string program = own.substr(0, own.rfind('/') + 1) + weft::asking_program;
    const weft::Answers answers = weft::ask_machine(program, variables);
    say("found " + weft::letters_of(answers));
    decide_fillable(answers, wish, marking);
  } catch (const std::exception&) {
    // As without an answer.
  }
  return marking.stream;
}

template <class Value, std::size_t count>
Value value_of(std::string_view name, const std::array<std::string_view, count>& names) {
  for (std::size_t index = 0; index < count; ++index)
    if (name == names[index]) return static_cast<Value>(index);
  return {};
}

weft::FillSettings settings_of(const weft::ProbeRequest& request) {
  weft::FillSettings settings;
  settings.lane.device = static_cast<int>(request.device);
  settings.uuid = request.uuid;
  settings.memory = request.memory;
  settings.unit.confine = {value_of<weft::Confine>(request.confine, weft::confine_names),
                           static_cast<std::uint32_t>(request.max_blocks),
                           static_cast<std::uint32_t>(request.reserved)};
  settings.unit.slice_cap = std::chrono::nanoseconds(request.slice_cap);
  if (request.units == 0) {
    settings.unit.timing.repeats = 1;
    settings.unit.confine.bounds_lengths = false;
  }
  settings.is_trial = true;
  settings.spec = {request.path, request.arguments};
  settings.feed = {"", request.input, request.results, request.weights, request.arguments};
  settings.lane.stream = value_of<weft::FillStream>(request.stream, weft::fill_stream_names);
  if (!request.one_queue.empty())
    settings.lane.stream =
        ask_about_one_queue(settings.lane.device, value_of<weft::OneQueue>(request.one_queue, weft::one_queue_names));
  return settings;
}

// A feeder in this process. The file of a channel has no name any more once it is open: a job that crashes leaves
// nothing behind.
class OwnFeeder {
 public:
  ~OwnFeeder() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  void serve(const std::string& path) {
    auto channel =
        std::make_shared<weft::ServedChannel>(weft::Channel::open(path), &weft::records_for_trial,
                                              [](const weft::Channel& held) { return held.header().closed == 0; });
    channel->channel().remove();
    threads_.emplace_back([this, channel] { channel->serve(stop_); });
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

void try_with_feeder(weft::FillSettings settings, std::uint64_t units) {
  OwnFeeder feeder;
  settings.feed.folder = "/dev/shm";
  settings.feed.serve_here = [&feeder](const std::string& path) { feeder.serve(path); };
  try_job(settings, units);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::optional<weft::ProbeRequest> request = weft::probe_request(argument_count - 1, arguments + 1);
  if (!request) return 2;
  ::alarm(static_cast<unsigned>(request->limit));
  // Where memory runs short, it is not the training that has to go.
  if (const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); file >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(file, "1000", 4);
    ::close(file);
  }
  try {
    try_with_feeder(settings_of(*request), request->units);
  } catch (const std::exception& error) {
    if (dynamic_cast<const weft::LacksMemory*>(&error) != nullptr) say("lacks memory");
    const std::string text = error.what();
    const bool named = text.starts_with("fill job ");
    say("failed " + (named ? text : "fill job " + request->path + ": " + text));
    return 1;
  }
  say("ok");
  return 0;
}
