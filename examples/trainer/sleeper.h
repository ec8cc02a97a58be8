// A rank that sleeps instead of computing (--peers sleep): it follows the program of its schedule, sleeps for as long
// as the computing stage takes, and exchanges tensors of the right shape with that stage.
//
// One thread per process. With its fellow sleepers it exchanges nothing, it only waits until they are as far. With the
// computing stage it exchanges over NCCL, and only when both ends are ready: a kernel that spins on a shared GPU would
// take time from the stage. Its numbers are made up, but the same in every run.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <vector>

#include "board.h"
#include "communication.h"
#include "memory.h"
#include "options.h"
#include "timetable.h"

namespace trainer {

class Sleeper {
 public:
  // `activation`: floats of a tensor that crosses a stage boundary.
  Sleeper(const Options& options, const Place& place, std::vector<Instruction> program, int activation,
          cudaStream_t stream);

  // Once, before the first iteration: after all ranks have met on the board.
  void learn_times(Board& board);
  // One iteration; returns the sums over all ranks: squared norm of the gradient, loss.
  std::vector<float> iterate(int iteration);

 private:
  using Clock = std::chrono::steady_clock;
  // An exchange with the computing stage that waits for its turn.
  struct Pending {
    const Instruction* instruction;
    std::uint64_t needed;  // count of the computing stage
  };

  void compute(double seconds);
  void exchange(const Instruction& instruction);
  void wait(const Instruction& wait);
  void finish_iteration();
  bool is_with_stage(const Instruction& exchange) const;
  const Instruction& exchange_of(const Instruction& wait) const;
  std::uint64_t base(int rank) const;
  // Goes on with pending exchanges until `done` says so.
  void wait_until(const std::function<bool()>& done);
  void post_what_can_be();
  void post(const Instruction& instruction);

  Options options_;
  Place place_;
  std::vector<Instruction> program_;
  std::vector<const Instruction*> exchanges_;  // by number
  Timetable timetable_;
  int activation_;
  cudaStream_t stream_;
  Communication communication_;
  DeviceArray<float> forward_, backward_, received_, totals_;
  PinnedArray<float> host_totals_;
  Board* board_ = nullptr;
  Board::Times times_{};
  std::deque<Pending> pending_[lane_count];
  std::vector<bool> posted_;  // by number of the exchange, in this iteration
  int iteration_ = 0;
  std::uint64_t computed_ = 0;  // in this iteration
  Clock::time_point free_since_{};
};

}  // namespace trainer
