// Another variant of a fill job: when one cannot be made ready, and at quiet moments of the training. The present one
// is suspended, asked for its state and withdrawn, each step at a quiet moment of its own, and the job waits for its
// turn again, as one that begins late, with that state. See device.h; the rule is that of policy/variants.
#include <algorithm>
#include <exception>

#include "runner/clock.h"
#include "runner/core/device.h"
#include "runner/core/scopes.h"
#include "runner/options/quantity.h"

namespace weft {

// Of WEFT_MEMORY, with what it has already. Variants are there to take less where the GPU has less left; and after a
// rest it may have too little for any.
std::uint64_t Device::memory_for(const DeviceJob& job) const {
  const std::uint64_t part = jobs_.free_memory() + (job.fill.exists() ? job.plan().memory : 0);
  if (!job.variants.are_several() && !rests_.have_been()) return part;
  std::size_t free = 0, total = 0;
  check(core_.driver, core_.driver.cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  const std::uint64_t left = free + job.fill.held_memory(), head_room = rests_.head_room(core_.options.headroom);
  return left > head_room ? std::min(part, left - head_room) : 0;
}

// False: other jobs have the memory. That the GPU has too little is said at once, for perhaps it never has more; but
// one that ran already had some, and waits, as do all where the training has had some back; but one of the queue may
// run elsewhere.
bool Device::chooses_variant(DeviceJob& job) {
  const std::uint64_t memory = memory_for(job), part = jobs_.free_memory();
  if (job.variants.choose(memory)) return true;
  const bool waits = job.withdrawn || (rests_.have_been() && !job.is_of_queue());
  if (!waits && memory < part && job.variants.may_fit(part))
    throw SetUpError("fill job " + job.name() +
                     (job.variants.are_several() ? ": none of its variants fits in the " : " does not fit in the ") +
                     mebibytes(memory) + " of device memory that are left beside WEFT_HEADROOM");
  return false;
}

bool Device::has_another_variant(DeviceJob& job, const std::exception& fault) {
  const bool lacks_memory = dynamic_cast<const LacksMemory*>(&fault) != nullptr;
  const bool is_passing = dynamic_cast<const PassingFault*>(&fault) != nullptr;
  const auto kind = lacks_memory ? JobVariants::Fault::lacks_memory
                    : is_passing ? JobVariants::Fault::passing
                                 : JobVariants::Fault::cannot_run;
  const bool is_over = dynamic_cast<const NothingToDo*>(&fault) != nullptr;
  job.end = is_over        ? JobEnd::over
            : lacks_memory ? JobEnd::lacks_memory
            : is_passing   ? JobEnd::passing_fault
                           : JobEnd::fault;
  if (!job.variants.failed(fault.what(), kind)) return false;
  const std::string text = std::string(fault.what()) + ": another variant of it may run";
  if (kind == JobVariants::Fault::cannot_run)
    reporter_->warn(Audience::one_rank, text);
  else
    reporter_->info(text);
  return true;
}

bool Device::awaits_another_variant(DeviceJob& job, const std::exception& fault) {
  if (!has_another_variant(job, fault)) return false;
  job.trial.await_next_turn();
  return true;
}

void Device::leave_trial_of(DeviceJob& job) {
  job.trial.leave();
  dispatcher_->expect_jobs(jobs_.expected());
}

// One at a time; the others are looked at again later. The training does not stand for it: only for the release, and
// for the next one.
void Device::change_variants() {
  for (DeviceJob& job : jobs_.all()) {
    if (!job.change.is_set() || !has_ended(job)) continue;
    job.change.set(false);
    job.handover = DeviceJob::Handover::none;
  }
  for (DeviceJob& job : jobs_.all())
    if (job.handover != DeviceJob::Handover::none) return job.is_being_kept() ? void() : hand_over(job);
  const auto is_under_way = [](const DeviceJob& job) { return job.withdrawn && job.trial.is_awaited(); };
  if (core_.rescues_of(ordinal_) != 0 || std::ranges::any_of(jobs_.all(), is_under_way)) return;
  for (DeviceJob& job : jobs_.all()) {
    if (!job.change.is_set() || job.leaves || !job.fill.exists() || !variant_is_to_change(job)) continue;
    job.handover = DeviceJob::Handover::suspends;
    return dispatcher_->suspend_job(job.place.number);
  }
}

// A job that takes long to be made ready stays as it is: nobody would wait for it later; and so does one for which the
// training has stood already for as long as the slowdown budget lets it. Memory of jobs that have ended counts once it
// is released.
bool Device::variant_is_to_change(DeviceJob& job) {
  const Preparations& preparations = core_.preparations[ordinal_];
  if (job.preparation > longest_hold / 2 ||
      !preparations.is_change_allowed(now(), core_.options.slowdown_budget, job.preparation))
    return false;
  const Growth growth = jobs_.are_awaited() ? Growth::not_now : Growth::allowed;
  const auto is_to_change = [&](std::uint64_t memory) {
    return job.variants.is_to_change(dispatcher_->room_found(job.place.number), memory, now(), growth);
  };
  // The driver is asked only where the answer decides.
  if (!is_to_change(jobs_.free_memory() + job.plan().memory)) return false;
  const CurrentContext current(core_.driver, setup_.context);
  if (!current.pushed()) return false;
  try {
    return is_to_change(memory_for(job));
  } catch (const SetUpError&) {
    return false;  // asked again later
  }
}

// The next step of it, if the last one is over. Nothing is asked of a job whose memory has gone back to the training.
void Device::hand_over(DeviceJob& job) {
  if (!dispatcher_->is_suspended(job.place.number) || jobs_.are_at_work()) return;
  if (job.fill.held_memory() == 0) return void(job.handover = DeviceJob::Handover::none);
  if (job.handover == DeviceJob::Handover::suspends) {
    job.handover = DeviceJob::Handover::saves;
    return job.fill.begin_saving(*reporter_, DeviceFill::For::variant);
  }
  job.handover = DeviceJob::Handover::none;
  try {
    job.state = job.fill.take_state();
  } catch (const std::exception& error) {
    job.variants.stays();
    job.change.set(false);
    job.fill.goes_on();
    dispatcher_->resume_job(job.place.number);
    return reporter_->warn(Audience::one_rank, std::string(error.what()) + "; the job keeps its variant");
  }
  withdraw(job);
}

// Nothing of it is in flight, so it has ended soon; it is released at a later quiet moment.
void Device::withdraw(DeviceJob& job) {
  job.variants.changes();
  job.change.set(false);
  await_turn_again(job, job.variants.why_changed());
  reporter_->info("fill job " + job.name() + " changes its variant: " + job.variants.why_changed());
}

// It goes, and is made ready again later. One is expected before the last one goes: filling does not end.
void Device::await_turn_again(DeviceJob& job, const std::string& why) {
  job.withdrawn = true;
  job.trial.await(TrialWait::turn);
  dispatcher_->expect_jobs(jobs_.expected());
  dispatcher_->submit(Record(ordinal_, now(), job.record(JobEvent::withdrawn, why)));
  dispatcher_->withdraw_job(job.place.number);
}

}  // namespace weft
