// Which calls stall next to a spinning kernel, until it ends; and do they stall other threads' launches with them? Weft
// may make none of those during a bubble, and must know which of the main job's calls end one.
//
// Run by scripts/gpu-proof. Each call is made on a thread of its own; the main thread releases the kernel in any case.
// The things that a call needs are made before the kernel starts.
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "gpu.h"
#include "report.h"
#include "work.h"

namespace probe {
namespace {

constexpr double patience = 80;  // milliseconds after which a call counts as stalled, on hardware
constexpr std::size_t bytes = std::size_t{8} << 20;

// The calls work on these; made and used up by the calls' preparations.
struct Things {
  CUstream stream = make_stream(), other = make_stream();
  CUevent event = make_event();
  CUdeviceptr memory = 0, from = make_device_memory(bytes), to = make_device_memory(bytes);
  void* host = nullptr;
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUmemGenericAllocationHandle physical = 0;
  CUdeviceptr range = 0;
  std::size_t range_bytes = 0;
  uint32_t* word = make_pinned<uint32_t>();
  Busy stamp, bystander;
  CUmemAllocationProp property{};
  CUmemAccessDesc access{};
};

struct Question {
  const char* name;
  std::function<CUresult()> prepare;
  std::function<CUresult()> call;
};

CUresult nothing() {
  return CUDA_SUCCESS;
}

void reserve_range(Things& things) {
  things.property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  things.property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  things.property.location.id = gpu().device;
  things.access = {things.property.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  std::size_t unit = 0;
  check(driver().cuMemGetAllocationGranularity(&unit, &things.property, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  things.range_bytes = (bytes + unit - 1) / unit * unit;
  check(driver().cuMemAddressReserve(&things.range, things.range_bytes, 0, 0, 0));
}

void make_graph(Things& things) {
  check(driver().cuStreamBeginCapture(things.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  things.stamp.launch(things.stream, 0);
  check(driver().cuStreamEndCapture(things.stream, &things.graph));
}

// The pool keeps what was given back, and has been given something.
CUresult warm_pool(Things& things) {
  CUmemoryPool pool = nullptr;
  check(driver().cuDeviceGetDefaultMemPool(&pool, gpu().device));
  cuuint64_t threshold = ~cuuint64_t{0};
  check(driver().cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  check(driver().cuMemAllocAsync(&things.memory, bytes, things.stream));
  check(driver().cuMemFreeAsync(things.memory, things.stream));
  return driver().cuStreamSynchronize(things.stream);
}

// Order matters within a group: a call leaves what the next one takes.
std::vector<Question> memory_questions(Things& t) {
  const Driver& d = driver();
  return {
      {"cuMemAlloc", nothing, [&] { return d.cuMemAlloc(&t.memory, bytes); }},
      {"cuMemFree", nothing, [&] { return d.cuMemFree(t.memory); }},
      {"cuMemAllocAsync (pool grows)", nothing, [&] { return d.cuMemAllocAsync(&t.memory, bytes, t.other); }},
      {"cuMemFreeAsync", nothing, [&] { return d.cuMemFreeAsync(t.memory, t.other); }},
      {"cuMemAllocAsync (from the pool)", [&] { return warm_pool(t); },
       [&] { return d.cuMemAllocAsync(&t.memory, bytes, t.stream); }},
      {"cuMemHostAlloc", nothing, [&] { return d.cuMemHostAlloc(&t.host, bytes, 0); }},
      {"cuMemFreeHost", nothing, [&] { return d.cuMemFreeHost(t.host); }},
      {"cuMemHostRegister",
       [&] { return (t.host = std::aligned_alloc(4096, bytes)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY; },
       [&] { return d.cuMemHostRegister(t.host, bytes, 0); }},
      {"cuMemHostUnregister", nothing, [&] { return d.cuMemHostUnregister(t.host); }},
      {"cuMemAddressReserve", nothing, [&] { return reserve_range(t), CUDA_SUCCESS; }},
      {"cuMemCreate", nothing, [&] { return d.cuMemCreate(&t.physical, t.range_bytes, &t.property, 0); }},
      {"cuMemMap", nothing, [&] { return d.cuMemMap(t.range, t.range_bytes, 0, t.physical, 0); }},
      {"cuMemSetAccess", nothing, [&] { return d.cuMemSetAccess(t.range, t.range_bytes, &t.access, 1); }},
      {"cuMemUnmap", nothing, [&] { return d.cuMemUnmap(t.range, t.range_bytes); }},
      {"cuMemRelease", nothing, [&] { return d.cuMemRelease(t.physical); }},
      {"cuMemAddressFree", nothing, [&] { return d.cuMemAddressFree(t.range, t.range_bytes); }},
      {"cuMemGetInfo", nothing,
       [&] {
         std::size_t free = 0, total = 0;
         return d.cuMemGetInfo(&free, &total);
       }},
      {"cuMemsetD8", nothing, [&] { return d.cuMemsetD8(t.to, 0, bytes); }},
      {"cuMemsetD8Async", nothing, [&] { return d.cuMemsetD8Async(t.to, 0, bytes, t.other); }},
      {"cuMemcpyDtoDAsync", nothing, [&] { return d.cuMemcpyDtoDAsync(t.to, t.from, bytes, t.other); }},
      {"cuMemcpyHtoD (pageable)", nothing,
       [&] {
         const uint32_t value = 1;
         return d.cuMemcpyHtoD(t.to, &value, sizeof value);
       }},
  };
}

std::vector<Question> other_questions(Things& t) {
  const Driver& d = driver();
  return {
      {"cuStreamCreate", nothing, [&] { return d.cuStreamCreateWithPriority(&t.other, CU_STREAM_NON_BLOCKING, 0); }},
      {"cuStreamDestroy", nothing,
       [&] {
         const CUstream old = t.other;
         t.other = t.stream;
         return d.cuStreamDestroy(old);
       }},
      {"cuEventCreate", nothing, [&] { return d.cuEventCreate(&t.event, CU_EVENT_DISABLE_TIMING); }},
      {"cuEventDestroy", nothing,
       [&] {
         CUevent made = make_event();
         return d.cuEventDestroy(made);
       }},
      {"cuModuleLoadData", nothing, [&] { return d.cuModuleLoadData(&t.module, kernel_image()); }},
      {"cuModuleUnload", nothing, [&] { return d.cuModuleUnload(t.module); }},
      {"first launch of a kernel",
       [&] {
         check(d.cuLibraryLoadData(&t.library, kernel_image(), nullptr, nullptr, 0, nullptr, nullptr, 0));
         return d.cuLibraryGetKernel(&t.kernel, t.library, "probe_compute");
       },
       [&] {
         CUdeviceptr sink = t.to;
         uint64_t rounds = 1;
         void* arguments[] = {&sink, &rounds};
         launch_with(reinterpret_cast<CUfunction>(t.kernel), {}, t.other, arguments);
         return CUDA_SUCCESS;
       }},
      {"cuLibraryLoadData", nothing,
       [&] { return d.cuLibraryLoadData(&t.library, kernel_image(), nullptr, nullptr, 0, nullptr, nullptr, 0); }},
      {"first launch of a kernel with more local memory",
       [&] { return d.cuLibraryGetKernel(&t.kernel, t.library, "probe_local_memory"); },
       [&] {
         CUdeviceptr sink = t.to;
         uint32_t count = 1;
         void* arguments[] = {&sink, &count};
         launch_with(reinterpret_cast<CUfunction>(t.kernel), {}, t.other, arguments);
         return CUDA_SUCCESS;
       }},
      {"cuGraphInstantiate", [&] { return make_graph(t), CUDA_SUCCESS; },
       [&] { return d.cuGraphInstantiate(&t.executable, t.graph, 0); }},
      {"cuGraphUpload", nothing, [&] { return d.cuGraphUpload(t.executable, t.other); }},
      {"cuGraphLaunch", nothing, [&] { return d.cuGraphLaunch(t.executable, t.other); }},
      {"cuGraphExecDestroy", nothing, [&] { return d.cuGraphExecDestroy(t.executable); }},
      {"launch of a warm kernel", nothing, [&] { return t.stamp.launch(t.other, 0), CUDA_SUCCESS; }},
      {"cuEventRecord", nothing, [&] { return d.cuEventRecord(t.event, t.other); }},
      {"cuEventQuery", nothing,
       [&] {
         const CUresult result = d.cuEventQuery(t.event);
         return result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result;
       }},
      {"cuStreamWriteValue32", nothing,
       [&] { return d.cuStreamWriteValue32(t.other, reinterpret_cast<CUdeviceptr>(t.word), 1, 0); }},
  };
}

// A call on a thread of its own, watched by the main thread.
class Watched {
 public:
  explicit Watched(std::function<CUresult()> call)
      : thread_([this, call = std::move(call)] {
          try {
            use_gpu();
            begin_ = now();
            result_ = name_of(call());
          } catch (const std::exception& error) {
            result_ = error.what();
          }
          end_ = now();
        }) {}
  bool returns_within(double milliseconds) {
    return wait_for([this] { return end_.load() != 0; }, milliseconds);
  }
  void join() { thread_.join(); }
  double microseconds() const { return static_cast<double>(end_ - begin_) / 1e3; }
  const std::string& result() const { return result_; }

 private:
  std::atomic<int64_t> begin_{0}, end_{0};
  std::string result_;
  std::thread thread_;
};

struct Outcomes {
  std::vector<std::string> stalls, stalls_others, does_not, refused, no_answer;
  std::vector<double> microseconds;  // of those that do not stall

  void add_to(Report& report) const {
    report.add("stalls", stalls);
    report.add("stalls_other_threads", stalls_others);
    report.add("does_not", does_not);
    report.add("does_not_us", microseconds);
    report.add("refused", refused);
    report.add("no_answer", no_answer);
  }
};

void ask(const Question& question, Spin& spin, CUstream receive, CUstream beside, Busy& bystander, Outcomes& outcomes) {
  check(question.prepare());
  spin.launch(receive, 2);
  spin.wait_until_resident();
  Watched call(question.call);
  const bool stalled = !call.returns_within(patience * slack());
  if (stalled) {
    Watched other([&] { return bystander.launch(beside, 0), driver().cuStreamQuery(receive); });
    if (!other.returns_within(patience * slack())) outcomes.stalls_others.emplace_back(question.name);
    spin.release();
    other.join();
  }
  spin.release();
  call.join();
  check(driver().cuCtxSynchronize());
  if (spin.timed_out()) throw std::runtime_error(std::string(question.name) + " outlived the kernel's time limit");
  if (call.result() != "CUDA_SUCCESS") {
    outcomes.refused.push_back(std::string(question.name) + ": " + call.result());
  } else if (stalled) {
    outcomes.stalls.emplace_back(question.name);
  } else {
    outcomes.does_not.emplace_back(question.name);
    outcomes.microseconds.push_back(call.microseconds());
  }
}

// The next question finds the device idle, whatever went wrong with this one.
void ask_or_say_why(const Question& question, Spin& spin, CUstream receive, CUstream beside, Busy& bystander,
                    Outcomes& outcomes) {
  try {
    ask(question, spin, receive, beside, bystander, outcomes);
  } catch (const std::runtime_error& error) {
    outcomes.no_answer.push_back(std::string(question.name) + ": " + error.what());
    spin.release();
    try_call(driver().cuCtxSynchronize);
  }
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) text += (text.empty() ? "" : ", ") + each;
  return text.empty() ? "none" : text;
}

std::string measure(const Options&, Report& report) {
  use_gpu();
  const CUstream receive = make_stream(), beside = make_stream();
  Things things;
  Spin spin;
  Outcomes outcomes;
  for (const auto& questions : {memory_questions(things), other_questions(things)}) {
    for (const Question& each : questions) {
      ask_at_risk(each.name);
      ask_or_say_why(each, spin, receive, beside, things.bystander, outcomes);
      outcomes.add_to(report);  // the next one may be the last
    }
  }
  ask_at_risk(nullptr);
  if (outcomes.stalls.empty() && outcomes.does_not.empty()) throw std::runtime_error("no call gave an answer");
  return "Next to a spinning kernel these calls stall: " + list(outcomes.stalls) +
         "; of them these also stall another thread's launch: " + list(outcomes.stalls_others);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "memory_calls_next_to_spin", probe::measure);
}
