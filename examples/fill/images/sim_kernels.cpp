// Effect and cost of the image job's kernels on the simulated GPU: the functions of resample.h, and their operations
// and bytes. See sim/include/simgpu/kernels.h.
#include "resample.h"
#include "simgpu/kernels.h"

namespace {

using images::Rows;
using images::Shape;
using images::Sources;

void resample(const simgpu_launch&, Shape s, Rows rows, Sources from, std::uint8_t* results) {
  for (int i = 0; i < images::items::resample(s, rows); ++i) images::resample(i, s, rows, from, results);
}
// The sizes of the sources are not known yet when a kernel is enqueued: as if all were elongated ones of the
// largest size. A number of a source that counts costs six operations.
simgpu_cost resample_cost(const simgpu_launch&, Shape s, Rows rows, Sources, std::uint8_t*) {
  const double share = 1.0 * rows.count / s.height;
  const images::Size size = images::elongated(s, s.most_bytes / images::colours);
  const double counted = 4.0 * (size.height + s.height) * (size.width + s.width) * share;
  return {6.0 * s.batch * images::colours * counted,
          1.0 * s.batch * s.most_bytes * share + 1.0 * images::items::resample(s, rows)};
}

void mark(const simgpu_launch&, Shape s, Sources from, const std::uint8_t* picture, std::uint8_t* results) {
  for (int i = 0; i < images::items::mark(s); ++i) images::mark(i, s, from, picture, results);
}
simgpu_cost mark_cost(const simgpu_launch&, Shape s, Sources, const std::uint8_t*, std::uint8_t*) {
  return {20.0 * images::items::mark(s), 10.0 * images::items::mark(s)};
}

constexpr simgpu_kernel kernel_table[] = {
    simgpu::kernel<resample, resample_cost>("images_resample"),
    simgpu::kernel<mark, mark_cost>("images_mark"),
};

constexpr simgpu_kernel_list list{sizeof(simgpu_kernel_list), 2, kernel_table};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table(void) {
  return &list;
}
