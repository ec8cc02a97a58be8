// Effect and cost of the example fill jobs' kernels on the simulated GPU. See sim/include/simgpu/kernels.h.
#include "matmul_values.h"
#include "simgpu/kernels.h"

namespace {

void generate(const simgpu_launch&, const unsigned* seed, float* a, float* b, int size) {
  for (int i = 0; i < size * size; ++i) {
    a[i] = fill::value_of_a(*seed, static_cast<unsigned>(i));
    b[i] = fill::value_of_b(*seed, static_cast<unsigned>(i));
  }
}
simgpu_cost generate_cost(const simgpu_launch&, const unsigned*, float*, float*, int size) {
  return {10.0 * size * size, 8.0 * size * size};
}

void product(const simgpu_launch&, const float* a, const float* b, float* c, int size) {
  for (int row = 0; row < size; ++row) {
    float* out = c + row * size;
    for (int column = 0; column < size; ++column) out[column] = 0;
    for (int k = 0; k < size; ++k) {
      const float factor = a[row * size + k];
      for (int column = 0; column < size; ++column) out[column] += factor * b[k * size + column];
    }
  }
}
simgpu_cost product_cost(const simgpu_launch&, const float*, const float*, float*, int size) {
  return {2.0 * size * size * size, 12.0 * size * size};
}

// A value from its number costs five operations, as in `generate`; its part in a sum two.
void weigh(const simgpu_launch&, const unsigned* seed, double* weighted, unsigned* right_rows, int size) {
  *right_rows = 0;
  for (int row = 0; row < size; ++row) weighted[row] = fill::weighted_row_of_b(*seed, row, size);
}
simgpu_cost weigh_cost(const simgpu_launch&, const unsigned*, double*, unsigned*, int size) {
  return {7.0 * size * size, 8.0 * size};
}

void check(const simgpu_launch&, const unsigned* seed, const float* c, const double* weighted, unsigned* right_rows,
           int size) {
  for (int row = 0; row < size; ++row)
    if (fill::row_is_right(*seed, c, weighted, row, size)) ++*right_rows;
}
simgpu_cost check_cost(const simgpu_launch&, const unsigned*, const float*, const double*, unsigned*, int size) {
  return {9.0 * size * size, 4.0 * size * size + 8.0 * size};
}

constexpr simgpu_kernel kernel_table[] = {
    simgpu::kernel<generate, generate_cost>("fill_generate"),
    simgpu::kernel<product, product_cost>("fill_product"),
    simgpu::kernel<weigh, weigh_cost>("fill_weigh"),
    simgpu::kernel<check, check_cost>("fill_check"),
};

constexpr simgpu_kernel_list list{sizeof(simgpu_kernel_list), 4, kernel_table};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table(void) {
  return &list;
}
