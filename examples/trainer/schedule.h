// Pipeline schedules as programs: what one rank does in one iteration, in order. Pure; tested without a GPU.
//
// A model is cut into stages; rank r holds stages r, r + ranks, r + 2*ranks, ... (its chunks). A program is a list of
// instructions: compute on a microbatch, exchange activations or gradients with neighbours in one NCCL group, wait for
// such an exchange.
#pragma once

#include <vector>

#include "options.h"

namespace trainer {

enum class Direction { forward, backward };

// One tensor that crosses a stage boundary: the activation (forward) or gradient (backward) of a microbatch, named by
// the chunk of *this* rank that produces it (send) or consumes it (receive).
struct Transfer {
  Direction direction;
  int microbatch;
  int chunk;
  int peer;
};

// Which communicator and stream an exchange uses. The interleaved schedule has one per directed edge, because its
// receives are posted ahead and must not hold up the sends.
enum class Lane { shared, forward_in, forward_out, backward_in, backward_out };
inline constexpr int lane_count = 5;

struct Instruction {
  enum class Kind { forward, backward, exchange, wait } kind;
  int microbatch = 0;  // forward, backward
  int chunk = 0;       // forward, backward
  int exchange = -1;   // exchange, wait: number of the exchange in this program
  Lane lane = Lane::shared;
  std::vector<Transfer> sends;     // exchange
  std::vector<Transfer> receives;  // exchange
};

struct Pipeline {
  ScheduleKind schedule;
  int ranks;
  int microbatches;
  int chunks;  // per rank
};

// The program of `rank`. Interleaved needs at least two ranks and a multiple of ranks as microbatches;
// otherwise the result is empty.
std::vector<Instruction> make_program(const Pipeline& pipeline, int rank);

}  // namespace trainer
