// The layers of the network, where their parameters stand, and the order of the work of a step of training.
//
// The order is written once, for whatever runs it: kernels in train.cpp, loops in the test of the gradients. `Run` has
// a function for each one of network.h, without the item. Pure; nothing here allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "network.h"

namespace train {

struct Network {
  int batch = 0, height = 0, width = 0, colours = 0;  // of the images
  int channels = 0, blocks = 0, classes = 0;

  // The first convolution halves the image.
  Conv stem() const { return {batch, height, width, colours, channels, 2}; }
  Conv inner() const { return {batch, stem().rows(), stem().columns(), channels, channels, 1}; }
  Plane plane() const { return {batch, stem().rows() * stem().columns(), channels}; }
  Head head() const { return {batch, channels, classes}; }

  // Parameters in one array: the stem's weights, gains, biases; of each block the first convolution's, gains, biases,
  // the second convolution's; the head's.
  std::size_t stem_size() const { return static_cast<std::size_t>(stem().weights() + 2 * channels); }
  std::size_t first_size() const { return static_cast<std::size_t>(inner().weights() + 2 * channels); }
  std::size_t second_size() const { return static_cast<std::size_t>(inner().weights()); }
  std::size_t first_at(int block) const {
    return stem_size() + static_cast<std::size_t>(block) * (first_size() + second_size());
  }
  std::size_t second_at(int block) const { return first_at(block) + first_size(); }
  std::size_t head_at() const { return first_at(blocks); }
  std::size_t parameters() const { return head_at() + static_cast<std::size_t>(head().weights()); }
  // Of the layer with most.
  std::size_t largest_layer() const {
    const std::size_t of_head = static_cast<std::size_t>(head().weights());
    const std::size_t of_convs = stem_size() > first_size() ? stem_size() : first_size();
    return of_head > of_convs ? of_head : of_convs;
  }
};

// Arrays of one step. Those of layers are one behind the other: `y` has the output of the stem and of each block,
// `inside` what is between the convolutions of a block, `hats` and `scales` those of the stem and of each block.
template <class T>
struct Arrays {
  const T* x = nullptr;  // images
  const int* labels = nullptr;
  T *y = nullptr, *inside = nullptr, *hats = nullptr, *scales = nullptr;
  T *means = nullptr, *of_means = nullptr, *scores = nullptr, *losses = nullptr;  // a loss for each image
  T *gradient = nullptr, *other = nullptr, *third = nullptr;                      // each a plane
  T* parts = nullptr;
  T *parameters = nullptr, *momenta = nullptr;
};

template <class Run, class T>
void go_forward(Run& run, const Network& n, const Arrays<T>& a) {
  const auto plane = static_cast<std::size_t>(n.plane().numbers());
  const auto pixels = static_cast<std::size_t>(n.batch * n.plane().pixels);
  const T* const p = a.parameters;
  const T* gain = p + n.stem().weights();
  run.conv(n.stem(), a.x, p, static_cast<const T*>(nullptr), a.hats);
  run.norm(n.plane(), gain, gain + n.channels, a.hats, a.scales, a.y);
  for (int block = 0; block < n.blocks; ++block) {
    const auto number = static_cast<std::size_t>(block);
    const T *const from = a.y + number * plane, *const first = p + n.first_at(block);
    T *const hat = a.hats + (number + 1) * plane, *const inside = a.inside + number * plane;
    gain = first + n.inner().weights();
    run.conv(n.inner(), from, first, static_cast<const T*>(nullptr), hat);
    run.norm(n.plane(), gain, gain + n.channels, hat, a.scales + (number + 1) * pixels, inside);
    run.conv(n.inner(), static_cast<const T*>(inside), p + n.second_at(block), from, a.y + (number + 1) * plane);
  }
  run.pool(n.plane(), a.y + static_cast<std::size_t>(n.blocks) * plane, a.means);
  run.head(n.head(), a.means, p + n.head_at(), a.scores);
  run.loss(n.head(), a.labels, a.scores, a.losses);
}

// A layer's parameters change when nothing needs the old ones any more.
template <class Run, class T>
void go_back(Run& run, const Network& n, const Descent& d, const Arrays<T>& a) {
  const auto plane = static_cast<std::size_t>(n.plane().numbers());
  const auto pixels = static_cast<std::size_t>(n.batch * n.plane().pixels);
  const auto parts = [&](std::size_t pitch) { return Parts<T>{a.parts, n.batch, static_cast<int>(pitch)}; };
  const auto shifted = [](Parts<T> all, int by) { return Parts<T>{all.numbers + by, all.images, all.pitch}; };
  const auto update = [&](std::size_t at, const Parts<T>& of) {
    run.update(of.pitch, d, of, a.parameters + at, a.momenta + at);
  };
  const T* const p = a.parameters;
  const Parts<T> of_head = parts(static_cast<std::size_t>(n.head().weights()));
  run.head_gradient(n.head(), a.means, a.scores, of_head);
  run.head_back(n.head(), a.scores, p + n.head_at(), a.of_means);
  update(n.head_at(), of_head);
  // The gradient of the output of a block, before its last ReLU; and of what is inside of it.
  T *of_output = a.gradient, *of_input = a.other;
  run.pool_back(n.plane(), a.of_means, a.y + static_cast<std::size_t>(n.blocks) * plane, of_output);
  for (int block = n.blocks - 1; block >= 0; --block) {
    const auto number = static_cast<std::size_t>(block);
    const T *const from = a.y + number * plane, *const inside = a.inside + number * plane;
    const T *const hat = a.hats + (number + 1) * plane, *const first = p + n.first_at(block);
    const Parts<T> of_second = parts(n.second_size()), of_first = parts(n.first_size());
    run.conv_gradient(n.inner(), inside, of_output, of_second);
    run.conv_back(n.inner(), of_output, p + n.second_at(block), inside, static_cast<const T*>(nullptr), a.third);
    update(n.second_at(block), of_second);
    run.norm_gradient(n.plane(), hat, a.third, shifted(of_first, n.inner().weights()));
    run.norm_back(n.plane(), first + n.inner().weights(), hat, a.scales + (number + 1) * pixels, a.third);
    run.conv_gradient(n.inner(), from, a.third, of_first);
    run.conv_back(n.inner(), a.third, first, from, of_output, of_input);
    update(n.first_at(block), of_first);
    T* const swapped = of_output;
    of_output = of_input;
    of_input = swapped;
  }
  const Parts<T> of_stem = parts(n.stem_size());
  run.norm_gradient(n.plane(), a.hats, of_output, shifted(of_stem, n.stem().weights()));
  run.norm_back(n.plane(), p + n.stem().weights(), a.hats, a.scales, of_output);
  run.conv_gradient(n.stem(), a.x, of_output, of_stem);
  update(0, of_stem);
}

}  // namespace train
