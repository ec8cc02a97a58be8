// One rank of a training whose kernels only take time: 1F1B over NCCL, receives on a stream of their own as PyTorch has
// them, and one all-reduce at the end of each iteration. The driver API alone, so that every call can go past Weft.
//
// Used by main.cpp on one thread per process.
#pragma once

#include <vector>

#include "calls.h"
#include "examples/trainer/process.h"
#include "examples/trainer/schedule.h"

namespace observing {

struct Load {
  int microbatches = 8;
  double forward = 13, backward = 26;  // milliseconds of GPU time of a microbatch
};

class Stage {
 public:
  // Connects all ranks and measures how much work fills the time that is wanted.
  Stage(const trainer::Place& place, const Ways& ways, const Load& load);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  // One iteration through these calls; the host waits for its end, as one that reads the loss does.
  void iterate(const Calls& calls);
  // Milliseconds of the device's clock between the ends of the last two iterations.
  double last_iteration() const;
  // So many groups of NCCL were issued in one iteration.
  int groups() const { return groups_; }

 private:
  CUevent& event_of(int exchange) { return received_[static_cast<std::size_t>(exchange)]; }
  void compute(const Calls& calls, double milliseconds);
  void exchange(const Calls& calls, const trainer::Instruction& what);
  void add_up(const Calls& calls);
  void connect(const trainer::Place& place);
  void calibrate();

  const Ways& ways_;
  Load load_;
  std::vector<trainer::Instruction> program_;
  ncclComm_t communicator_ = nullptr;
  CUstream compute_ = nullptr, transfer_ = nullptr;
  CUevent ready_ = nullptr, ends_[2] = {};
  std::vector<CUevent> received_;
  CUdeviceptr memory_ = 0;
  double rounds_per_millisecond_ = 0;
  int iterations_ = 0, groups_ = 0;
};

}  // namespace observing
