// The progress of fill jobs while they run: from time to time, at quiet moments of the training, one that keeps its
// progress pauses between two units, is asked for it on a thread of Weft's, and goes on. A training that is killed
// loses what came after that. See device.h for threads.
#include <algorithm>

#include "runner/clock.h"
#include "runner/core/device.h"

namespace weft {

// One at a time, and none beside a change of variants: the state of both is asked for in the same way.
void Device::keep_progress() {
  if (core_.rescues_of(ordinal_) != 0) return;
  for (DeviceJob& job : jobs_.all())
    if (job.handover != DeviceJob::Handover::none) return job.is_being_kept() ? go_on_keeping(job) : void();
  for (DeviceJob& job : jobs_.all()) {
    if (!is_to_keep(job)) continue;
    job.handover = DeviceJob::Handover::pauses;
    job.pauses_until = now() + job.pause;
    return dispatcher_->pause_job(job.place.number);
  }
}

bool Device::is_to_keep(const DeviceJob& job) const {
  return now() >= job.next_keeping && job.fill.exists() && job.fill.progress_is_kept() && !job.leaves &&
         !has_ended(job) && job.fill.held_memory() != 0 && !dispatcher_->filling_is_over();
}

// The next step of it, if the last one is over. One that has ended meanwhile is saved with its end, and one whose
// memory has gone back to the training was asked before that.
void Device::go_on_keeping(DeviceJob& job) {
  if (has_ended(job) || job.fill.held_memory() == 0) return void(job.handover = DeviceJob::Handover::none);
  const bool is_paused = dispatcher_->is_suspended(job.place.number);
  if (!is_paused && now() > job.pauses_until) return give_up_keeping(job);
  if (!is_paused || jobs_.are_at_work()) return;
  if (job.handover == DeviceJob::Handover::pauses) {
    job.handover = DeviceJob::Handover::keeps;
    job.kept_units = dispatcher_->board().units(job.place.number);
    return job.fill.begin_saving(*reporter_, DeviceFill::For::file);
  }
  job.handover = DeviceJob::Handover::none;
  job.next_keeping = now() + core_.options.checkpoint_every;
  if (job.fill.progress_is_written() && job.is_of_queue() && queue_)
    queue_->note_units(*job.queue_place, job.kept_units);
  job.fill.goes_on();
  dispatcher_->resume_job(job.place.number);
}

// Its unit does not end: other things are not to wait for that. Next time its end is waited for longer.
void Device::give_up_keeping(DeviceJob& job) {
  job.handover = DeviceJob::Handover::none;
  job.pause = std::max(job.pause, std::min(2 * job.pause, core_.options.checkpoint_every));
  job.next_keeping = now() + core_.options.checkpoint_every / 4;
  dispatcher_->resume_job(job.place.number);
}

}  // namespace weft
