// The arithmetic of a small residual network and of its training, one number or four neighbours at a time: compiled by
// nvcc for the GPU, by the host's compiler for the simulated one, and in double precision for the tests of its
// gradients.
//
// Called by the kernels in train.cu and by those in sim_kernels.cpp, for each item from 0 to below the number that the
// function of the same name in `items` gives. Every sum has a fixed order, and no two items write the same number, so a
// result does not depend on how the work is cut. Images are [image][row][column][channel], weights
// of convolutions [row][column][in][out]. A number that is not finite spreads to the loss: no ReLU makes a 0 of it.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define TRAIN_BOTH __host__ __device__ inline
#else
#define TRAIN_BOTH inline
#endif

namespace train {

// Numbers of one item of a convolution: neighbours, with which a thread does more for what it has read, and of which a
// host's compiler makes vectors.
constexpr int lanes = 4;

TRAIN_BOTH int groups_of(int channels) {
  return (channels + lanes - 1) / lanes;
}

// A convolution of 3 x 3 with a border of zeros, without a bias.
struct Conv {
  int images = 0, height = 0, width = 0;  // of its input
  int in = 0, out = 0;                    // channels
  int stride = 1;

  TRAIN_BOTH int rows() const { return (height + stride - 1) / stride; }
  TRAIN_BOTH int columns() const { return (width + stride - 1) / stride; }
  TRAIN_BOTH int weights() const { return 9 * in * out; }
  TRAIN_BOTH int inputs() const { return images * height * width * in; }
  TRAIN_BOTH int outputs() const { return images * rows() * columns() * out; }
};

// Images behind a convolution: `pixels` of each, with so many channels.
struct Plane {
  int images = 0, pixels = 0, channels = 0;

  TRAIN_BOTH int numbers() const { return images * pixels * channels; }
};

// The last layer, from the mean of each channel to a number for each class.
struct Head {
  int images = 0, channels = 0, classes = 0;

  TRAIN_BOTH int weights() const { return classes * (channels + 1); }  // and a bias
};

// Gradients of one layer's parameters, of each image by itself: image i has its own from i * pitch on. They are added
// up where the parameters change, in the order of the images.
template <class T>
struct Parts {
  T* numbers = nullptr;
  int images = 0, pitch = 0;
};

struct Descent {
  float rate = 0, momentum = 0;
};

namespace items {
TRAIN_BOTH int conv(const Conv& c) {
  return c.images * c.rows() * c.columns() * groups_of(c.out);
}
TRAIN_BOTH int conv_back(const Conv& c) {
  return c.images * c.height * c.width * groups_of(c.in);
}
TRAIN_BOTH int conv_gradient(const Conv& c) {
  return c.images * 9 * c.in * groups_of(c.out);
}
TRAIN_BOTH int norm(const Plane& p) {
  return p.images * p.pixels;
}
TRAIN_BOTH int norm_gradient(const Plane& p) {
  return p.images * p.channels;
}
TRAIN_BOTH int pool(const Plane& p) {
  return p.images * p.channels;
}
TRAIN_BOTH int pool_back(const Plane& p) {
  return p.numbers();
}
TRAIN_BOTH int head(const Head& h) {
  return h.images * h.classes;
}
TRAIN_BOTH int head_back(const Head& h) {
  return h.images * h.channels;
}
TRAIN_BOTH int head_gradient(const Head& h) {
  return h.images * h.weights();
}
TRAIN_BOTH int loss(const Head& h) {
  return h.images;
}
}  // namespace items

// Sums of products of single numbers with four neighbours, or fewer at the end of a row, in two chains: a processor
// does not wait for one addition before it begins the next.
template <class T>
struct NeighbourSums {
  T even[lanes] = {}, odd[lanes] = {};

  TRAIN_BOTH void add_products(const T* a, int step_a, const T* b, int step_b, int length, int neighbours) {
    int k = 0;
    for (; k + 2 <= length; k += 2) {
      add(even, a[k * step_a], b + k * step_b, neighbours);
      add(odd, a[(k + 1) * step_a], b + (k + 1) * step_b, neighbours);
    }
    if (k < length) add(even, a[k * step_a], b + k * step_b, neighbours);
  }
  TRAIN_BOTH T of(int lane) const { return even[lane] + odd[lane]; }

 private:
  TRAIN_BOTH static void add(T* sums, T a, const T* b, int neighbours) {
    if (neighbours == lanes)
      for (int lane = 0; lane < lanes; ++lane) sums[lane] += a * b[lane];
    else
      for (int lane = 0; lane < lanes; ++lane)
        if (lane < neighbours) sums[lane] += a * b[lane];
  }
};

// The sum of the products of two rows, in four chains.
template <class T>
struct RowSum {
  T sums[lanes] = {};

  TRAIN_BOTH void add_products(const T* a, const T* b, int count) {
    int k = 0;
    for (; k + lanes <= count; k += lanes)
      for (int lane = 0; lane < lanes; ++lane) sums[lane] += a[k + lane] * b[k + lane];
    for (int lane = 0; lane < lanes; ++lane)
      if (k + lane < count) sums[lane] += a[k + lane] * b[k + lane];
  }
  TRAIN_BOTH T all() const { return (sums[0] + sums[1]) + (sums[2] + sums[3]); }
};

// NaN, which is not above 0 and not below it, goes through.
template <class T>
TRAIN_BOTH T rectified(T x) {
  return x <= 0 ? T(0) : x;
}
// The gradient of what a ReLU got that gave `y`.
template <class T>
TRAIN_BOTH T rectified_back(T y, T gradient) {
  return y <= 0 ? T(0) : gradient;
}
TRAIN_BOTH int fewer_of(int a, int b) {
  return a < b ? a : b;
}

// `skip`: what is added before a ReLU; nullptr: neither.
template <class T>
TRAIN_BOTH void conv(int item, const Conv& c, const T* x, const T* w, const T* skip, T* y) {
  const int out = item % groups_of(c.out) * lanes, pixel = item / groups_of(c.out);
  const int column = pixel % c.columns() * c.stride - 1, row = pixel / c.columns() % c.rows() * c.stride - 1;
  const int image = pixel / (c.columns() * c.rows()), neighbours = fewer_of(lanes, c.out - out);
  NeighbourSums<T> sums;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      if (row + i >= 0 && row + i < c.height && column + j >= 0 && column + j < c.width)
        sums.add_products(x + ((image * c.height + row + i) * c.width + column + j) * c.in, 1,
                          w + (i * 3 + j) * c.in * c.out + out, c.out, c.in, neighbours);
  const int at = pixel * c.out + out;
  for (int lane = 0; lane < lanes; ++lane)
    if (lane < neighbours) y[at + lane] = skip == nullptr ? sums.of(lane) : rectified(sums.of(lane) + skip[at + lane]);
}

// From the gradient `dy` of the output to that of the input, of a convolution without a stride. The input came out of
// a ReLU: where it is 0, so is its gradient. `skip`: added before; nullptr: nothing.
template <class T>
TRAIN_BOTH void conv_back(int item, const Conv& c, const T* dy, const T* w, const T* x, const T* skip, T* dx) {
  const int in = item % groups_of(c.in) * lanes, pixel = item / groups_of(c.in);
  const int column = pixel % c.width + 1, row = pixel / c.width % c.height + 1, image = pixel / (c.width * c.height);
  const int neighbours = fewer_of(lanes, c.in - in);
  RowSum<T> sums[lanes];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      if (row - i >= 0 && row - i < c.height && column - j >= 0 && column - j < c.width) {
        const T* const from = dy + ((image * c.height + row - i) * c.width + column - j) * c.out;
        const T* const weights = w + ((i * 3 + j) * c.in + in) * c.out;
        for (int lane = 0; lane < lanes; ++lane)
          if (lane < neighbours) sums[lane].add_products(from, weights + lane * c.out, c.out);
      }
  const int at = pixel * c.in + in;
  for (int lane = 0; lane < lanes; ++lane)
    if (lane < neighbours)
      dx[at + lane] = rectified_back(x[at + lane], sums[lane].all() + (skip == nullptr ? T(0) : skip[at + lane]));
}

template <class T>
TRAIN_BOTH void conv_gradient(int item, const Conv& c, const T* x, const T* dy, const Parts<T>& parts) {
  const int out = item % groups_of(c.out) * lanes, in = item / groups_of(c.out) % c.in;
  const int tap = item / (groups_of(c.out) * c.in) % 9, image = item / (groups_of(c.out) * c.in * 9);
  const int i = tap / 3 - 1, j = tap % 3 - 1, neighbours = fewer_of(lanes, c.out - out);
  // The columns of the output whose input is inside the image.
  const int first = j < 0 ? 1 : 0, last = fewer_of((c.width - 1 - j) / c.stride, c.columns() - 1);
  NeighbourSums<T> sums;
  for (int row = 0; row < c.rows(); ++row) {
    const int from = row * c.stride + i;
    if (from >= 0 && from < c.height)
      sums.add_products(x + ((image * c.height + from) * c.width + first * c.stride + j) * c.in + in, c.stride * c.in,
                        dy + ((image * c.rows() + row) * c.columns() + first) * c.out + out, c.out, last - first + 1,
                        neighbours);
  }
  T* const part = parts.numbers + static_cast<std::int64_t>(image) * parts.pitch + (tap * c.in + in) * c.out + out;
  for (int lane = 0; lane < lanes; ++lane)
    if (lane < neighbours) part[lane] = sums.of(lane);
}

// Over the channels of a pixel, and a ReLU behind it. `hat` becomes its own normalised numbers, `scales` by how much.
template <class T>
TRAIN_BOTH void norm(int item, const Plane& p, const T* gain, const T* bias, T* hat, T* scales, T* y) {
  T* const row = hat + item * p.channels;
  T mean = 0, variance = 0;
  for (int c = 0; c < p.channels; ++c) mean += row[c];
  mean /= T(p.channels);
  for (int c = 0; c < p.channels; ++c) variance += (row[c] - mean) * (row[c] - mean);
  const T scale = 1 / std::sqrt(variance / T(p.channels) + T(1e-5F));
  scales[item] = scale;
  for (int c = 0; c < p.channels; ++c) {
    row[c] = (row[c] - mean) * scale;
    y[item * p.channels + c] = rectified(row[c] * gain[c] + bias[c]);
  }
}

// `gradient`: that of the output, where that is not 0; becomes that of what was normalised.
template <class T>
TRAIN_BOTH void norm_back(int item, const Plane& p, const T* gain, const T* hat, const T* scales, T* gradient) {
  const T* const row = hat + item * p.channels;
  T* const of_row = gradient + item * p.channels;
  T mean = 0, along = 0;
  for (int c = 0; c < p.channels; ++c) {
    of_row[c] *= gain[c];
    mean += of_row[c];
    along += of_row[c] * row[c];
  }
  mean /= T(p.channels);
  along /= T(p.channels);
  for (int c = 0; c < p.channels; ++c) of_row[c] = scales[item] * (of_row[c] - mean - row[c] * along);
}

// Before norm_back. `parts`: of the gains, with those of the biases behind them.
template <class T>
TRAIN_BOTH void norm_gradient(int item, const Plane& p, const T* hat, const T* gradient, const Parts<T>& parts) {
  const int channel = item % p.channels, image = item / p.channels;
  const int first = image * p.pixels * p.channels + channel;
  T of_gain = 0, of_bias = 0;
  for (int at = first; at < first + p.pixels * p.channels; at += p.channels) {
    of_gain += gradient[at] * hat[at];
    of_bias += gradient[at];
  }
  T* const part = parts.numbers + static_cast<std::int64_t>(image) * parts.pitch + channel;
  part[0] = of_gain;
  part[p.channels] = of_bias;
}

template <class T>
TRAIN_BOTH void pool(int item, const Plane& p, const T* x, T* means) {
  const int channel = item % p.channels, image = item / p.channels;
  T sum = 0;
  for (int pixel = 0; pixel < p.pixels; ++pixel) sum += x[(image * p.pixels + pixel) * p.channels + channel];
  means[item] = sum / T(p.pixels);
}

// To the gradient of what is before the ReLU that x came out of.
template <class T>
TRAIN_BOTH void pool_back(int item, const Plane& p, const T* of_means, const T* x, T* gradient) {
  const int channel = item % p.channels, image = item / (p.channels * p.pixels);
  gradient[item] = rectified_back(x[item], of_means[image * p.channels + channel] / T(p.pixels));
}

// `w`: those of the first class, of the second and so on, and behind them the biases.
template <class T>
TRAIN_BOTH void head(int item, const Head& h, const T* means, const T* w, T* scores) {
  const int out = item % h.classes, image = item / h.classes;
  RowSum<T> sums;
  sums.add_products(means + image * h.channels, w + out * h.channels, h.channels);
  scores[item] = sums.all() + w[h.classes * h.channels + out];
}

template <class T>
TRAIN_BOTH void head_back(int item, const Head& h, const T* gradient, const T* w, T* of_means) {
  const int channel = item % h.channels, image = item / h.channels;
  T sum = 0;
  for (int out = 0; out < h.classes; ++out) sum += gradient[image * h.classes + out] * w[out * h.channels + channel];
  of_means[item] = sum;
}

template <class T>
TRAIN_BOTH void head_gradient(int item, const Head& h, const T* means, const T* gradient, const Parts<T>& parts) {
  const int weight = item % h.weights(), image = item / h.weights(), biases = h.classes * h.channels;
  const T* const of_image = gradient + image * h.classes;
  parts.numbers[static_cast<std::int64_t>(image) * parts.pitch + weight] =
      weight < biases ? of_image[weight / h.channels] * means[image * h.channels + weight % h.channels]
                      : of_image[weight - biases];
}

// The cross entropy of an image, and in the place of its scores the gradients of the batch's mean.
template <class T>
TRAIN_BOTH void loss(int item, const Head& h, const int* labels, T* scores, T* losses) {
  T* const row = scores + item * h.classes;
  const int label = labels[item];
  T largest = row[0], sum = 0;
  for (int k = 1; k < h.classes; ++k) largest = row[k] > largest ? row[k] : largest;
  for (int k = 0; k < h.classes; ++k) sum += std::exp(row[k] - largest);
  losses[item] = std::log(sum) - (row[label] - largest);
  for (int k = 0; k < h.classes; ++k)
    row[k] = (std::exp(row[k] - largest) / sum - (k == label ? T(1) : T(0))) / T(h.images);
}

template <class T>
TRAIN_BOTH void update(int item, const Descent& d, const Parts<T>& parts, T* parameters, T* momenta) {
  T gradient = 0;
  for (int image = 0; image < parts.images; ++image)
    gradient += parts.numbers[static_cast<std::int64_t>(image) * parts.pitch + item];
  momenta[item] = T(d.momentum) * momenta[item] + gradient;
  parameters[item] -= T(d.rate) * momenta[item];
}

}  // namespace train
