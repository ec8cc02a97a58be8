// Another variant of a fill job: when one cannot be made ready, and at a quiet moment of the training. There the
// present one is withdrawn and released, and the job waits for its turn again, as one that begins late, with the state
// that the other one had. See device.h; the rule is that of policy/variants.
#include <exception>

#include "runner/clock.h"
#include "runner/core/device.h"
#include "runner/core/scopes.h"

namespace weft {
namespace {

constexpr Duration withdraw_limit = std::chrono::milliseconds(100);  // of a dispatcher that pauses

}  // namespace

bool Device::has_another_variant(DeviceJob& job, const std::exception& fault) {
  const bool lacks_memory = dynamic_cast<const LacksMemory*>(&fault) != nullptr;
  if (!job.variants.failed(fault.what(), lacks_memory)) return false;
  reporter_->info(std::string(fault.what()) + ": another variant of it may run");
  return true;
}

bool Device::awaits_another_variant(DeviceJob& job, const std::exception& fault) {
  if (!has_another_variant(job, fault)) return false;
  job.trial.leave();
  job.trial.await(TrialWait::turn);
  return true;
}

void Device::leave_trial_of(DeviceJob& job) {
  job.trial.leave();
  dispatcher_->expect_jobs(jobs_.awaited());
}

// One at a time; the others are looked at again later.
void Device::change_variants() {
  if (core_.rescues_of(ordinal_) != 0) return;
  for (DeviceJob& job : jobs_.all()) {
    if (!job.change.is_set()) continue;
    if (has_ended(job))
      job.change.set(false);
    else if (variant_is_to_change(job))
      return change_variant(job);
  }
}

// A job that takes long to be made ready stays as it is: nobody would wait for it later. Memory of jobs that have ended
// counts once it is released.
bool Device::variant_is_to_change(DeviceJob& job) {
  if (job.preparation > longest_hold / 2) return false;
  if (!job.variants.is_best()) release_ended_jobs();
  const Growth growth = jobs_.are_awaited() ? Growth::not_now : Growth::allowed;
  return job.variants.is_to_change(dispatcher_->room_found(job.place.number), jobs_.free_memory() + job.plan().memory,
                                   now(), growth);
}

// Only where it can be released at once; else it stays as it is, and is looked at again later.
void Device::change_variant(DeviceJob& job) {
  const TimePoint began = now();
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, setup_.context);
  if (!current.pushed()) return;
  const bool may_go = !dispatcher_->groups_may_be_unmarked() && nothing_is_pending() && !has_ended(job);
  if (may_go && takes_state(job)) withdraw(job);
  dispatcher_->resume();
  job.stood = now() - began;
}

bool Device::takes_state(DeviceJob& job) {
  try {
    job.state = job.fill.state();
    return true;
  } catch (const std::exception& error) {
    job.variants.stays();
    job.change.set(false);
    reporter_->warn(Audience::one_rank, std::string(error.what()) + "; the job keeps its variant");
    return false;
  }
}

// Nothing is in flight, so the thread ends it at once; where it is slow, what it has is released later.
void Device::withdraw(DeviceJob& job) {
  job.variants.changes();
  job.withdrawn = true;
  job.trial.await(TrialWait::turn);
  dispatcher_->expect_jobs(jobs_.awaited());
  dispatcher_->submit(Record(ordinal_, now(), job.record(JobEvent::withdrawn, job.variants.why_changed())));
  dispatcher_->withdraw_job(job.place.number);
  reporter_->info("fill job " + job.name() + " changes its variant: " + job.variants.why_changed());
  if (wait_at_most(withdraw_limit, [&] { return has_ended(job); })) release(job);
}

}  // namespace weft
