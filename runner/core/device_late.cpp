// Fill jobs that begin while the training runs: at a quiet moment, once their trial is over, or when their turn has
// come for the memory that another job had. See device.h for threads.
#include <algorithm>
#include <optional>

#include "runner/clock.h"
#include "runner/core/device.h"
#include "runner/core/fill_settings.h"
#include "runner/core/scopes.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration between_quiet_moments = milliseconds(100);  // that are tried, each of which may hold a host wait up
// Of an NCCL operation that another thread began meanwhile, and that may wait for what the held thread does next.
constexpr Duration longest_pending = seconds(1);
constexpr Duration release_limit = milliseconds(100);  // of what a job has that has ended, while others go on

}  // namespace

void Device::quiet_moment(Hold hold) {
  if (queue_ && dispatcher_->filling_is_over()) drain_queue();
  if (rest_wish_.is_set() && giving_back_.is_due(now())) go_on_resting();
  for (DeviceJob& job : jobs_.all()) {
    if (dispatcher_->filling_is_over()) return refuse_awaited("filling was over before its turn came");
    if (jobs_.one_was_given_up()) return refuse_awaited(still_made);
    const auto verdict = job.trial.verdict();
    if (!verdict) continue;
    if (hold == Hold::bounded && verdict->preparation > longest_hold && verdict->fault.empty()) {
      const SetUpError fault("fill job " + job.name() + ": " + job.trial.why_never_filled());
      job.end = JobEnd::no_room;  // of a training that stands still for it
      if (waits_for_communicator(job, *verdict)) continue;
      if (!awaits_another_variant(job, fault) && !job.place.is_only_one) not_late(job, fault.what());
      continue;
    }
    if (hold == Hold::bounded && (now() < next_quiet_moment_ || dispatcher_->groups_may_be_unmarked())) continue;
    if (job.is_of_queue() && verdict->fault.empty() && !may_stand_for_queue(verdict->preparation)) {
      job.trial.leave();
      return_to_queue(job, JobEnd::passing_fault,
                      "the training has stood for jobs of the queue as long as the slowdown "
                      "budget lets it");
      continue;
    }
    const RelaxedCaptureMode relaxed(core_.driver);
    const CurrentContext current(core_.driver, setup_.context);
    if (!current.pushed()) return;
    if (verdict->fault.empty() && !rest_allows(job)) continue;
    // Functions of jobs are called one at a time: another one may be asked for its progress just now.
    const bool may_begin = verdict->fault.empty() && !jobs_.are_at_work();
    const Gate gate = may_begin ? shut_gate() : nullptr;
    job.fill.keep_shut(gate);
    if (!verdict->fault.empty() || (gate && nothing_is_pending())) begin_late(job, *verdict);
    job.fill.keep_shut(nullptr);
    next_quiet_moment_ = now() + between_quiet_moments;
    dispatcher_->resume();
  }
  if (now() < next_turn_) return;
  if (!rest_wish_.is_set()) {
    look_at_queue();
    release_ended_jobs();
    change_variants();
    keep_progress();
    move_marked();
  }
  next_turn_ = now() + between_quiet_moments;
  if (jobs_.await_turns()) begin_next_trial();
}

bool Device::has_ended(const DeviceJob& job) const {
  return job.fill.exists() && dispatcher_ && dispatcher_->has_ended(job.place.number);
}

bool Device::never_fits(const DeviceJob& job) const {
  return !job.variants.may_fit(jobs_.most_free_memory([this](const DeviceJob& other) { return has_ended(other); }));
}

// Of those that wait for their turn the first that fits, once no other one is being tried; before it, what jobs have
// whose end makes room. One that runs already but for its variant, or its rest, has its memory back first.
void Device::begin_next_trial() {
  if (jobs_.trial_is_under_way() || core_.rescues_of(ordinal_) != 0 || rests()) return;
  for (const bool withdrawn : {true, false}) {
    for (DeviceJob& job : jobs_.all())
      if (job.withdrawn == withdrawn && begins_trial(job)) return;
    if (one_goes_on_soon()) return;
  }
}

// A thread that still frees or makes something of it is waited for: it has the memory.
bool Device::begins_trial(DeviceJob& job) {
  if (!job.trial.awaits_turn() || job.fill.exists() || job.fill.is_at_work()) return false;
  if (never_fits(job)) {
    job.end = JobEnd::lacks_memory;
    return not_late(job, job.why_it_never_fits()), false;
  }
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, setup_.context);
  if (!current.pushed()) return false;
  try {
    if (!rest_allows(job)) return false;
    if (!chooses_variant(job)) return note_lack(job), false;
    job.trial.begin(fill_settings(core_, setup_, job.plan()));
    return true;
  } catch (const SetUpError& error) {
    if (!rests_on(job, error)) not_late(job, error.what());
    return false;
  }
}

// Before that their progress is saved, one after the other, while the training goes on.
void Device::release_ended_jobs() {
  if (core_.rescues_of(ordinal_) != 0 || !jobs_.want_memory() || jobs_.are_at_work()) return;
  bool one_may_go = false;
  for (DeviceJob& job : jobs_.all()) {
    if (!has_ended(job)) continue;
    if (job.fill.is_to_be_saved()) return job.fill.begin_saving(*reporter_, DeviceFill::For::file);
    one_may_go = true;
  }
  if (!one_may_go) return;
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, setup_.context);
  const Gate gate = shut_gate();
  if (current.pushed() && gate && nothing_is_pending()) {
    for (DeviceJob& job : jobs_.all())
      if (has_ended(job) && !job.fill.is_to_be_saved() && !jobs_.are_at_work(answer_limit)) release(job, gate);
  }
  dispatcher_->resume();
}

// The driver may let the rest of it wait: then that memory is free at a later moment.
void Device::release(DeviceJob& job, const Gate& gate) {
  job.fill.keep_shut(gate);
  const TimePoint began = now();
  job.units_are_kept = job.fill.units_are_kept();
  if (job.rests) take_state_at_rest(job);
  job.fill.let_progress_go();
  if (job.fill.take_down(release_limit)) record(jobs_.memory(MemoryEvent::released));
  if (job.withdrawn) job.stood += now() - began;
  note_stand_for_queue(job, now() - began);
}

void Device::refuse_awaited(const std::string& why) {
  jobs_.end_changes();
  for (DeviceJob& job : jobs_.all()) {
    const bool waits_for_itself = job.fill.was_given_up() && !dispatcher_->filling_is_over();
    if (job.trial.is_awaited() && !waits_for_itself) not_late(job, "fill job " + job.name() + ": " + why);
  }
}

bool Device::none_runs() const {
  return std::ranges::none_of(jobs_.all(), [this](const DeviceJob& job) { return runs(job); });
}

// Of this thread that is so until it goes on; another one of the main job could begin something meanwhile.
// The dispatcher pauses only where that may be so.
bool Device::nothing_is_pending() {
  const auto none = [this] { return dispatcher_->groups_pending() == 0 && core_.shim.is_idle(ordinal_); };
  return none() && dispatcher_->pause(answer_limit) && none();
}

// nullptr: it cannot be shut, or would be for nothing. Threads that launch communication are not made to wait for that.
Gate Device::shut_gate() {
  if (dispatcher_->groups_pending() != 0 || !core_.shim.is_idle(ordinal_)) return nullptr;
  const auto gate = std::make_shared<const ShutGate>(core_.shim);
  return gate->is_shut() ? gate : nullptr;
}

void Device::begin_late(DeviceJob& job, const TrialVerdict& verdict) {
  const TimePoint began = now();
  const bool is_first = !jobs_.exist(), was_withdrawn = job.withdrawn, rested = job.rests;
  const Duration stood = std::exchange(job.stood, Duration{});
  making_ = {};
  try {
    if (!verdict.fault.empty()) throw_fault(verdict);
    make_job(job, verdict, [this, pending = std::optional<TimePoint>()]() mutable {
      if (dispatcher_->groups_pending() == 0 && !dispatcher_->groups_may_be_unmarked())
        pending.reset();
      else if (!pending)
        pending = now();
      return pending && now() - *pending > longest_pending;
    });
    if (!was_withdrawn && !job.is_of_queue()) note_preparation();
    if (is_first) core_.validation->fill_begins(context_of(core_.driver, jobs_.stream()), jobs_.stream());
    header_.fill_job = jobs_.names();
    header_.fill_stream = fill_stream();
    header_.fill_confinement = weaker(header_.fill_confinement, jobs_.confinement());  // also of those that ended
    add_job(job, now() - began + stood);
    record(jobs_.memory(MemoryEvent::reserved));
    if (was_withdrawn) core_.preparations[ordinal_].note_change(now() - began + stood);
    if (!was_withdrawn) note_stand_for_queue(job, now() - began);
    const auto held = std::chrono::duration_cast<milliseconds>(now() - began + stood).count();
    const char* const late = rested                    ? "a rest"
                             : was_withdrawn           ? "a change of its variant"
                             : job.trial.was_in_time() ? "a wait for the GPU"
                                                       : "a late trial";
    const std::string filling = job.place.is_only_one ? "filling" : "filling with " + job.name();
    reporter_->info(filling + (rested ? " goes on" : " begins") + ", after " + late + "; the training stood for " +
                    std::to_string(held) + " ms");
  } catch (const SetUpError& error) {
    // Slices in the stream that it still works on would get into its graphs.
    if (jobs_.exist() && job.fill.was_given_up())
      dispatcher_->stop_filling(std::string(error.what()) + "; " + still_made);
    job.stood = stood + (now() - began);
    note_stand_for_queue(job, now() - began);
    if (!rests_on(job, error) && !awaits_another_variant(job, error)) not_late(job, error.what());
    return;
  }
  leave_trial_of(job);
}

// Where other jobs are run, or may be, filling is not over.
void Device::not_late(DeviceJob& job, const std::string& reason) {
  if (job.is_of_queue() && job.end == JobEnd::over) {
    reporter_->info("fill job " + job.name() + ": " + reason);
    job.trial.leave();
    return return_to_queue(job, job.end, reason);
  }
  JobRecord refused = job.record(JobEvent::refused, reason);
  refused.held = std::exchange(job.stood, Duration{});
  if (job.withdrawn) core_.preparations[ordinal_].note_change(refused.held);
  dispatcher_->submit(Record(ordinal_, now(), refused));
  job.trial.leave();
  const bool others = job_was_ready_ || jobs_.are_awaited() || queue_;
  const bool was_last =
      job.withdrawn && !jobs_.are_awaited() && none_runs() && !queue_ && !dispatcher_->filling_is_over();
  if (!others) dispatcher_->no_filling(reason);
  if (was_last) dispatcher_->stop_filling(reason);
  dispatcher_->expect_jobs(jobs_.expected());
  if (job.is_of_queue() && queue_) return_to_queue(job, job.end, reason);
  if (const std::string names = jobs_.names(); !names.empty()) header_.fill_job = names;
  if (!was_last) reporter_->warn(Audience::one_rank, others ? reason : reason + "; observing only");
}

}  // namespace weft
