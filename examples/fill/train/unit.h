// The begin and the end of a unit: where it finds the state of the training, which images it takes, and what it says
// when it is over. One item at a time, as in network.h.
//
// Compiled for the GPU and the host, called by the kernels in train.cu and in sim_kernels.cpp.
#pragma once

#include <cstdint>

#include "sampling.h"

namespace train {

// Where the state of the training is, in pinned memory. There are two copies: a unit reads one and writes the other, so
// one that is cut off leaves what it began with. All of it stands still while a unit runs.
struct Ticket {
  std::uint64_t step = 0;  // how many are done
  std::uint32_t from = 0;  // 0 or 1: the copy that has them
  std::uint32_t reserved = 0;
};
struct Copies {
  float* copy[2] = {nullptr, nullptr};
};
// Part of the state, in floats.
struct Range {
  std::uint64_t first = 0;
  int count = 0;
};
// The items of one of the launches that a long kernel is cut into: from the first to before the last.
struct Cut {
  int first = 0, last = 0;

  TRAIN_BOTH int count() const { return last - first; }
};
// The images of a unit.
struct Choice {
  std::uint64_t seed = 0;
  std::uint32_t images = 0;
  int batch = 0, steps = 0;
};

TRAIN_BOTH void load(int item, const Range& r, const Ticket& ticket, const Copies& copies, float* state) {
  const std::uint64_t at = r.first + static_cast<std::uint64_t>(item);
  state[at] = copies.copy[ticket.from][at];
}

// `broken`: becomes 1 where a number is not finite; it may be set by several threads, to the same.
TRAIN_BOTH void store(int item, const Range& r, const Ticket& ticket, const Copies& copies, const float* state,
                      std::uint32_t* broken) {
  const std::uint64_t at = r.first + static_cast<std::uint64_t>(item);
  const float number = state[at];
  copies.copy[1 - ticket.from][at] = number;
  if (!(number - number == 0)) *broken = 1;
}

// Image `item` of the unit, and its label.
TRAIN_BOTH void choose(int item, const Choice& c, const Ticket& ticket, const int* labels_of_all, std::uint32_t* chosen,
                       int* labels) {
  const std::uint64_t first = ticket.step * static_cast<std::uint64_t>(c.batch);
  chosen[item] = image_at(first + static_cast<std::uint64_t>(item), c.images, c.seed);
  labels[item] = labels_of_all[chosen[item]];
}

// A number of a chosen image, from -1 to below 1. `size`: numbers of an image.
TRAIN_BOTH void fetch(int item, int size, const std::uint8_t* images, const std::uint32_t* chosen, float* x) {
  const std::uint64_t first = static_cast<std::uint64_t>(chosen[item / size]) * static_cast<std::uint64_t>(size);
  x[item] = (static_cast<float>(images[first + static_cast<std::uint64_t>(item % size)]) - 128.0F) / 128.0F;
}

// The mean loss of step `item` of the unit. The last one says how many steps are done then.
TRAIN_BOTH void report(int item, const Choice& c, const Ticket& ticket, const float* losses, float* means,
                       std::uint64_t* step) {
  float sum = 0;
  for (int image = 0; image < c.batch; ++image) sum += losses[item * c.batch + image];
  means[item] = sum / static_cast<float>(c.batch);
  if (item == c.steps - 1) *step = ticket.step + static_cast<std::uint64_t>(c.steps);
}

}  // namespace train
