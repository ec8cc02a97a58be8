// Whoever watches the ranks of a world, and what he is told.
#pragma once

#include <cstdint>
#include <vector>

#include "detector/event.h"

namespace weft::pipeline {

// A piece, or one of its kernels. Between the times at which its stream was at it and at which it began, fill work had
// the GPU.
struct Span {
  TimePoint reached, began, ended;
  // Work of kernels that share the GPU, in seconds of the idle one: since the piece before, and since this was reached.
  Duration filled_before{}, filled_beside{};
};

// Of one rank, so far.
struct RankTotals {
  Duration computed{};                    // by its own pieces, without delays by fill work
  Duration delayed{};                     // pieces, by fill work that held the GPU or shared it
  Duration waited_for_copies{};           // activations that were not back yet when everything else was there
  std::uint64_t most_activations = 0;     // bytes, at any time
  std::vector<TimePoint> iteration_ends;  // as its host sees them
};

// Watches all ranks. Called by the world, for each pipeline in the order of times; those of several pipelines may call
// from several threads at once.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void saw(int rank, const Event& event) = 0;
  // As wanted by World::wake().
  virtual void woken(int rank, TimePoint now) = 0;
  // A piece is over.
  virtual void computed(int rank, const Span& span) = 0;
  // The earliest kernel that World::share_gpu() was given and that has not ended has ended now.
  virtual void shared(int /*rank*/, TimePoint /*now*/) {}
};

}  // namespace weft::pipeline
