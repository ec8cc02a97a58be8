// The steps of a rank's host in one iteration: it posts messages, makes the compute stream wait for them, launches
// pieces, copies activations to the host and back, and sums gradients up. The same for all iterations of one kind, and
// for all replicas.
//
// Used by the world of virtual time and its tests. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
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
  int pair = -1;     // number of the two stages, the same in both directions
};

struct Step {
  // loss_sum: of all ranks, at the end of an evaluation. offload, reload: a copy that begins behind all that the
  // compute stream has; reload also behind its offload. wait_for_copy: the compute stream waits for the reload.
  enum class Kind : std::uint8_t {
    post,
    wait,
    launch,
    offload,
    reload,
    wait_for_copy,
    stage_sum,
    whole_sum,
    loss_sum,
    optimizer,
    end
  } kind;
  Piece piece{};              // launch
  std::size_t stream = 0;     // post, offload, reload: 0 is the compute stream
  std::size_t posted = 0;     // post, wait: number of the group in the iteration; of copies: of the activations
  Message send{}, receive{};  // post
};

// Reloads begin so many pieces before the one that needs them: a forward and a backward pass in the steady state.
// Activations that are needed sooner than that stay.
inline constexpr std::size_t reloaded_ahead = 2;

struct Program {
  std::vector<Step> steps;
  std::size_t groups = 0;  // posted in an iteration
  std::size_t copies = 0;  // activations that go to the host
  bool trains = true;      // it has backward passes
};

struct Programs {
  std::vector<std::vector<Program>> of_place;  // of each kind of iteration
  std::vector<std::size_t> streams;            // of each place, with the compute stream
  std::size_t channels = 0;
  std::size_t pairs = 0;   // of stages that send each other messages
  bool is_paired = false;  // see ProgramOptions
};

// `kinds`: of the same ranks and stages, at least one.
Programs programs_of(const std::vector<Orders>& kinds, const ProgramOptions& options);

}  // namespace weft::pipeline
