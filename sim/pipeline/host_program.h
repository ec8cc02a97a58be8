// The steps of a rank's host in one iteration: it posts messages, makes the compute stream wait for them, launches
// pieces, and sums gradients up. The same for all iterations and replicas.
//
// Used by the world of virtual time and its tests. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/pipeline/schedules.h"

namespace weft::pipeline {

struct ProgramOptions {
  // Megatron's batched calls: a message and the next one from the same rank are one group, and all groups share one
  // stream. Otherwise each has its own, and a stream for each pair of stages and direction.
  bool paired = false;
  bool posts_ahead = false;  // receives are posted one piece ahead, as with overlapped communication; not with `paired`
};

// One half of an exchange.
struct Message {
  int channel = -1;  // in the pipeline, -1: there is none; both ends have the same
  int peer = -1;     // place of the other end
};

struct Step {
  enum class Kind : std::uint8_t { post, wait, launch, stage_sum, whole_sum, optimizer, end } kind;
  Piece piece{};              // launch
  std::size_t stream = 0;     // post: 0 is the compute stream
  std::size_t posted = 0;     // post, wait: number of the group in the iteration
  Message send{}, receive{};  // post
};

struct Program {
  std::vector<Step> steps;
  std::size_t streams = 1;  // with the compute stream
  std::size_t groups = 0;   // posted in an iteration
};

struct Programs {
  std::vector<Program> of_place;
  std::size_t channels = 0;
};

Programs programs_of(const Orders& orders, const ProgramOptions& options);

}  // namespace weft::pipeline
