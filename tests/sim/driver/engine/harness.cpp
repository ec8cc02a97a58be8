// See harness.h.
#include "harness.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "simgpu/kernels.h"

namespace simtest {
namespace {

std::string folder;

struct Folder {
  const pid_t owner = getpid();
  ~Folder() {
    if (getpid() == owner && !folder.empty()) std::filesystem::remove_all(folder);
  }
};

const simgpu_services& services() {
  static const CUuuid uuid = [] {
    CUuuid id{};
    constexpr unsigned char bytes[] = SIMGPU_SERVICES_UUID_BYTES;
    for (std::size_t index = 0; index < sizeof(bytes); ++index) id.bytes[index] = static_cast<char>(bytes[index]);
    return id;
  }();
  const void* table = nullptr;
  if (cuGetExportTable(&table, &uuid) != CUDA_SUCCESS) std::abort();
  return *static_cast<const simgpu_services*>(table);
}

}  // namespace

int isolated(const Environment& environment, const std::function<void()>& body, bool expect_clean) {
  static const Folder remover;
  if (!folder.empty()) std::filesystem::remove_all(folder);
  std::string pattern = std::filesystem::temp_directory_path() / "sim_driver_XXXXXX";
  folder = mkdtemp(pattern.data());
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    setenv("SIMGPU_LOG", folder.c_str(), 1);
    setenv("SIMGPU_KERNELS", TEST_KERNELS, 1);
    setenv("SIMGPU_SMS", "4", 1);
    setenv("SIMGPU_FLOPS", "4e9", 1);
    setenv("SIMGPU_BANDWIDTH", "4e9", 1);
    // The times that the tests expect, whatever the constants of the model are.
    setenv("SIMGPU_LAUNCH_LATENCY", "3us", 1);
    setenv("SIMGPU_DEPENDENCY_GAP", "1us", 1);
    setenv("SIMGPU_COPY_LATENCY", "2us", 1);
    setenv("SIMGPU_WRITE_TIME", "0ns", 1);
    setenv("SIMGPU_RECORD_TIME", "0ns", 1);
    setenv("SIMGPU_BLOCK_TIME", "5us", 1);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    body();
    const bool failed = testing::Test::HasFailure();
    std::exit(failed ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  if (expect_clean) {
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the test's process failed: status " << status;
  }
  return status;
}

std::vector<Json> log_records() {
  std::vector<Json> records;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream input(file.path());
    for (std::string line; std::getline(input, line);) {
      // The last line may be half written.
      const Json record = Json::parse(line, nullptr, false);
      if (!record.is_discarded()) records.push_back(record);
    }
  }
  return records;
}

std::vector<Json> records_of(const std::string& type) {
  std::vector<Json> found;
  for (const Json& record : log_records()) {
    if (record.at("type") == type) found.push_back(record);
  }
  return found;
}

Json await_record(const std::function<bool(const Json&)>& wanted) {
  Json found;
  wait_until([&] {
    for (const Json& record : log_records()) {
      if (wanted(record)) {
        found = record;
        return true;
      }
    }
    return false;
  });
  return found;
}

Json kernel(const std::string& name, std::size_t index) {
  Json found;
  wait_until([&] {
    std::size_t seen = 0;
    for (const Json& record : records_of("kernel")) {
      if (record.at("name") != name || seen++ != index) continue;
      found = record;
      return true;
    }
    return false;
  });
  return found;
}

CUcontext make_context() {
  CUcontext context = nullptr;
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  return context;
}

CUfunction function(const char* name) {
  static std::mutex mutex;
  const std::scoped_lock guard(mutex);
  static CUmodule module = nullptr;
  static auto& loaded = *new std::map<std::string, CUfunction>;  // threads may launch while the process ends
  if (module == nullptr) {
    static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n";
    EXPECT_EQ(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
  }
  CUfunction& entry = loaded[name];
  if (entry == nullptr) {
    EXPECT_EQ(cuModuleGetFunction(&entry, module, name), CUDA_SUCCESS);
    EXPECT_EQ(cuFuncLoad(entry), CUDA_SUCCESS);
  }
  return entry;
}

CUstream stream(unsigned flags, int priority) {
  CUstream made = nullptr;
  EXPECT_EQ(cuStreamCreateWithPriority(&made, flags, priority), CUDA_SUCCESS);
  return made;
}

void work(CUstream stream, unsigned blocks, double microseconds, unsigned threads, const char* name) {
  double flops = microseconds * 1e3;
  void* parameters[] = {&flops};
  ASSERT_EQ(cuLaunchKernel(function(name), blocks, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr), CUDA_SUCCESS);
}

Spin* make_spin() {
  void* memory = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&memory, sizeof(Spin), 0), CUDA_SUCCESS);
  function("ncclDevKernel_Spin");
  return new (memory) Spin{{0}, {0}};
}

void spin(CUstream stream, Spin* words, unsigned blocks, unsigned cluster) {
  void* parameters[] = {&words};
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {cluster, 1, 1};
  CUlaunchConfig config{};
  config.gridDimX = blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 640;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  ASSERT_EQ(cuLaunchKernelEx(&config, function("ncclDevKernel_Spin"), parameters, nullptr), CUDA_SUCCESS);
}

void release(Spin* words) {
  words->go.store(1, std::memory_order_release);
  services().ring();
}

void wait_until(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) {
      ADD_FAILURE() << "waited too long";
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace simtest
