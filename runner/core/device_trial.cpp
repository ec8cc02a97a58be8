// See the header.
#include "runner/core/device_trial.h"

#include <utility>

namespace weft {

void throw_fault(const TrialVerdict& verdict) {
  if (verdict.lacks_memory) throw LacksMemory(verdict.fault);
  if (verdict.is_local) throw PassingFault(verdict.fault);
  throw SetUpError(verdict.fault);
}

std::optional<TrialVerdict> DeviceTrial::passed(const FillSettings& settings) {
  if (!trial_) join(settings);
  if (!core_.trials.wait(*trial_)) {
    if (trial_->has_thread() || trial_->has_verdict()) return std::nullopt;
    leave();
    throw SetUpError("the fill job cannot be tried: no memory for it");
  }
  auto verdict = trial_->verdict();
  if (verdict->fault.empty()) return verdict;
  leave();
  throw_fault(*verdict);
}

void DeviceTrial::join(const FillSettings& settings) {
  trial_ = core_.trials.join(settings,
                             trial_subject(settings, core_.options, core_.environments.now, core_.driver,
                                           core_.shim.driver_version, core_.shim.build_id),
                             core_.environments.now);
}

void DeviceTrial::begin(const FillSettings& settings) {
  join(settings);
  wait_ = TrialWait::verdict;
}

void DeviceTrial::await(TrialWait wait) {
  wait_ = wait;
  awaited_.set(true);
}

std::optional<TrialVerdict> DeviceTrial::verdict() const {
  return awaited_.is_set() && trial_ ? trial_->verdict() : std::nullopt;
}

void DeviceTrial::leave() {
  if (trial_) core_.trials.leave(trial_);
  trial_ = nullptr;
  awaited_.set(false);
}

std::string DeviceTrial::why_never_filled() const {
  if (!trial_) return "its turn did not come: other fill jobs had the memory, or were being tried";
  const auto verdict = trial_->verdict();
  if (!verdict) return "the trial of the fill job was not over before the training was";
  if (!verdict->fault.empty()) return verdict->fault;
  if (verdict->preparation > longest_hold)
    return std::string(was_in_time() ? "the GPU was at work when the first communicator was made"
                                     : "the trial of the fill job was over too late") +
           ", and to make it ready would have held the training up for " +
           std::to_string(std::chrono::duration_cast<std::chrono::seconds>(verdict->preparation).count()) + " s";
  if (was_in_time()) return "the GPU was at work when the first communicator was made, and no quiet moment came later";
  return "no quiet moment came after the trial of the fill job, which took longer than the training waits for it";
}

}  // namespace weft
