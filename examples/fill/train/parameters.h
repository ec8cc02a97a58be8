// The parameters of the network by name, in the order in which they stand in memory, and what they begin with.
//
// Used by train.cpp in init(). Pure. A test holds it against the offsets of step.h.
#pragma once

#include <string>
#include <vector>

#include "sampling.h"
#include "saved_state.h"
#include "step.h"

namespace train {

inline std::vector<SavedTensor> tensors_of(const Network& n) {
  std::vector<SavedTensor> all{{"stem.weight", {3, 3, n.colours, n.channels}},
                               {"stem.norm.weight", {n.channels}},
                               {"stem.norm.bias", {n.channels}}};
  for (int block = 0; block < n.blocks; ++block) {
    const std::string name = "blocks." + std::to_string(block) + ".";
    all.push_back({name + "conv1.weight", {3, 3, n.channels, n.channels}});
    all.push_back({name + "norm.weight", {n.channels}});
    all.push_back({name + "norm.bias", {n.channels}});
    all.push_back({name + "conv2.weight", {3, 3, n.channels, n.channels}});
  }
  all.push_back({"head.weight", {n.classes, n.channels}});
  all.push_back({"head.bias", {n.classes}});
  return all;
}

// Gains begin with 1, biases with 0.
inline void set_initial(const std::vector<SavedTensor>& tensors, std::uint64_t seed, float* parameters) {
  std::uint64_t number = 0;
  for (const SavedTensor& tensor : tensors) {
    // The last dimension of a convolution's weights is that of its outputs, the first one of the head's.
    const int outputs = tensor.shape.size() == 4 ? tensor.shape.back() : tensor.shape.front();
    const std::uint64_t count = tensor.bytes() / sizeof(float);
    const int inputs = static_cast<int>(count) / outputs;
    for (std::uint64_t i = 0; i < count; ++i, ++number)
      parameters[number] = tensor.shape.size() > 1                ? initial_weight(seed, number, inputs)
                           : tensor.name.ends_with("norm.weight") ? 1.0F
                                                                  : 0.0F;
  }
}

}  // namespace train
