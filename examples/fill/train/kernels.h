// The kernels of the training job, launched with grids that leave multiprocessors free. GPU code in train.cu, the
// simulated GPU's in sim_kernels.cpp; both run the functions of network.h and sampling.h.
//
// Called by train.cpp while a unit is recorded; step.h has the order of those of a step.
#pragma once

#include <cuda_runtime_api.h>

#include "unit.h"

namespace train {

class Launches {
 public:
  // `parts`: launches of each convolution, which take nearly all of the time. Those of the gradient of its weights are
  // not shorter than one thread that goes over the pixels of an image, and not so many that this is in vain.
  Launches(int most_blocks, int parts, cudaStream_t stream) : blocks_(most_blocks), parts_(parts), stream_(stream) {}

  void load(const Range& r, const Ticket* ticket, const Copies& copies, float* state);
  void store(const Range& r, const Ticket* ticket, const Copies& copies, const float* state, std::uint32_t* broken);
  void choose(const Choice& c, const Ticket* ticket, const int* labels_of_all, std::uint32_t* chosen, int* labels);
  void fetch(int count, int size, const std::uint8_t* images, const std::uint32_t* chosen, float* x);
  // The mean of each step's losses, and with the last one the number of steps that are done then.
  void report(const Choice& c, const Ticket* ticket, const float* losses, float* means, std::uint64_t* step);

  void conv(const Conv& c, const float* x, const float* w, const float* skip, float* y);
  void conv_back(const Conv& c, const float* dy, const float* w, const float* x, const float* skip, float* dx);
  void conv_gradient(const Conv& c, const float* x, const float* dy, const Parts<float>& parts);
  void norm(const Plane& p, const float* gain, const float* bias, float* hat, float* scales, float* y);
  void norm_back(const Plane& p, const float* gain, const float* hat, const float* scales, float* gradient);
  void norm_gradient(const Plane& p, const float* hat, const float* gradient, const Parts<float>& parts);
  void pool(const Plane& p, const float* x, float* means);
  void pool_back(const Plane& p, const float* of_means, const float* x, float* gradient);
  void head(const Head& h, const float* means, const float* w, float* scores);
  void head_back(const Head& h, const float* gradient, const float* w, float* of_means);
  void head_gradient(const Head& h, const float* means, const float* gradient, const Parts<float>& parts);
  void loss(const Head& h, const int* labels, float* scores, float* losses);
  void update(int count, const Descent& d, const Parts<float>& parts, float* parameters, float* momenta);

 private:
  template <class Launch>
  void cut(int count, int least, Launch launch) const;

  const int blocks_, parts_;
  const cudaStream_t stream_;
};

}  // namespace train
