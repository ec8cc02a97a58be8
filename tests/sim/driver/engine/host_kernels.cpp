// A host-kernel library for the tests: kernels of chosen cost, one with an effect, one that is slow on the host, and
// one that spins until a word in memory is set.
#include <atomic>
#include <chrono>
#include <thread>

#include "simgpu/kernels.h"

namespace {

double blocks_of(const simgpu_launch& launch) {
  return static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
}

void work(const simgpu_launch&, double) {}
simgpu_cost work_cost(const simgpu_launch& launch, double flops_per_block) {
  return {flops_per_block * blocks_of(launch), 0};
}

void move(const simgpu_launch&, double) {}
simgpu_cost move_cost(const simgpu_launch& launch, double bytes_per_block) {
  return {0, bytes_per_block * blocks_of(launch)};
}

void add(const simgpu_launch& launch, int* to, int value, int count) {
  const auto threads = static_cast<int>(launch.grid[0] * launch.block[0]);
  for (int index = 0; index < count && index < threads; ++index) to[index] += value;
}
simgpu_cost add_cost(const simgpu_launch&, int*, int, int count) {
  return {static_cast<double>(count), 8.0 * count};
}

// A kernel that only takes time: its length does not depend on the host.
template <auto shape, auto cost>
constexpr simgpu_kernel without_effect(const char* name, uint32_t registers_per_thread = 32) {
  simgpu_kernel kernel = simgpu::kernel<shape, cost>(name, registers_per_thread);
  kernel.run = nullptr;
  return kernel;
}

void late(const simgpu_launch&, int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}
simgpu_cost late_cost(const simgpu_launch&, int) {
  return {1, 1};
}

// Over when the word is not 0, at the time that `finish` says, or now when that is 0.
struct SpinWords {
  std::atomic<int> go;
  std::atomic<int64_t> finish;
};
int spin_step(const simgpu_launch* launch, int64_t, int64_t now, int64_t* finish) {
  SpinWords* words = *static_cast<SpinWords* const*>(launch->parameters[0]);
  if (words->go.load(std::memory_order_acquire) == 0) return 0;
  const int64_t wanted = words->finish.load(std::memory_order_acquire);
  *finish = wanted != 0 ? wanted : now;
  return 1;
}
constexpr uint32_t spin_sizes[] = {sizeof(void*)};

const simgpu_kernel kernels[] = {
    without_effect<work, work_cost>("work"),
    without_effect<work, work_cost>("wide", 64),
    without_effect<move, move_cost>("move"),
    simgpu::kernel<add, add_cost>("add"),
    simgpu::kernel<late, late_cost>("late"),
    {sizeof(simgpu_kernel), "ncclDevKernel_Spin", 1, spin_sizes, nullptr, nullptr, spin_step, 96, 0},
};
const simgpu_kernel_list list{sizeof(simgpu_kernel_list), sizeof(kernels) / sizeof(kernels[0]), kernels};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table() {
  return &list;
}
