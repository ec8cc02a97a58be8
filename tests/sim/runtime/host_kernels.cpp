// The effects of the test kernels on the host: a host-kernel library, loaded by the simulated driver through
// SIMGPU_KERNELS.
#include "kernels.h"
#include "simgpu/kernels.h"

namespace {

simgpu_cost free_of_charge() {
  return {1.0, 1.0};
}

void scale(const simgpu_launch&, float* data, float factor, int count) {
  for (int i = 0; i < count; ++i) {
    data[i] *= factor;
  }
}
simgpu_cost scale_cost(const simgpu_launch&, float*, float, int) {
  return free_of_charge();
}

void add_one(const simgpu_launch&, int* data, int count) {
  for (int i = 0; i < count; ++i) {
    data[i] += 1;
  }
}
simgpu_cost add_one_cost(const simgpu_launch&, int*, int) {
  return free_of_charge();
}

void append(const simgpu_launch&, int* journal, int value) {
  journal[0] += 1;
  journal[journal[0]] = value;
}
simgpu_cost append_cost(const simgpu_launch&, int*, int) {
  return free_of_charge();
}

void spend(const simgpu_launch&, double) {}
simgpu_cost spend_cost(const simgpu_launch&, double flops) {
  return {flops, 0.0};
}

void product(const simgpu_launch&, double* out, Pair pair) {
  *out = pair.first * pair.second;
}
simgpu_cost product_cost(const simgpu_launch&, double*, Pair) {
  return free_of_charge();
}

const simgpu_kernel kernels[] = {
    simgpu::kernel<scale, scale_cost>("_Z5scalePffi"), simgpu::kernel<add_one, add_one_cost>("add_one"),
    simgpu::kernel<append, append_cost>("append"),     simgpu::kernel<spend, spend_cost>("spend"),
    simgpu::kernel<product, product_cost>("product"),
};

const simgpu_kernel_list list = {sizeof(simgpu_kernel_list), sizeof kernels / sizeof kernels[0], kernels};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table() {
  return &list;
}
