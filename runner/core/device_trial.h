// The trial of the fill job as one device of the process waits for it, from its first communicator until it has used
// the verdict or is finished with.
//
// Threads of the main job inside the core's services, one at a time per device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runner/core/core_context.h"
#include "runner/core/quiet_wish.h"

namespace weft {

// How long a thread of the main job may be held up by a fill job that is made ready after its trial was over too late.
inline constexpr Duration longest_hold = std::chrono::seconds(10);

// How long a thread of the main job waits for a fill job that is made ready and took so long in its trial, where its
// unit was timed less often. After that it is given up for this run.
inline constexpr Duration longest_preparation(Duration in_trial) {
  return std::chrono::seconds(4) + 4 * in_trial;  // a thread that closes a communicator meanwhile waits 5 s
}

// For what a job waits that may be run later: its turn, because another job has the memory or is being tried, so that
// not even its trial has begun; the verdict; or with that for a moment at which the GPU is still.
enum class TrialWait : std::uint8_t { turn, verdict, quiet_moment };

[[noreturn]] void throw_fault(const TrialVerdict& verdict);  // one of SetUpError's

class DeviceTrial {
 public:
  explicit DeviceTrial(CoreContext& core) : core_(core), awaited_(core) {}
  ~DeviceTrial() { leave(); }
  DeviceTrial(const DeviceTrial&) = delete;
  DeviceTrial& operator=(const DeviceTrial&) = delete;

  // The verdict on a job that is sound, to be used now or after await(). Nothing: nobody knows yet. Throws SetUpError
  // where it is not, LacksMemory where that is why.
  std::optional<TrialVerdict> passed(const FillSettings& settings);
  // From here on the verdict is used when it comes, at a quiet moment.
  void await(TrialWait wait);
  // Another trial is begun when it is its turn again.
  void await_next_turn() {
    leave();
    await(TrialWait::turn);
  }
  bool is_awaited() const { return awaited_.is_set(); }
  bool awaits_turn() const { return awaited_.is_set() && wait_ == TrialWait::turn; }
  bool is_under_way() const { return trial_ && !trial_->has_verdict(); }
  // It is the turn of this one: its verdict is awaited from here on. Throws SetUpError.
  void begin(const FillSettings& settings);
  bool was_in_time() const { return wait_ == TrialWait::quiet_moment; }
  std::optional<TrialVerdict> verdict() const;  // of a trial that is awaited
  void leave();
  std::string why_never_filled() const;  // of one that was awaited

 private:
  void join(const FillSettings& settings);

  CoreContext& core_;
  std::shared_ptr<SharedTrial> trial_;  // whose verdict is not used yet
  QuietWish awaited_;                   // it could not be used at once
  TrialWait wait_ = TrialWait::verdict;
};

}  // namespace weft
