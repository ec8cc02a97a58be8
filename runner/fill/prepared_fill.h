// A fill job made ready on one device: reservation, job and unit, in the order in which they are built, on the lane
// that it shares with the other jobs of the device.
//
// Built and released on a thread of Weft's (core/fill_work.h), or in the fill probe; between the two the dispatcher
// thread uses it. The context of the device is current in all functions. Both may wait in the driver for work of the
// training, so no thread of the training calls them.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runner/core/driver.h"
#include "runner/fill/fill_job.h"
#include "runner/fill/fill_lane.h"
#include "runner/fill/mover.h"
#include "runner/fill/reservation.h"
#include "runner/fill/unit.h"
#include "runner/options/fill_plan.h"
#include "runner/options/fillable.h"

namespace weft {

struct FillSettings {
  FillSpec spec;
  JobFileStamp stamp{};  // of its file, where somebody else has looked at it
  FeedPlan feed;
  std::string uuid;  // see Driver::uuid_of(): in the trial process the number of the device may stand for another GPU
  std::uint64_t memory = 0;
  std::uint64_t movable = 0;  // of it: what the job has marked in its trial, where it is 0
  UnitOptions unit;
  LaneSettings lane;
  bool asks_machine = false;       // the trial also asks who holds up the only hardware queue, see TrialVerdict
  OneQueue wish = OneQueue::keep;  // with it the trial finds the stream that follows from the answers
  bool is_trial = false;           // the context is the job's alone: what init leaves running is found out
};

class PreparedFill {
 public:
  // Called before each step with its name, so that a crash can be told by it.
  using OnStep = std::function<void(const char* step)>;

  // `lane`: of the device's other jobs; nullptr: there is none yet. Throws SetUpError. When this returns, the job's
  // memory holds what init() put there, however often its unit has run in between.
  PreparedFill(const Driver& driver, const FillSettings& settings, std::shared_ptr<FillLane> lane,
               const OnStep& on_step);
  ~PreparedFill();
  PreparedFill(const PreparedFill&) = delete;
  PreparedFill& operator=(const PreparedFill&) = delete;

  bool has_job() const { return job_ != nullptr; }
  FillJob& job() { return *job_; }
  const Unit& unit() const { return *unit_; }
  const Mover* mover() const { return mover_.get(); }  // nullptr: none of its memory moves
  const std::shared_ptr<FillLane>& lane() const { return lane_; }
  CUstream stream() const { return lane_->stream(); }
  Reservation& reservation() { return reservation_; }

  // The two first steps of release(), in this order.
  void destroy_unit() noexcept { unit_.reset(); }
  void destroy_job() noexcept { job_.reset(); }

  // Frees everything, when nothing of it is in flight any more. Where that is not sure, and nobody can wait for it, the
  // object is left as it is and stays.
  void release() noexcept;

 private:
  const Driver& driver_;
  Reservation reservation_;
  std::shared_ptr<FillLane> lane_;  // nullptr: it was released
  std::unique_ptr<FillJob> job_;
  std::unique_ptr<Unit> unit_;
  std::unique_ptr<const Mover> mover_;
};

// Multiprocessors of the device less those that stay free; throws SetUpError when nothing is left.
std::uint32_t blocks_left(std::uint32_t multiprocessors, std::uint64_t reserved);

}  // namespace weft
