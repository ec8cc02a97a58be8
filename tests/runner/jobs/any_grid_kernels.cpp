// Effect and cost of the kernels of any_grid.cu on the simulated GPU. See sim/include/simgpu/kernels.h.
#include "simgpu/kernels.h"

namespace {

void add(const simgpu_launch&, int* numbers, int count, double) {
  for (int i = 0; i < count; ++i) ++numbers[i];
}
simgpu_cost add_cost(const simgpu_launch&, int*, int, double operations) {
  return {operations, 0};
}

void total(const simgpu_launch&, const int* numbers, int count, int* sum) {
  *sum = 0;
  for (int i = 0; i < count; ++i) *sum += numbers[i];
}
simgpu_cost total_cost(const simgpu_launch&, const int*, int, int*) {
  return {1, 1};
}

constexpr simgpu_kernel kernels[] = {simgpu::kernel<add, add_cost>("any_grid_add"),
                                     simgpu::kernel<total, total_cost>("any_grid_total")};
constexpr simgpu_kernel_list list{sizeof(simgpu_kernel_list), 2, kernels};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table(void) {
  return &list;
}
