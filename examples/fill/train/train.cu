// GPU code of the training job. See kernels.h. Threads stride over the items.
#include "../launch.h"
#include "kernels.h"

using fill::first_item;
using fill::stride;
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

extern "C" {

__global__ void train_load(Range r, const Ticket* ticket, Copies copies, float* state) {
  for (int i = first_item(); i < r.count; i += stride()) train::load(i, r, *ticket, copies, state);
}

__global__ void train_store(Range r, const Ticket* ticket, Copies copies, const float* state, std::uint32_t* broken) {
  for (int i = first_item(); i < r.count; i += stride()) train::store(i, r, *ticket, copies, state, broken);
}

__global__ void train_choose(Choice c, const Ticket* ticket, const int* labels_of_all, std::uint32_t* chosen,
                             int* labels) {
  for (int i = first_item(); i < c.batch * c.steps; i += stride())
    train::choose(i, c, *ticket, labels_of_all, chosen, labels);
}

__global__ void train_fetch(int count, int size, const std::uint8_t* images, const std::uint32_t* chosen, float* x) {
  for (int i = first_item(); i < count; i += stride()) train::fetch(i, size, images, chosen, x);
}

__global__ void train_report(Choice c, const Ticket* ticket, const float* losses, float* means, std::uint64_t* step) {
  for (int i = first_item(); i < c.steps; i += stride()) train::report(i, c, *ticket, losses, means, step);
}

__global__ void train_conv(Cut cut, Conv c, const float* x, const float* w, const float* skip, float* y) {
  for (int i = cut.first + first_item(); i < cut.last; i += stride()) train::conv(i, c, x, w, skip, y);
}

__global__ void train_conv_back(Cut cut, Conv c, const float* dy, const float* w, const float* x, const float* skip,
                                float* dx) {
  for (int i = cut.first + first_item(); i < cut.last; i += stride()) train::conv_back(i, c, dy, w, x, skip, dx);
}

__global__ void train_conv_gradient(Cut cut, Conv c, const float* x, const float* dy, Parts parts) {
  for (int i = cut.first + first_item(); i < cut.last; i += stride()) train::conv_gradient(i, c, x, dy, parts);
}

__global__ void train_norm(Plane p, const float* gain, const float* bias, float* hat, float* scales, float* y) {
  for (int i = first_item(); i < items::norm(p); i += stride()) train::norm(i, p, gain, bias, hat, scales, y);
}

__global__ void train_norm_back(Plane p, const float* gain, const float* hat, const float* scales, float* gradient) {
  for (int i = first_item(); i < items::norm(p); i += stride()) train::norm_back(i, p, gain, hat, scales, gradient);
}

__global__ void train_norm_gradient(Plane p, const float* hat, const float* gradient, Parts parts) {
  for (int i = first_item(); i < items::norm_gradient(p); i += stride())
    train::norm_gradient(i, p, hat, gradient, parts);
}

__global__ void train_pool(Plane p, const float* x, float* means) {
  for (int i = first_item(); i < items::pool(p); i += stride()) train::pool(i, p, x, means);
}

__global__ void train_pool_back(Plane p, const float* of_means, const float* x, float* gradient) {
  for (int i = first_item(); i < items::pool_back(p); i += stride()) train::pool_back(i, p, of_means, x, gradient);
}

__global__ void train_head(Head h, const float* means, const float* w, float* scores) {
  for (int i = first_item(); i < items::head(h); i += stride()) train::head(i, h, means, w, scores);
}

__global__ void train_head_back(Head h, const float* gradient, const float* w, float* of_means) {
  for (int i = first_item(); i < items::head_back(h); i += stride()) train::head_back(i, h, gradient, w, of_means);
}

__global__ void train_head_gradient(Head h, const float* means, const float* gradient, Parts parts) {
  for (int i = first_item(); i < items::head_gradient(h); i += stride())
    train::head_gradient(i, h, means, gradient, parts);
}

__global__ void train_loss(Head h, const int* labels, float* scores, float* losses) {
  for (int i = first_item(); i < items::loss(h); i += stride()) train::loss(i, h, labels, scores, losses);
}

__global__ void train_update(int count, Descent d, Parts parts, float* parameters, float* momenta) {
  for (int i = first_item(); i < count; i += stride()) train::update(i, d, parts, parameters, momenta);
}

}  // extern "C"

namespace train {
namespace {

template <class... Parameters>
void launch(void (*kernel)(Parameters...), int count, int most_blocks, cudaStream_t stream,
            const std::common_type_t<Parameters>&... parameters) {
  const fill::Launch to{most_blocks, stream};
  kernel<<<static_cast<unsigned>(fill::blocks_for(to, count)), static_cast<unsigned>(fill::threads_for(to, count)), 0,
           stream>>>(parameters...);
}

}  // namespace

template <class Launch>
void Launches::cut(int count, int least, Launch launch) const {
  const int of_part = (count - 1) / parts_ + 1, each = of_part > least ? of_part : least;
  for (int first = 0, left = count; left > 0; first += each, left -= each)
    launch(Cut{first, first + (left < each ? left : each)});
}

void Launches::load(const Range& r, const Ticket* ticket, const Copies& copies, float* state) {
  launch(train_load, r.count, blocks_, stream_, r, ticket, copies, state);
}

void Launches::store(const Range& r, const Ticket* ticket, const Copies& copies, const float* state,
                     std::uint32_t* broken) {
  launch(train_store, r.count, blocks_, stream_, r, ticket, copies, state, broken);
}

void Launches::choose(const Choice& c, const Ticket* ticket, const int* labels_of_all, std::uint32_t* chosen,
                      int* labels) {
  launch(train_choose, c.batch * c.steps, blocks_, stream_, c, ticket, labels_of_all, chosen, labels);
}

void Launches::fetch(int count, int size, const std::uint8_t* images, const std::uint32_t* chosen, float* x) {
  launch(train_fetch, count, blocks_, stream_, count, size, images, chosen, x);
}

void Launches::report(const Choice& c, const Ticket* ticket, const float* losses, float* means, std::uint64_t* step) {
  launch(train_report, c.steps, blocks_, stream_, c, ticket, losses, means, step);
}

void Launches::conv(const Conv& c, const float* x, const float* w, const float* skip, float* y) {
  cut(items::conv(c), 1,
      [&](const Cut& part) { launch(train_conv, part.count(), blocks_, stream_, part, c, x, w, skip, y); });
}

void Launches::conv_back(const Conv& c, const float* dy, const float* w, const float* x, const float* skip, float* dx) {
  cut(items::conv_back(c), 1,
      [&](const Cut& part) { launch(train_conv_back, part.count(), blocks_, stream_, part, c, dy, w, x, skip, dx); });
}

void Launches::conv_gradient(const Conv& c, const float* x, const float* dy, const Parts<float>& parts) {
  // With four threads in each block a multiprocessor has work for all of its schedulers; fewer are not faster.
  cut(items::conv_gradient(c), 4 * blocks_,
      [&](const Cut& part) { launch(train_conv_gradient, part.count(), blocks_, stream_, part, c, x, dy, parts); });
}

void Launches::norm(const Plane& p, const float* gain, const float* bias, float* hat, float* scales, float* y) {
  launch(train_norm, items::norm(p), blocks_, stream_, p, gain, bias, hat, scales, y);
}

void Launches::norm_back(const Plane& p, const float* gain, const float* hat, const float* scales, float* gradient) {
  launch(train_norm_back, items::norm(p), blocks_, stream_, p, gain, hat, scales, gradient);
}

void Launches::norm_gradient(const Plane& p, const float* hat, const float* gradient, const Parts<float>& parts) {
  launch(train_norm_gradient, items::norm_gradient(p), blocks_, stream_, p, hat, gradient, parts);
}

void Launches::pool(const Plane& p, const float* x, float* means) {
  launch(train_pool, items::pool(p), blocks_, stream_, p, x, means);
}

void Launches::pool_back(const Plane& p, const float* of_means, const float* x, float* gradient) {
  launch(train_pool_back, items::pool_back(p), blocks_, stream_, p, of_means, x, gradient);
}

void Launches::head(const Head& h, const float* means, const float* w, float* scores) {
  launch(train_head, items::head(h), blocks_, stream_, h, means, w, scores);
}

void Launches::head_back(const Head& h, const float* gradient, const float* w, float* of_means) {
  launch(train_head_back, items::head_back(h), blocks_, stream_, h, gradient, w, of_means);
}

void Launches::head_gradient(const Head& h, const float* means, const float* gradient, const Parts<float>& parts) {
  launch(train_head_gradient, items::head_gradient(h), blocks_, stream_, h, means, gradient, parts);
}

void Launches::loss(const Head& h, const int* labels, float* scores, float* losses) {
  launch(train_loss, items::loss(h), blocks_, stream_, h, labels, scores, losses);
}

void Launches::update(int count, const Descent& d, const Parts<float>& parts, float* parameters, float* momenta) {
  launch(train_update, count, blocks_, stream_, count, d, parts, parameters, momenta);
}

}  // namespace train
