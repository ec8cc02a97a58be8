// The price of the shim, in one run: each call once through the pointer that a program gets (the hook) and once through
// the real function's own. Starts itself again under libweft.so. On a driver that does nothing by default, so that the
// numbers are the hook's; `--driver=FOLDER` takes the libcuda.so.1 there instead, such as the simulated one, and
// nothing else from there.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>

#include "shim/routing/vendor.h"
#include "shim/seam/core_interface.h"
#include "weft/annotate.h"

namespace {

// Calls that get markers: so many find room on a stream that stands still, and their events in the ring. Rounds of one
// benchmark, in between the streams run empty.
constexpr int marked = 50, rounds = 80;
constexpr int noted = 4000;  // calls without markers: their events have to fit into the ring

void* driver() {
  return dlopen("libcuda.so.1", RTLD_NOW);
}
void* nccl() {
  return dlopen("libnccl.so.2", RTLD_NOW);
}
void* core() {
  return dlopen(BENCH_FOLDER "/libweft-core.so", RTLD_NOW | RTLD_NOLOAD);
}

template <class Function>
Function hooked(const char* name) {
  return reinterpret_cast<Function>(dlsym(name[0] == 'c' ? driver() : nccl(), name));
}
template <class Function>
Function direct(const char* name) {
  static const auto services = reinterpret_cast<const weft::ShimServices* (*)()>(dlsym(core(), "bench_services"));
  if (name[0] == 'n') return reinterpret_cast<Function>(dlsym(nccl(), (std::string("p") + name).c_str()));
  return reinterpret_cast<Function>(services()->real_driver_symbol(name));
}
#define CALLS(name) (through_hook ? hooked<decltype(&::name)>(#name) : direct<decltype(&::name)>(#name))

struct Job {
  ncclComm_t communicator = nullptr;
  CUstream compute = nullptr;
  CUstream transfers[2] = {};
  CUevent idle = nullptr;
  CUevent pending[2] = {};
};

CUstream make_stream() {
  CUstream stream = nullptr;
  hooked<decltype(&::cuStreamCreate)>("cuStreamCreate")(&stream, CU_STREAM_NON_BLOCKING);
  return stream;
}
CUevent make_event() {
  CUevent event = nullptr;
  reinterpret_cast<decltype(&::cuEventCreate)>(dlsym(driver(), "cuEventCreate"))(&event, CU_EVENT_DISABLE_TIMING);
  return event;
}

// A main job with a communicator, so that there is a core and the shim observes. Nothing is pending yet.
Job& job() {
  static Job only = [] {
    Job made;
    CUcontext context = nullptr;
    reinterpret_cast<decltype(&::cuInit)>(dlsym(driver(), "cuInit"))(0);
    hooked<decltype(&::cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context, 0);
    reinterpret_cast<decltype(&::cuCtxSetCurrent)>(dlsym(driver(), "cuCtxSetCurrent"))(context);
    hooked<decltype(&::ncclCommInitRank)>("ncclCommInitRank")(&made.communicator, 2, ncclUniqueId{}, 0);
    made.compute = make_stream();
    made.idle = make_event();
    for (CUstream& stream : made.transfers) stream = make_stream();
    for (CUevent& event : made.pending) event = make_event();
    return made;
  }();
  return only;
}

// The time of one call, of so many in a row: rounds that find the streams empty.
template <class Call, class Settle>
void time_rounds(benchmark::State& state, Call call, Settle settle) {
  for (auto _ : state) {
    settle();
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < marked; ++i) benchmark::DoNotOptimize(call());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
    state.SetIterationTime(taken.count() / marked);
  }
  settle();
}

void drain() {
  reinterpret_cast<int (*)()>(dlsym(core(), "bench_drain"))();
}

// All receives arrive and the streams run empty, so that each repetition finds the driver as the one before it did. The
// driver's own functions: Weft is not to see it.
void settle(std::initializer_list<CUstream> streams) {
  static const auto arrive = reinterpret_cast<void (*)(int)>(dlsym(nccl(), "bench_arrive"));
  static const auto synchronize = direct<decltype(&::cuStreamSynchronize)>("cuStreamSynchronize");
  reinterpret_cast<void (*)()>(dlsym(core(), "bench_reach_markers"))();
  arrive(1);
  for (const CUstream stream : streams) synchronize(stream);
  arrive(0);
}

void event_record(benchmark::State& state, bool through_hook) {
  const Job& mine = job();
  const auto call = CALLS(cuEventRecord);
  for (auto _ : state) benchmark::DoNotOptimize(call(mine.idle, mine.compute));
}

void stream_wait(benchmark::State& state, bool through_hook) {
  const Job& mine = job();
  const auto call = CALLS(cuStreamWaitEvent);
  for (auto _ : state) benchmark::DoNotOptimize(call(mine.compute, mine.idle, 0));
}

void stream_synchronize(benchmark::State& state, bool through_hook) {
  const Job& mine = job();
  const auto call = CALLS(cuStreamSynchronize);
  for (auto _ : state) benchmark::DoNotOptimize(call(mine.compute));
}

// Always on one stream, and on two in turn.
void launch(benchmark::State& state, bool through_hook) {
  const Job& mine = job();
  const auto call = CALLS(cuLaunchKernel);
  for (auto _ : state) benchmark::DoNotOptimize(call(nullptr, 1, 1, 1, 1, 1, 1, 0, mine.compute, nullptr, nullptr));
}

void launch_in_turn(benchmark::State& state, bool through_hook) {
  const Job& mine = job();
  const auto call = CALLS(cuLaunchKernel);
  std::size_t next = 0;
  for (auto _ : state) {
    next = 1 - next;
    benchmark::DoNotOptimize(call(nullptr, 1, 1, 1, 1, 1, 1, 0, mine.transfers[next], nullptr, nullptr));
  }
}

// Only copies, which get no marker; and kernels in turn with them, where each copy behind a kernel gets one.
void copy(benchmark::State& state, bool through_hook) {
  job();
  const auto call = CALLS(cuMemcpyHtoDAsync_v2);
  static const CUstream stream = make_stream();
  for (auto _ : state) benchmark::DoNotOptimize(call(0, nullptr, 1 << 20, stream));
}

void launch_and_copy(benchmark::State& state, bool through_hook) {
  job();
  const auto launches = CALLS(cuLaunchKernel);
  const auto copies = CALLS(cuMemcpyHtoDAsync_v2);
  static const CUstream stream = make_stream();
  const auto both = [&] {
    launches(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
    return copies(0, nullptr, 1 << 20, stream);
  };
  time_rounds(state, both, [] { settle({stream}); });
}

void group(benchmark::State& state, bool through_hook) {
  job();
  const auto start = CALLS(ncclGroupStart);
  const auto end = CALLS(ncclGroupEnd);
  for (auto _ : state) {
    benchmark::DoNotOptimize(start());
    benchmark::DoNotOptimize(end());
  }
}

// From here on groups are pending, on a driver that does nothing. The streams stand still while the time is
// taken, as those of a training job do whose host runs ahead.
//
// Once before: the training has run for a moment, so the shim has measured the time-stamp counter.
void warm_up() {
  static const bool only_once [[maybe_unused]] = [] {
    const CUstream stream = make_stream();
    for (int i = 0; i < 50; ++i) {
      hooked<decltype(&::ncclRecv)>("ncclRecv")(nullptr, 1, ncclInt8, 1, job().communicator, stream);
      usleep(1000);
    }
    settle({stream});
    return true;
  }();
}

void receive_marked(benchmark::State& state, bool through_hook) {
  const Job& mine = job();
  const auto call = CALLS(ncclRecv);
  const auto receive = [&] { return call(nullptr, 1, ncclInt8, 1, mine.communicator, mine.transfers[0]); };
  warm_up();
  time_rounds(state, receive, [&] { settle({mine.transfers[0]}); });
}

// The same with the operations of groups noted, as WEFT_TRACE_GROUPS wants it: one event more each.
void receive_noted(benchmark::State& state, bool through_hook) {
  job();
  const auto note = reinterpret_cast<void (*)(int)>(dlsym(core(), "bench_note_operations"));
  note(1);
  receive_marked(state, through_hook);
  note(0);
}

// Two markers and one event each: a stream waits for one group and for the other in turn.
void stream_wait_marked(benchmark::State& state, bool through_hook) {
  const Job& mine = job();
  const auto call = CALLS(cuStreamWaitEvent);
  static const CUstream waiting = make_stream();
  std::size_t next = 0;
  const auto wait = [&] {
    next = 1 - next;
    return call(waiting, mine.pending[next], 0);
  };
  const auto receive_both = [&] {
    for (int i = 0; i < 2; ++i) {
      hooked<decltype(&::ncclRecv)>("ncclRecv")(nullptr, 1, ncclInt8, 1, mine.communicator, mine.transfers[i]);
      hooked<decltype(&::cuEventRecord)>("cuEventRecord")(mine.pending[i], mine.transfers[i]);
    }
    wait();
    drain();
  };
  warm_up();
  time_rounds(state, wait, [&] {
    settle({mine.transfers[0], mine.transfers[1], waiting});
    receive_both();
  });
  settle({mine.transfers[0], mine.transfers[1], waiting});
}

// An annotation, against one without Weft.
void annotate(benchmark::State& state, bool through_hook) {
  warm_up();
  settle({});
  const weft_say_function say = through_hook ? weft_find() : weft_say_nothing;
  for (auto _ : state) {
    say(WEFT_BEGIN_MICROBATCH, WEFT_CURRENT_DEVICE, 1, 0);
    benchmark::ClobberMemory();
  }
  settle({});
}

// The real one of libc, past every library that stands in for it: a versioned lookup sees only libc's.
void look_up(benchmark::State& state, bool through_hook) {
  using Look = void* (*)(void*, const char*);
  void* libc = dlopen("libc.so.6", RTLD_NOW);
  const auto call = through_hook ? &dlsym : reinterpret_cast<Look>(dlvsym(libc, "dlsym", "GLIBC_2.2.5"));
  for (auto _ : state) benchmark::DoNotOptimize(call(libc, "getppid"));
}

void run_true(benchmark::State& state, bool preloaded) {
  char path[] = "/bin/true";
  char* arguments[] = {path, nullptr};
  std::string preload = preloaded ? "LD_PRELOAD=libweft.so" : "NOTHING=";
  std::string folder = "LD_LIBRARY_PATH=" BENCH_FOLDER;
  char* environment[] = {preload.data(), folder.data(), nullptr};
  for (auto _ : state) {
    pid_t child = 0;
    int status = 1;
    if (posix_spawn(&child, path, nullptr, nullptr, arguments, environment) != 0) state.SkipWithError("cannot run");
    waitpid(child, &status, 0);
  }
}

// `iterations` 0: as many as it takes.
void register_pair(const std::string& name, void (*run)(benchmark::State&, bool), int iterations = 0) {
  for (const bool through_hook : {false, true}) {
    auto* added =
        benchmark::RegisterBenchmark((name + (through_hook ? "/hooked" : "/direct")).c_str(), run, through_hook);
    if (iterations != 0) added->Iterations(iterations);
    if (iterations == rounds) added->UseManualTime();
    if (name == "bin_true") added->UseRealTime()->Unit(benchmark::kMicrosecond);
  }
}

// Preloading is decided when a process starts.
void start_again_preloaded(char** arguments) {
  setenv("LD_LIBRARY_PATH", BENCH_FOLDER, 1);
  setenv("LD_PRELOAD", "libweft.so", 1);
  setenv("WEFT", "observe", 1);
  execv("/proc/self/exe", arguments);
  std::perror("shim_calls");
  std::exit(1);
}

// Takes --driver=FOLDER out of the arguments.
std::string driver_folder_of(int& count, char** arguments) {
  std::string folder;
  for (int i = 1; i < count; ++i) {
    if (std::strncmp(arguments[i], "--driver=", 9) != 0) continue;
    folder = arguments[i] + 9;
    for (int next = i; next < count; ++next) arguments[next] = arguments[next + 1];
    --count;
  }
  return folder;
}

// Whoever asks for libcuda.so.1 from now on gets the one that is loaded already.
void load_driver_of(const std::string& folder) {
  if (dlopen((folder + "/libcuda.so.1").c_str(), RTLD_NOW) != nullptr) return;
  std::fprintf(stderr, "shim_calls: %s\n", dlerror());
  std::exit(1);
}

}  // namespace

int main(int count, char** arguments) {
  if (std::getenv("LD_PRELOAD") == nullptr) start_again_preloaded(arguments);
  const std::string driver_folder = driver_folder_of(count, arguments);
  if (!driver_folder.empty()) load_driver_of(driver_folder);
  register_pair("dlsym", look_up);
  register_pair("cuEventRecord", event_record, driver_folder.empty() ? 0 : noted);
  register_pair("cuStreamWaitEvent", stream_wait);
  register_pair("cuStreamSynchronize", stream_synchronize);
  if (driver_folder.empty()) {
    register_pair("cuLaunchKernel, one stream", launch);
    register_pair("cuLaunchKernel, two streams in turn", launch_in_turn);
    register_pair("cuMemcpyHtoDAsync", copy);
    register_pair("cuLaunchKernel+cuMemcpyHtoDAsync", launch_and_copy, rounds);
  }
  register_pair("ncclGroupStart+ncclGroupEnd", group);
  register_pair("ncclRecv, two markers", receive_marked, rounds);
  register_pair("ncclRecv, two markers, operation noted", receive_noted, rounds);
  register_pair("cuStreamWaitEvent, two markers", stream_wait_marked, rounds);
  register_pair("weft_say_v1", annotate, noted);
  register_pair("bin_true", run_true);
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
