// The fill stream of a rank in virtual time: its slices run one after the other and hold the GPU.
//
// Used by the model of a rank, and by the estimate from a trace. Pure, one thread. As the real one does, it says what
// may come next and what is in flight.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "runner/model/job.h"
#include "runner/policy/session.h"

namespace weft::model {

class Executor {
 public:
  // From a launch to the first block, where nothing is in flight: a little more than docs/bench.md measures.
  static constexpr Duration launch_latency{4'000};

  // Told when a slice will run; may be empty.
  using TakesGpu = std::function<void(TimePoint begins, TimePoint ends)>;

  // The job outlives the executor.
  explicit Executor(const Job& job, TakesGpu takes_gpu = {}) : job_(job), takes_gpu_(std::move(takes_gpu)) {}

  FillView view() const;
  void launch(TimePoint now, std::uint64_t bubble, std::uint32_t candidate);
  // Appends the slices that have ended.
  void reap(TimePoint now, std::vector<SliceRecord>& finished);
  std::uint32_t in_flight() const { return count_; }

  // For how much of this time slices run. Times do not go back from one call to the next.
  Duration within(TimePoint from, TimePoint until);

 private:
  struct Launched {
    std::uint64_t unit = 0, bubble = 0;
    std::uint32_t slice = 0, in_unit = 0;  // of the cuts; slices of the unit before it
    TimePoint launched{}, begins{}, ends{};
  };
  static constexpr std::uint32_t most = 2;

  const Job& job_;
  const TakesGpu takes_gpu_;
  std::array<Launched, most> slices_{};
  std::uint32_t count_ = 0;
  std::uint64_t unit_ = 0;
  std::size_t next_ = 0;  // kernel
  std::uint32_t in_unit_ = 0;
  std::vector<Launched> not_counted_;  // by within()
};

}  // namespace weft::model
