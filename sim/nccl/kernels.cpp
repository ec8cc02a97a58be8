// Kernel table, plan registry and the step function that the engine calls.
#include "kernels.h"

#include <array>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "driver.h"
#include "errors.h"

namespace simgpu::nccl {
namespace {

// Of two NCCLs in one process each needs its own names: the driver finds what a kernel does by them.
#ifndef SIMGPU_NCCL_KERNEL
#define SIMGPU_NCCL_KERNEL "ncclDevKernel"
#endif
constexpr const char* send_receive_name = SIMGPU_NCCL_KERNEL "_SendRecv";
constexpr const char* generic_name = SIMGPU_NCCL_KERNEL "_Generic";
constexpr const char* all_gather_name = SIMGPU_NCCL_KERNEL "_AllGather_RING_LL";
constexpr const char* broadcast_name = SIMGPU_NCCL_KERNEL "_Broadcast_RING_LL";
constexpr Instant spin_worth_a_record = 5'000'000'000;

// PTX without code: the driver needs an image, and finds kernels by name.
constexpr char image[] = ".version 8.0\n.target sm_90\n.address_size 64\n";

struct PlanRegistry {
  std::mutex mutex;
  uint64_t last = 0;
  std::unordered_map<uint64_t, std::shared_ptr<LaunchedPlan>> plans;
};

PlanRegistry& registry() {
  static auto* const plans = new PlanRegistry;
  return *plans;
}

std::shared_ptr<LaunchedPlan> find_plan(uint64_t number) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().plans.find(number);
  return found == registry().plans.end() ? nullptr : found->second;
}

void log_spin(LaunchedPlan& launched, Instant started) {
  launched.spin_logged = true;
  char line[256];
  std::snprintf(line, sizeof line, R"({"type":"spin","name":"%s","start":%lld,"rank":%d,"ranks":%d})",
                launched.plan.kernel, static_cast<long long>(started), launched.endpoint->self(),
                launched.endpoint->segment().ranks());
  driver()->services->log(line);
}

int step(const simgpu_launch* launch, int64_t started, int64_t now, int64_t* finish) {
  const std::shared_ptr<LaunchedPlan> launched = find_plan(*static_cast<const uint64_t*>(launch->parameters[0]));
  if (launched == nullptr) {
    *finish = std::max(started, now);
    return 1;
  }
  const int over = launched->endpoint->step(launched->plan, started, now, finish);
  if (over != 0) {
    launched->spin_logged = false;
  } else if (!launched->spin_logged && now - started > spin_worth_a_record) {
    log_spin(*launched, started);
  }
  return over;
}

struct KernelTable {
  std::deque<std::string> names;
  std::vector<simgpu_kernel> kernels;
  simgpu_kernel_list list{};
  // Names of AllReduce, Reduce and ReduceScatter by kind, reduction and type.
  std::map<std::array<int, 3>, const char*> reductions;

  KernelTable();
  void add(const char* name);
};

void KernelTable::add(const char* name) {
  static constexpr uint32_t parameter_sizes[] = {sizeof(uint64_t)};
  simgpu_kernel kernel{};
  kernel.struct_size = sizeof kernel;
  kernel.name = name;
  kernel.parameter_count = 1;
  kernel.parameter_sizes = parameter_sizes;
  kernel.step = step;
  kernel.registers_per_thread = constants::nccl_registers_per_thread;
  kernels.push_back(kernel);
}

KernelTable::KernelTable() {
  for (const char* name : {send_receive_name, generic_name, all_gather_name, broadcast_name}) add(name);
  const std::pair<CollectiveKind, const char*> kinds[] = {{CollectiveKind::all_reduce, "AllReduce"},
                                                          {CollectiveKind::reduce, "Reduce"},
                                                          {CollectiveKind::reduce_scatter, "ReduceScatter"}};
  const Reduction all[] = {Reduction::sum, Reduction::product, Reduction::max,
                           Reduction::min, Reduction::average, Reduction::scaled_sum};
  for (const auto& [kind, kind_name] : kinds) {
    for (const Reduction reduction : all) {
      for (int type = 0; type < ncclNumTypes; ++type) {
        const std::string name = std::string(SIMGPU_NCCL_KERNEL "_") + kind_name + "_" + name_of(reduction) + "_" +
                                 name_of(static_cast<ncclDataType_t>(type)) + "_RING_LL";
        const std::array<int, 3> key = {static_cast<int>(kind), static_cast<int>(reduction), type};
        // Minimum and maximum are one kernel.
        if (reduction == Reduction::min) {
          reductions[key] = reductions.at({key[0], static_cast<int>(Reduction::max), type});
          continue;
        }
        reductions[key] = names.emplace_back(name).c_str();
        add(reductions[key]);
      }
    }
  }
  list = {sizeof list, static_cast<uint32_t>(kernels.size()), kernels.data()};
}

const KernelTable& kernel_table() {
  static const auto* const table = new KernelTable;
  return *table;
}

// One library for all contexts.
ncclResult_t library(CUlibrary* out) {
  static std::mutex mutex;
  static CUlibrary loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (loaded == nullptr) {
    if (driver()->services->register_kernels(&kernel_table().list) != 0) {
      return fail(ncclInternalError, "the simulated driver does not take the kernels of the simulated NCCL");
    }
    const CUresult result = driver()->cuLibraryLoadData(&loaded, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (result != CUDA_SUCCESS) return driver_failed("cuLibraryLoadData", result);
  }
  *out = loaded;
  return ncclSuccess;
}

}  // namespace

const char* kernel_name(const Plan& plan) {
  if (plan.collectives.empty()) return send_receive_name;
  if (!plan.sends.empty() || !plan.receives.empty()) return generic_name;
  const Collective& first = plan.collectives.front();
  if (first.kind == CollectiveKind::all_gather) return all_gather_name;
  if (first.kind == CollectiveKind::broadcast) return broadcast_name;
  return kernel_table().reductions.at(
      {static_cast<int>(first.kind), static_cast<int>(first.operation.reduction), static_cast<int>(first.type)});
}

ncclResult_t function_of(const char* name, CUfunction* function) {
  CUlibrary loaded = nullptr;
  if (const ncclResult_t result = library(&loaded); result != ncclSuccess) return result;
  CUkernel kernel = nullptr;
  CUresult result = driver()->cuLibraryGetKernel(&kernel, loaded, name);
  if (result != CUDA_SUCCESS) return driver_failed("cuLibraryGetKernel", result);
  result = driver()->cuKernelGetFunction(function, kernel);
  if (result != CUDA_SUCCESS) return driver_failed("cuKernelGetFunction", result);
  return ncclSuccess;
}

ncclResult_t load_kernels() {
  for (const simgpu_kernel& kernel : kernel_table().kernels) {
    CUfunction function = nullptr;
    if (const ncclResult_t result = function_of(kernel.name, &function); result != ncclSuccess) return result;
    const CUresult result = driver()->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                         int{constants::nccl_shared_per_block});
    if (result != CUDA_SUCCESS) return driver_failed("cuFuncSetAttribute", result);
  }
  return ncclSuccess;
}

uint64_t add_plan(std::shared_ptr<LaunchedPlan> plan) {
  const std::lock_guard lock(registry().mutex);
  registry().plans.emplace(++registry().last, std::move(plan));
  return registry().last;
}

void remove_plan(uint64_t number) {
  const std::lock_guard lock(registry().mutex);
  registry().plans.erase(number);
}

}  // namespace simgpu::nccl
