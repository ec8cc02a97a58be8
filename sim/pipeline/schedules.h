// Orders of work: which pieces of an iteration each rank of a pipeline computes, one after the other, under the
// schedules that frameworks have.
//
// Used by the world of virtual time and its tests. Pure. Times, messages and memory are not known here: a piece can
// begin when the pieces that it needs have ended, wherever they ran.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace weft::pipeline {

// zb_h1 and zb_v: "Zero Bubble Pipeline Parallelism" (arXiv 2401.10241) and "Pipeline Parallelism with Controllable
// Memory" (2405.15362). dualpipe_v: DeepSeek's DualPipe with both directions folded onto half of the ranks. graph: a
// directed acyclic graph of stages, each in the order of 1F1B ("GraphPipe", 2406.17145). offload: activations that are
// held for longest are copied to the host and back ("PipeOffload", 2503.01328). The paper also has an order of its own,
// which spreads these evenly; here it is that of `interleaved`.
enum class Schedule : std::uint8_t { gpipe, one_f_one_b, interleaved, zb_h1, zb_v, dualpipe_v, graph, offload };
// As commands and tables have them.
inline constexpr std::array schedule_names{"gpipe", "1f1b",      "interleaved", "zb-h1",
                                           "zb-v",  "dualpipev", "dag",         "pipeoffload"};

// backward: both gradients, one after the other.
enum class Work : std::uint8_t { forward, backward, input_gradient, weight_gradient };

struct Piece {
  Work work;
  int stage;  // of the model, from 0
  int microbatch;
  friend bool operator==(const Piece&, const Piece&) = default;
};

struct ScheduleOptions {
  Schedule schedule = Schedule::one_f_one_b;
  int ranks = 4;
  int microbatches = 8;
  int chunks = 2;  // stages of each rank, with Schedule::interleaved and offload
  // With Schedule::graph: the stages that take what a stage has computed, all with higher numbers.
  std::vector<std::vector<int>> followers{};
};

struct Orders {
  std::vector<int> rank_of_stage;
  std::vector<std::vector<int>> followers;  // of each stage; its backward pass needs those of all of them
  std::vector<std::vector<int>> sources;    // likewise, the other way round
  std::vector<std::vector<Piece>> of_rank;
  std::vector<bool> offloads;  // of each stage: its activations may go to the host between forward and backward
};

// Throws std::invalid_argument where the schedule cannot have these numbers; what() says which it can.
Orders orders_of(const ScheduleOptions& options);
// The same without backward passes, as in an evaluation.
Orders forward_only(Orders orders);

}  // namespace weft::pipeline
