// The kernel of @NAME@ on Weft's simulated GPU: its work, and how many operations and bytes that is.
#include "arithmetic.h"
#include "simgpu/kernels.h"

namespace {

void kernel(const simgpu_launch&, const float* x, const std::uint32_t* lengths, std::uint32_t longest, float* y,
            std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) y[i] = root_mean_square(x + std::size_t{i} * longest, lengths[i]);
}
simgpu_cost cost(const simgpu_launch&, const float*, const std::uint32_t*, std::uint32_t longest, float*,
                 std::uint32_t count) {
  return {2.0 * longest * count, 4.0 * longest * count};
}

constexpr simgpu_kernel kernels[] = {simgpu::kernel<kernel, cost>("@NAME@_kernel")};
constexpr simgpu_kernel_list list{sizeof(simgpu_kernel_list), 1, kernels};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table(void) {
  return &list;
}
