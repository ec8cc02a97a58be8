// The trial of the fill job as one device of the process waits for it, from its first communicator until it has used
// the verdict or is finished with.
//
// Threads of the main job inside the core's services, one at a time per device.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runner/core/core_context.h"

namespace weft {

// How long a thread of the main job may be held up by a fill job that is made ready after its trial was over too late.
inline constexpr Duration longest_hold = std::chrono::seconds(10);

class DeviceTrial {
 public:
  explicit DeviceTrial(CoreContext& core) : core_(core) {}
  ~DeviceTrial() { leave(); }
  DeviceTrial(const DeviceTrial&) = delete;
  DeviceTrial& operator=(const DeviceTrial&) = delete;

  // The verdict on a job that is sound. Nothing: nobody knows yet. Throws SetUpError where it is not.
  std::optional<TrialVerdict> passed(const FillSettings& settings);
  // From here on the verdict is used when it comes, at a quiet moment.
  void await();
  bool is_awaited() const { return awaited_; }
  std::optional<TrialVerdict> verdict() const;  // of a trial that is awaited
  void leave();
  std::string why_never_filled() const;  // although the job was tried

 private:
  CoreContext& core_;
  std::shared_ptr<SharedTrial> trial_;  // whose verdict is not used yet
  bool awaited_ = false;                // it was not there in time
};

}  // namespace weft
