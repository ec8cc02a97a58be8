// Runs the work of the training job's steps on the host, in any precision, for its tests: the functions of
// fill/train/network.h one item after the other, in order or from the last to the first. No GPU.
#pragma once

#include <random>
#include <vector>

#include "fill/train/step.h"

namespace train_test {

class OnHost {
 public:
  explicit OnHost(bool backwards = false) : backwards_(backwards) {}

#define ON_HOST(name, items)                                          \
  template <class Shape, class... Arguments>                          \
  void name(const Shape& shape, Arguments... arguments) {             \
    each(items, [&](int i) { train::name(i, shape, arguments...); }); \
  }
  ON_HOST(conv, train::items::conv(shape))
  ON_HOST(conv_back, train::items::conv_back(shape))
  ON_HOST(conv_gradient, train::items::conv_gradient(shape))
  ON_HOST(norm, train::items::norm(shape))
  ON_HOST(norm_back, train::items::norm(shape))
  ON_HOST(norm_gradient, train::items::norm_gradient(shape))
  ON_HOST(pool, train::items::pool(shape))
  ON_HOST(pool_back, train::items::pool_back(shape))
  ON_HOST(head, train::items::head(shape))
  ON_HOST(head_back, train::items::head_back(shape))
  ON_HOST(head_gradient, train::items::head_gradient(shape))
  ON_HOST(loss, train::items::loss(shape))
#undef ON_HOST
  template <class T>
  void update(int count, const train::Descent& d, const train::Parts<T>& parts, T* parameters, T* momenta) {
    each(count, [&](int i) { train::update(i, d, parts, parameters, momenta); });
  }

 private:
  template <class Call>
  void each(int count, Call call) {
    for (int i = 0; i < count; ++i) call(backwards_ ? count - 1 - i : i);
  }
  bool backwards_;
};

template <class T>
std::vector<T> random_numbers(std::size_t count, unsigned seed, double least = -1, double most = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> distribution(least, most);
  std::vector<T> numbers(count);
  for (T& number : numbers) number = static_cast<T>(distribution(engine));
  return numbers;
}

// A network with its memory, random parameters and one batch.
template <class T>
class Trained {
 public:
  explicit Trained(const train::Network& n) : network(n) {
    const auto plane = static_cast<std::size_t>(n.plane().numbers());
    const auto pixels = static_cast<std::size_t>(n.batch * n.plane().pixels);
    const auto layers = static_cast<std::size_t>(n.blocks + 1), batch = static_cast<std::size_t>(n.batch);
    parameters = random_numbers<T>(n.parameters(), 1, -0.6, 0.6);
    momenta.assign(n.parameters(), 0);
    x = random_numbers<T>(batch * static_cast<std::size_t>(n.height * n.width * n.colours), 2);
    for (std::size_t i = 0; i < batch; ++i) labels.push_back(static_cast<int>(i) % n.classes);
    arrays.x = x.data();
    arrays.labels = labels.data();
    arrays.y = taken(layers * plane);
    arrays.inside = taken(static_cast<std::size_t>(n.blocks) * plane);
    arrays.hats = taken(layers * plane);
    arrays.scales = taken(layers * pixels);
    arrays.means = taken(batch * static_cast<std::size_t>(n.channels));
    arrays.of_means = taken(batch * static_cast<std::size_t>(n.channels));
    arrays.scores = taken(batch * static_cast<std::size_t>(n.classes));
    arrays.losses = taken(batch);
    arrays.gradient = taken(plane);
    arrays.other = taken(plane);
    arrays.third = taken(plane);
    arrays.parts = taken(batch * n.largest_layer());
    arrays.parameters = parameters.data();
    arrays.momenta = momenta.data();
  }
  Trained(const Trained&) = delete;
  Trained& operator=(const Trained&) = delete;

  T loss() {
    OnHost run;
    train::go_forward(run, network, arrays);
    T sum = 0;
    for (int i = 0; i < network.batch; ++i) sum += arrays.losses[i];
    return sum / static_cast<T>(network.batch);
  }
  void step(const train::Descent& descent, OnHost run = OnHost()) {
    train::go_forward(run, network, arrays);
    train::go_back(run, network, descent, arrays);
  }

  const train::Network network;
  std::vector<T> parameters, momenta, x;
  std::vector<int> labels;
  train::Arrays<T> arrays;

 private:
  T* taken(std::size_t count) { return memory_.emplace_back(count, T(0)).data(); }
  std::vector<std::vector<T>> memory_;
};

}  // namespace train_test
