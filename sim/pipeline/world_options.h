// The world of a training: its pipelines, the lengths of their pieces, their messages, and changes from outside.
//
// Plain values, pure.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/pipeline/host_program.h"
#include "sim/pipeline/iterations.h"
#include "sim/pipeline/sharing.h"

namespace weft::pipeline {

// Something beside fill work that changes the training for some of its iterations: a straggler, a step, a stall of the
// data loader, a checkpoint.
struct Change {
  int first = 0;      // iteration, from 0
  int count = 1;      // of iterations
  int every = 1;      // of these, only the first and each so-manieth after it
  int place = -1;     // of the pipeline, in all replicas; -1: everywhere
  double factor = 1;  // pieces take so many times as long
  Duration stall{};   // the host waits that long before it begins

  bool is_at(int its_place, int iteration) const {
    const int since = iteration - first;
    return (place < 0 || place == its_place) && since >= 0 && since < count && since % every == 0;
  }
};

// Memory that a rank keeps of a microbatch from its forward to its backward pass in one stage.
struct ActivationOptions {
  // One for all places of the pipeline, or one for each; of one stage, where a place has several.
  std::vector<std::uint64_t> bytes{512ULL << 20};
  // So much is kept from the gradient of the inputs to that of the weights. "Zero Bubble Pipeline Parallelism" (arXiv
  // 2401.10241) has less for these than for the whole, by how attention is computed; half is taken here.
  double kept_for_weights = 0.5;
  double offload_bandwidth = 25e9;  // bytes per second, to the host and likewise back: PCIe of the fourth generation

  std::uint64_t of_place(std::size_t place) const { return bytes.size() == 1 ? bytes.front() : bytes[place]; }
};

struct WorldOptions {
  ScheduleOptions schedule{};
  IterationOptions kinds{};
  int replicas = 1;  // of the whole pipeline; their gradients are summed up at the end of an iteration
  int iterations = 20;
  // A microbatch in one stage; backward passes that are not split take both gradients.
  Duration forward{10'000'000};
  Duration input_gradient{10'000'000};
  Duration weight_gradient{10'000'000};
  Duration optimizer{5'000'000};
  double jitter = 0;  // of each piece: the standard deviation of the logarithm of its length
  std::uint64_t message_bytes = 16 << 20;
  std::uint64_t gradient_bytes = 64 << 20;  // of a stage
  ActivationOptions activations{};
  Duration latency{20'000};
  double bandwidth = 50e9;  // bytes per second, of each message
  Duration host_call{5'000};
  double drift = 0;  // pieces of an iteration take that much longer than those of the one before, relative
  std::vector<Change> changes{};
  double interference = 0;  // pieces next to fill work take that much longer, relative; not with Sharing::beside
  Sharing sharing{};
  int kernels_of_piece = 1;  // one after the other: between two of them the GPU is free for what waits behind
  std::uint64_t seed = 1;
  int threads = 1;  // that run pipelines beside each other
  // Events also say which operations a group has, for the trace: the detector does not look at them.
  bool tells_operations = false;
  ProgramOptions program{};
};

}  // namespace weft::pipeline
