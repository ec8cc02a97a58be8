// The way of a fill job's marked memory to the host and back, as slices: copies of pieces that are no longer than a
// slice of fill work, each of a known length.
//
// Made on the thread of Weft's that makes a job ready, on a quiet device, with the context current; afterwards the
// dispatcher thread launches the copies, one at a time, in bubbles or beside the training's work. It maps and unmaps
// nothing: the memory is there whenever a copy is launched. Content that is on the host stays until it is copied again.
#pragma once

#include <cuda.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "detector/time.h"
#include "runner/core/driver.h"
#include "runner/fill/graph_timing.h"
#include "runner/fill/reservation.h"
#include "runner/policy/cuts.h"
#include "trace/record.h"

namespace weft {

class Mover {
 public:
  // Times copies in both directions, which leave the content as it is. `longest`: of a piece. Throws SetUpError.
  Mover(const Driver& driver, const Reservation::Movable& memory, CUstream stream, std::chrono::nanoseconds longest,
        const TimingOptions& timing);
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  // The pieces as slices, one behind the other, for either way.
  const Cuts& cuts() const { return cuts_; }
  std::vector<Duration> alone(MoveWay way) const;
  std::uint64_t bytes_of(std::uint32_t piece) const;
  CUresult launch(MoveWay way, std::uint32_t piece, CUstream stream) const;

 private:
  CUresult copy(MoveWay way, std::uint64_t first, std::uint64_t bytes, CUstream stream) const;
  double measured(MoveWay way, CUstream stream, const TimingOptions& timing) const;  // seconds for a byte

  const Driver& driver_;
  const Reservation::Movable memory_;
  std::uint64_t piece_ = 0;
  std::array<double, 2> seconds_per_byte_{};  // by MoveWay
  Cuts cuts_;
};

// `fitting` bytes, but not so small that launching a piece takes as long as the copy, nor so that there are more than
// 65,536. Pure.
std::uint64_t piece_size(std::uint64_t bytes, std::uint64_t fitting);

}  // namespace weft
