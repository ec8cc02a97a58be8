// Effect and cost of the training job's kernels on the simulated GPU: the functions of network.h and unit.h, and their
// operations and bytes. See sim/include/simgpu/kernels.h. Bytes of pinned memory go through the bus, and count
// twice.
#include <cmath>
#include <iterator>

#include "simgpu/kernels.h"
#include "unit.h"

namespace {

using train::Choice;
using train::Conv;
using train::Copies;
using train::Cut;
using train::Descent;
using train::Head;
using train::Plane;
using train::Range;
using train::Ticket;
using Parts = train::Parts<float>;
namespace items = train::items;

void load(const simgpu_launch&, Range r, const Ticket* ticket, Copies copies, float* state) {
  for (int i = 0; i < r.count; ++i) train::load(i, r, *ticket, copies, state);
}
simgpu_cost load_cost(const simgpu_launch&, Range r, const Ticket*, Copies, float*) {
  return {1.0 * r.count, 12.0 * r.count};
}

void store(const simgpu_launch&, Range r, const Ticket* ticket, Copies copies, const float* state,
           std::uint32_t* broken) {
  for (int i = 0; i < r.count; ++i) train::store(i, r, *ticket, copies, state, broken);
}
simgpu_cost store_cost(const simgpu_launch&, Range r, const Ticket*, Copies, const float*, std::uint32_t*) {
  return {1.0 * r.count, 12.0 * r.count};
}

void choose(const simgpu_launch&, Choice c, const Ticket* ticket, const int* labels_of_all, std::uint32_t* chosen,
            int* labels) {
  for (int i = 0; i < c.batch * c.steps; ++i) train::choose(i, c, *ticket, labels_of_all, chosen, labels);
}
simgpu_cost choose_cost(const simgpu_launch&, Choice c, const Ticket*, const int*, std::uint32_t*, int*) {
  return {100.0 * c.batch * c.steps, 16.0 * c.batch * c.steps};
}

void fetch(const simgpu_launch&, int count, int size, const std::uint8_t* images, const std::uint32_t* chosen,
           float* x) {
  for (int i = 0; i < count; ++i) train::fetch(i, size, images, chosen, x);
}
simgpu_cost fetch_cost(const simgpu_launch&, int count, int, const std::uint8_t*, const std::uint32_t*, float*) {
  return {4.0 * count, 5.0 * count};
}

void report(const simgpu_launch&, Choice c, const Ticket* ticket, const float* losses, float* means,
            std::uint64_t* step) {
  for (int i = 0; i < c.steps; ++i) train::report(i, c, *ticket, losses, means, step);
}
simgpu_cost report_cost(const simgpu_launch&, Choice c, const Ticket*, const float*, float*, std::uint64_t*) {
  return {1.0 * c.batch * c.steps, 4.0 * c.batch * c.steps + 8.0 * c.steps + 16.0};
}

// For kernels whose items are long. A multiprocessor has four schedulers, and a thread no more than one of them, so a
// block with fewer threads takes as long as one with four; and all take as many turns as the first one. So no launch is
// shorter than one item, however few it has.
double items_of_time(const simgpu_launch& launch, int count) {
  constexpr double schedulers = 4;
  const double blocks = launch.grid[0], threads = launch.block[0];
  return blocks * std::ceil(threads / schedulers) * schedulers * std::ceil(count / (blocks * threads));
}

// For each of the three ways a product and a sum for each weight and pixel, and both images. Items are in the order of
// the images, so a part of them has a part of all but the weights.
simgpu_cost cost_of_part(const Cut& cut, int all, const Conv& c, double bytes_beside) {
  const double part = 1.0 * cut.count() / all, images = 4.0 * (1.0 * c.inputs() + c.outputs());
  return {part * 2.0 * c.images * c.rows() * c.columns() * c.weights(),
          part * (images + bytes_beside) + 4.0 * c.weights()};
}

void conv(const simgpu_launch&, Cut cut, Conv c, const float* x, const float* w, const float* skip, float* y) {
  for (int i = cut.first; i < cut.last; ++i) train::conv(i, c, x, w, skip, y);
}
simgpu_cost conv_cost(const simgpu_launch&, Cut cut, Conv c, const float*, const float*, const float* skip, float*) {
  return cost_of_part(cut, items::conv(c), c, skip == nullptr ? 0.0 : 4.0 * c.outputs());
}

void conv_back(const simgpu_launch&, Cut cut, Conv c, const float* dy, const float* w, const float* x,
               const float* skip, float* dx) {
  for (int i = cut.first; i < cut.last; ++i) train::conv_back(i, c, dy, w, x, skip, dx);
}
simgpu_cost conv_back_cost(const simgpu_launch&, Cut cut, Conv c, const float*, const float*, const float*,
                           const float* skip, float*) {
  return cost_of_part(cut, items::conv_back(c), c, 4.0 * c.inputs() * (skip == nullptr ? 1 : 2));
}

void conv_gradient(const simgpu_launch&, Cut cut, Conv c, const float* x, const float* dy, Parts parts) {
  for (int i = cut.first; i < cut.last; ++i) train::conv_gradient(i, c, x, dy, parts);
}
simgpu_cost conv_gradient_cost(const simgpu_launch& launch, Cut cut, Conv c, const float*, const float*, Parts) {
  const simgpu_cost cost = cost_of_part(cut, items::conv_gradient(c), c, 4.0 * c.images * c.weights());
  return {cost.flops / cut.count() * items_of_time(launch, cut.count()), cost.bytes};
}

void norm(const simgpu_launch&, Plane p, const float* gain, const float* bias, float* hat, float* scales, float* y) {
  for (int i = 0; i < items::norm(p); ++i) train::norm(i, p, gain, bias, hat, scales, y);
}
simgpu_cost norm_cost(const simgpu_launch&, Plane p, const float*, const float*, float*, float*, float*) {
  return {9.0 * p.numbers(), 12.0 * p.numbers() + 4.0 * items::norm(p)};
}

void norm_back(const simgpu_launch&, Plane p, const float* gain, const float* hat, const float* scales,
               float* gradient) {
  for (int i = 0; i < items::norm(p); ++i) train::norm_back(i, p, gain, hat, scales, gradient);
}
simgpu_cost norm_back_cost(const simgpu_launch&, Plane p, const float*, const float*, const float*, float*) {
  return {8.0 * p.numbers(), 12.0 * p.numbers() + 4.0 * items::norm(p)};
}

void norm_gradient(const simgpu_launch&, Plane p, const float* hat, const float* gradient, Parts parts) {
  for (int i = 0; i < items::norm_gradient(p); ++i) train::norm_gradient(i, p, hat, gradient, parts);
}
simgpu_cost norm_gradient_cost(const simgpu_launch& launch, Plane p, const float*, const float*, Parts) {
  return {3.0 * p.pixels * items_of_time(launch, items::norm_gradient(p)),
          8.0 * p.numbers() + 8.0 * items::norm_gradient(p)};
}

void pool(const simgpu_launch&, Plane p, const float* x, float* means) {
  for (int i = 0; i < items::pool(p); ++i) train::pool(i, p, x, means);
}
simgpu_cost pool_cost(const simgpu_launch& launch, Plane p, const float*, float*) {
  return {1.0 * p.pixels * items_of_time(launch, items::pool(p)), 4.0 * p.numbers()};
}

void pool_back(const simgpu_launch&, Plane p, const float* of_means, const float* x, float* gradient) {
  for (int i = 0; i < items::pool_back(p); ++i) train::pool_back(i, p, of_means, x, gradient);
}
simgpu_cost pool_back_cost(const simgpu_launch&, Plane p, const float*, const float*, float*) {
  return {2.0 * p.numbers(), 8.0 * p.numbers()};
}

void head(const simgpu_launch&, Head h, const float* means, const float* w, float* scores) {
  for (int i = 0; i < items::head(h); ++i) train::head(i, h, means, w, scores);
}
simgpu_cost head_cost(const simgpu_launch&, Head h, const float*, const float*, float*) {
  return {2.0 * items::head_gradient(h), 4.0 * (h.weights() + items::head(h) + items::head_back(h))};
}

void head_back(const simgpu_launch&, Head h, const float* gradient, const float* w, float* of_means) {
  for (int i = 0; i < items::head_back(h); ++i) train::head_back(i, h, gradient, w, of_means);
}
simgpu_cost head_back_cost(const simgpu_launch&, Head h, const float*, const float*, float*) {
  return {2.0 * items::head_back(h) * h.classes, 4.0 * (h.weights() + items::head(h) + items::head_back(h))};
}

void head_gradient(const simgpu_launch&, Head h, const float* means, const float* gradient, Parts parts) {
  for (int i = 0; i < items::head_gradient(h); ++i) train::head_gradient(i, h, means, gradient, parts);
}
simgpu_cost head_gradient_cost(const simgpu_launch&, Head h, const float*, const float*, Parts) {
  return {1.0 * items::head_gradient(h), 4.0 * (items::head_gradient(h) + items::head(h) + items::head_back(h))};
}

void loss(const simgpu_launch&, Head h, const int* labels, float* scores, float* losses) {
  for (int i = 0; i < items::loss(h); ++i) train::loss(i, h, labels, scores, losses);
}
simgpu_cost loss_cost(const simgpu_launch&, Head h, const int*, float*, float*) {
  return {24.0 * items::head(h), 8.0 * items::head(h)};
}

void update(const simgpu_launch&, int count, Descent d, Parts parts, float* parameters, float* momenta) {
  for (int i = 0; i < count; ++i) train::update(i, d, parts, parameters, momenta);
}
simgpu_cost update_cost(const simgpu_launch&, int count, Descent, Parts parts, float*, float*) {
  return {1.0 * count * (parts.images + 4), 4.0 * count * (parts.images + 4)};
}

constexpr simgpu_kernel kernel_table[] = {
    simgpu::kernel<load, load_cost>("train_load"),
    simgpu::kernel<store, store_cost>("train_store"),
    simgpu::kernel<choose, choose_cost>("train_choose"),
    simgpu::kernel<fetch, fetch_cost>("train_fetch"),
    simgpu::kernel<report, report_cost>("train_report"),
    simgpu::kernel<conv, conv_cost>("train_conv"),
    simgpu::kernel<conv_back, conv_back_cost>("train_conv_back"),
    simgpu::kernel<conv_gradient, conv_gradient_cost>("train_conv_gradient"),
    simgpu::kernel<norm, norm_cost>("train_norm"),
    simgpu::kernel<norm_back, norm_back_cost>("train_norm_back"),
    simgpu::kernel<norm_gradient, norm_gradient_cost>("train_norm_gradient"),
    simgpu::kernel<pool, pool_cost>("train_pool"),
    simgpu::kernel<pool_back, pool_back_cost>("train_pool_back"),
    simgpu::kernel<head, head_cost>("train_head"),
    simgpu::kernel<head_back, head_back_cost>("train_head_back"),
    simgpu::kernel<head_gradient, head_gradient_cost>("train_head_gradient"),
    simgpu::kernel<loss, loss_cost>("train_loss"),
    simgpu::kernel<update, update_cost>("train_update"),
};

constexpr simgpu_kernel_list list{sizeof(simgpu_kernel_list), std::size(kernel_table), kernel_table};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table(void) {
  return &list;
}
