// The probes' kernels on the simulated GPU: a host-kernel library (see sim/include/simgpu/kernels.h). The device code
// is in kernels.cu.
//
// Called by the simulated driver on its threads. A kernel that writes times is a spinning one here, since only those
// learn the device's logical time; real work has a cost and no effect.
#include <cstdint>

#include "kernels.h"
#include "simgpu/kernels.h"

namespace {

using probe::BusyWords;
using probe::Counters;
using probe::SpinWords;

template <class Type>
Type parameter(const simgpu_launch* launch, int index) {
  return *static_cast<const Type*>(launch->parameters[index]);
}

template <class Word>
void write(Word& word, Word value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

int spin(const simgpu_launch* launch, int64_t started, int64_t now, int64_t* finish) {
  auto* words = parameter<SpinWords*>(launch, 0);
  const auto* release = parameter<const uint32_t*>(launch, 2);
  const auto limit = static_cast<int64_t>(parameter<uint64_t>(launch, 3));
  write(words->started, static_cast<uint64_t>(started));
  const bool released = __atomic_load_n(release, __ATOMIC_ACQUIRE) != 0;
  if (!released && now - started < limit) return 0;
  *finish = released ? now : started + limit;
  write(words->ended, static_cast<uint64_t>(*finish));
  write(released ? words->seen : words->timed_out, uint32_t{1});
  return 1;
}

int busy(const simgpu_launch* launch, int64_t started, int64_t now, int64_t* finish) {
  auto* words = parameter<BusyWords*>(launch, 0);
  auto* done = parameter<uint32_t*>(launch, 2);
  *finish = started + static_cast<int64_t>(parameter<uint64_t>(launch, 3));
  write(words->started, static_cast<uint64_t>(started));
  write(words->ended, static_cast<uint64_t>(*finish));
  // Only a stamp is over by now; nobody asks a longer kernel to tell.
  if (done != nullptr && now >= *finish) write(*done, uint32_t{1});
  return 1;
}

constexpr double floats_per_round = 8, bytes_per_word = 16;

double threads_of(const simgpu_launch& launch) {
  return static_cast<double>(launch.grid[0]) * launch.block[0];
}

void compute(const simgpu_launch&, float*, uint64_t) {}
simgpu_cost compute_cost(const simgpu_launch& launch, float*, uint64_t iterations) {
  return {threads_of(launch) * static_cast<double>(iterations) * floats_per_round * 2, 0};
}

void stream(const simgpu_launch&, const float*, float*, uint64_t, uint64_t) {}
simgpu_cost stream_cost(const simgpu_launch&, const float*, float*, uint64_t words, uint64_t repeats) {
  return {0, static_cast<double>(words) * static_cast<double>(repeats) * bytes_per_word};
}

void mix(const simgpu_launch&, uint32_t* words, uint64_t count, uint32_t factor) {
  for (uint64_t index = 0; index < count; ++index) words[index] = words[index] * factor + static_cast<uint32_t>(index);
}
simgpu_cost mix_cost(const simgpu_launch&, uint32_t*, uint64_t count, uint32_t) {
  return {0, static_cast<double>(count) * 2 * sizeof(uint32_t)};
}

template <auto shape, auto cost>
constexpr simgpu_kernel without_effect(const char* name) {
  simgpu_kernel kernel = simgpu::kernel<shape, cost>(name);
  kernel.run = nullptr;
  return kernel;
}

constexpr uint32_t spin_sizes[] = {8, 8, 8, 8};
constexpr uint32_t busy_sizes[] = {8, 8, 8, 8};
constexpr uint32_t spin_registers = 96, resident_registers = 48;

const simgpu_kernel kernels[] = {
    {sizeof(simgpu_kernel), "probe_spin", 4, spin_sizes, nullptr, nullptr, spin, spin_registers, 4},
    {sizeof(simgpu_kernel), "probe_busy", 4, busy_sizes, nullptr, nullptr, busy, 0, 0},
    {sizeof(simgpu_kernel), "probe_resident", 4, busy_sizes, nullptr, nullptr, busy, resident_registers, 4},
    without_effect<compute, compute_cost>("probe_compute"),
    without_effect<stream, stream_cost>("probe_stream"),
    simgpu::kernel<mix, mix_cost>("probe_mix"),
};
const simgpu_kernel_list list{sizeof(simgpu_kernel_list), sizeof(kernels) / sizeof(kernels[0]), kernels};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table() {
  return &list;
}
