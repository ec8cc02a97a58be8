// See the header.
#include "tests/runner/core/simulated_job.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "runner/clock.h"
#include "tests/shim/push.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;

SimulatedJob* the_job = nullptr;
MarkerWords the_words;
void* the_driver = nullptr;
EventRing* the_ring = nullptr;
std::atomic<int> groups_that_may_end{0};

// Kernels spin one after the other and are told apart by their start. May be asked again after it has said yes.
int spin(const simgpu_launch*, std::int64_t started, std::int64_t now, std::int64_t* finish) {
  static std::int64_t latest_start = 0;
  static int kernels = 0;
  if (started != latest_start) ++kernels;
  latest_start = started;
  if (groups_that_may_end < kernels) return 0;
  *finish = std::max(started, now);
  return 1;
}

simgpu_cost compute_cost(const simgpu_launch*) {
  return {1.5e6, 0};
}

void check(CUresult result, const char* what) {
  ASSERT_EQ(result, CUDA_SUCCESS) << what;
}

std::vector<nlohmann::json> lines_of(const fs::path& path) {
  std::vector<nlohmann::json> records;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    auto record = nlohmann::json::parse(line, nullptr, false);
    if (!record.is_discarded()) records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

std::map<std::string, void*> SimulatedJob::replaced;
std::atomic<std::uint32_t> SimulatedJob::streams_in_use{2};
std::atomic<int> SimulatedJob::times_reserved{0};
std::atomic<std::uint32_t> SimulatedJob::times_given_back{0};

MarkerWords SimulatedJob::words() {
  return the_words;
}

SimulatedJob::SimulatedJob(const Variables& variables) {
  the_job = this;
  the_ring = ring_.get();
  folder_ = ::testing::TempDir() + "weft_core_" + std::to_string(::getpid());
  fs::remove_all(folder_);
  fs::create_directories(folder_ + "/log");
  ::setenv("WEFT_OUTPUT", (folder_ + "/trace").c_str(), 1);
  ::setenv("SIMGPU_LOG", (folder_ + "/log").c_str(), 1);
  ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);  // tests that run at the same time share no trial
  ::setenv("WEFT_MEMORY", "64MiB", 1);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  load_driver();
}

SimulatedJob::~SimulatedJob() {
  fs::remove_all(folder_);
}

void* SimulatedJob::find(const char* name) {
  const auto found = replaced.find(name);
  return found != replaced.end() ? found->second : ::dlsym(the_driver, name);
}

void SimulatedJob::load_driver() {
  the_driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  ASSERT_NE(the_driver, nullptr) << ::dlerror();
  check(function<decltype(&::cuInit)>("cuInit")(0), "cuInit");
  const CUuuid id{SIMGPU_SERVICES_UUID_BYTES};
  const void* table = nullptr;
  check(function<decltype(&::cuGetExportTable)>("cuGetExportTable")(&table, &id), "not the simulated driver");
  services_ = static_cast<const simgpu_services*>(table);
  static const simgpu_kernel kernels[] = {
      {sizeof(simgpu_kernel), "ncclDevKernel_Test", 0, nullptr, nullptr, nullptr, &spin, 0, 0},
      {sizeof(simgpu_kernel), "compute", 0, nullptr, nullptr, &compute_cost, nullptr, 0, 0}};
  static const simgpu_kernel_list list{sizeof(simgpu_kernel_list), 2, kernels};
  ASSERT_EQ(services_->register_kernels(&list), 0);

  check(function<decltype(&::cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context_, 0), "context");
  check(function<decltype(&::cuCtxSetCurrent)>("cuCtxSetCurrent")(context_), "current");
  const auto create = function<decltype(&::cuStreamCreate)>("cuStreamCreate");
  check(create(&compute_, CU_STREAM_NON_BLOCKING), "stream");
  check(create(&communication_, CU_STREAM_NON_BLOCKING), "stream");
  check(function<decltype(&::cuEventCreate)>("cuEventCreate")(&done_, CU_EVENT_DISABLE_TIMING), "event");
  CUmodule module = nullptr;
  check(function<decltype(&::cuModuleLoadData)>("cuModuleLoadData")(&module, ".version 8.0\n.target sm_90\n"),
        "module");
  const auto get = function<decltype(&::cuModuleGetFunction)>("cuModuleGetFunction");
  check(get(&compute_kernel_, module, "compute"), "compute");
  check(get(&spin_kernel_, module, "ncclDevKernel_Test"), "spin");
  // Loaded before the training begins, as NCCL and every warmed-up framework have it.
  const auto load = function<decltype(&::cuFuncLoad)>("cuFuncLoad");
  check(load(compute_kernel_), "load");
  check(load(spin_kernel_), "load");
}

std::string SimulatedJob::open() {
  ::testing::internal::CaptureStderr();
  void* const object = ::dlopen(WEFT_CORE, RTLD_NOW | RTLD_LOCAL);
  const auto start = object == nullptr ? nullptr : reinterpret_cast<WeftCoreStart>(::dlsym(object, "weft_core_start"));
  if (start == nullptr) return "the core cannot be loaded";
  shim_.build_id = WEFT_BUILD_ID;
  shim_.ring = ring_.get();
  shim_.set_marker_words = [](int, const MarkerWords& words) { the_words = words; };
  shim_.real_driver_symbol = [](const char* name) { return find(name); };
  shim_.dropped_events = [] { return the_ring->dropped.load(); };
  shim_.list_streams_to_ask = [](int, StreamId*, int) { return 0; };  // marks say all there is to know
  shim_.ask_stream = [](int, StreamId) { return Answer{StreamAnswer::unknown}; };
  shim_.turn_off = [](const char*) { the_job->turned_off = true; };
  shim_.full_table = []() -> const char* { return nullptr; };
  shim_.streams_made = [](int) -> std::uint32_t { return 2; };
  shim_.streams_in_use = [](int) { return streams_in_use.load(); };
  shim_.is_idle = [](int) { return the_job->is_idle(); };
  shim_.set_unload_refused = [](bool) {};
  shim_.mark_own_thread = [] {};
  shim_.want_quiet_moments = [](bool wanted) { the_job->quiet_moments_wanted = wanted; };
  shim_.memory_reserved = [](int) { ++times_reserved; };
  shim_.times_given_back = &times_given_back;
  shim_.nccl_version = 22809;
  shim_.driver_version = 13000;
  EXPECT_TRUE(start(&shim_, &core));
  is_started = true;
  if (core.communicator_opened != nullptr) core.communicator_opened({1, 0, 0, 2});
  return ::testing::internal::GetCapturedStderr();
}

void SimulatedJob::reset_device() {
  check(function<decltype(&::cuDevicePrimaryCtxReset_v2)>("cuDevicePrimaryCtxReset_v2")(0), "reset");
  check(function<decltype(&::cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context_, 0), "context");
  check(function<decltype(&::cuCtxSetCurrent)>("cuCtxSetCurrent")(context_), "current");
}

bool SimulatedJob::is_registered(void* host) {
  CUdeviceptr pointer = 0;
  return function<decltype(&::cuMemHostGetDevicePointer_v2)>("cuMemHostGetDevicePointer_v2")(&pointer, host, 0) ==
         CUDA_SUCCESS;
}

std::string SimulatedJob::close() {
  ::testing::internal::CaptureStderr();
  core.communicator_closing(1);
  return ::testing::internal::GetCapturedStderr();
}

Event SimulatedJob::event(EventKind kind, StreamId stream) const {
  Event made{};
  made.time = now();
  made.kind = kind;
  made.stream = stream;
  made.communicator = 1;
  made.group = last_group_;
  return made;
}

void SimulatedJob::enqueue_marker(CUstream stream, Ticket ticket) {
  if (the_words.events != nullptr) {
    MarkerEvent& place = the_words.events[ticket % the_words.count];
    check(function<decltype(&::cuEventRecord)>("cuEventRecord")(static_cast<CUevent>(place.event), stream), "marker");
    return place.recorded.store(ticket);
  }
  if (the_words.device == 0) return;
  const CUdeviceptr word = the_words.device + (ticket % the_words.count) * sizeof(std::uint32_t);
  check(function<decltype(&::cuStreamWriteValue32_v2)>("cuStreamWriteValue32_v2")(stream, word, ticket, 0), "marker");
}

void SimulatedJob::launch_group() {
  const auto launch = function<decltype(&::cuLaunchKernel)>("cuLaunchKernel");
  check(launch(spin_kernel_, 2, 1, 1, 640, 1, 1, 0, communication_, nullptr, nullptr), "spin");
}

void SimulatedJob::begin_unseen_group() {
  launch_group();
}

void SimulatedJob::begin_group() {
  announce_group();
  launch_announced_group();
}

void SimulatedJob::launch_announced_group() {
  launch_group();
  enqueue_marker(communication_, announced_.front());
  announced_.pop_front();
}

void SimulatedJob::use_context() {
  check(function<decltype(&::cuCtxSetCurrent)>("cuCtxSetCurrent")(context_), "current");
}

void SimulatedJob::announce_group() {
  ++last_group_;
  const bool marked = the_words.device != 0 || the_words.events != nullptr;
  const Ticket started = marked ? ++last_ticket_ : 0, done = marked ? ++last_ticket_ : 0;
  enqueue_marker(communication_, started);
  announced_.push_back(done);
  Event group = event(EventKind::group_issued, 2);
  group.ticket = started;
  group.done_ticket = done;
  const bool last_of_iteration = last_group_ % 3 == 0;
  group.summary.signature = 70 + last_group_ % 3;
  group.summary.receives = last_of_iteration ? 0 : 1;
  group.summary.collectives = last_of_iteration ? 1 : 0;
  group.summary.receive_peer = last_of_iteration ? -1 : 1;
  group.summary.send_peer = -1;
  push(*ring_, group);
}

void SimulatedJob::end_group() {
  ++groups_that_may_end;
  services_->ring();
}

void SimulatedJob::microbatch(std::chrono::microseconds wait) {
  const auto launch = function<decltype(&::cuLaunchKernel)>("cuLaunchKernel");
  check(launch(compute_kernel_, 124, 1, 1, 256, 1, 1, 0, compute_, nullptr, nullptr), "compute");
  begin_group();
  check(function<decltype(&::cuEventRecord)>("cuEventRecord")(done_, communication_), "record");
  if (the_words.device != 0 || the_words.events != nullptr) {
    const Ticket reached = ++last_ticket_;
    enqueue_marker(compute_, reached);
    Event waiting = event(EventKind::wait_issued, 1);
    waiting.ticket = reached;
    waiting.awaited = {2, last_ticket_ - 1};  // the end of the group
    push(*ring_, waiting);
  }
  check(function<decltype(&::cuStreamWaitEvent)>("cuStreamWaitEvent")(compute_, done_, 0), "wait");
  std::this_thread::sleep_for(std::chrono::milliseconds(1) + wait);
  end_group();
}

bool SimulatedJob::is_idle() {
  const auto query = function<decltype(&::cuStreamQuery)>("cuStreamQuery");
  return query(compute_) == CUDA_SUCCESS && query(communication_) == CUDA_SUCCESS;
}

void SimulatedJob::wait_for_gpu() {
  const auto query = function<decltype(&::cuStreamQuery)>("cuStreamQuery");
  for (int turn = 0; turn < 20000 && query(compute_) == CUDA_ERROR_NOT_READY; ++turn)
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  EXPECT_EQ(query(compute_), CUDA_SUCCESS);
}

std::vector<nlohmann::json> SimulatedJob::trace(const std::string& device) const {
  return lines_of(folder_ + "/trace/rank0." + std::to_string(::getpid()) + device + ".jsonl");
}

std::vector<nlohmann::json> SimulatedJob::log(const std::string& thread) const {
  // The simulator writes its log at least every 100 ms; what has not come after two seconds does not come.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::vector<nlohmann::json> records;
  for (auto& record : lines_of(folder_ + "/log/gpu0." + std::to_string(::getpid()) + ".jsonl"))
    if (record.value("thread", "").starts_with(thread)) records.push_back(std::move(record));
  return records;
}

std::size_t SimulatedJob::processes() const {
  std::set<std::string> processes;
  for (const auto& file : fs::directory_iterator(folder_ + "/log"))
    processes.insert(file.path().stem().extension().string());  // gpu0.<process>.jsonl
  return processes.size();
}

std::string copy_job(const std::string& arguments) {
  return std::string(WEFT_TEST_JOBS) + "/copy_job.so:" + arguments;
}

nlohmann::json record_of(const std::vector<nlohmann::json>& records, const std::string& type) {
  for (const auto& record : records)
    if (record.value("type", "") == type) return record;
  return {};
}

std::size_t count_of(const std::vector<nlohmann::json>& records, const std::string& type) {
  return static_cast<std::size_t>(std::count_if(
      records.begin(), records.end(), [&](const nlohmann::json& record) { return record.value("type", "") == type; }));
}

void train(SimulatedJob& job, int microbatches, std::chrono::microseconds wait) {
  for (int microbatch = 0; microbatch < microbatches; ++microbatch) job.microbatch(wait);
  job.wait_for_gpu();
}

std::size_t free_memory(SimulatedJob& job) {
  std::size_t free = 0, total = 0;
  EXPECT_EQ(job.function<decltype(&::cuMemGetInfo_v2)>("cuMemGetInfo_v2")(&free, &total), CUDA_SUCCESS);
  return free;
}

bool rescued_soon(SimulatedJob& job) {
  for (int turn = 0; turn < 1000; ++turn) {
    if (job.core.rescue_memory(0)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

bool no_quiet_moment_is_wanted(SimulatedJob& job, std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (job.quiet_moments_wanted && std::chrono::steady_clock::now() < deadline) {
    job.core.quiet_moment(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return !job.quiet_moments_wanted;
}

}  // namespace weft::testing
