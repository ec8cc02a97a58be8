// Jobs of a queue on one device: at quiet moments of the training a place asks for one, has it tried and made ready as
// one that begins late, and gives it back when it has ended, or when the queue wants it back. See device.h for threads;
// the feeder decides which job a place is given. No file is looked at here.
#include <algorithm>
#include <utility>

#include "runner/clock.h"
#include "runner/core/device.h"
#include "runner/core/fill_settings.h"
#include "runner/core/scopes.h"

namespace weft {
namespace {

constexpr Duration longest_first_answer = std::chrono::milliseconds(500);

}  // namespace

// Behind those of the user, which have their memory first. Jobs of the user run without the queue.
void Device::prepare_jobs_of_queue() {
  try {
    open_queue();
  } catch (const std::exception& error) {
    queue_ = nullptr;
    why_no_queue_ = error.what();
    if (why_refused_.empty()) why_refused_ = why_no_queue_;
    if (jobs_.exist() || jobs_.are_awaited()) reporter_->warn(Audience::one_rank, why_no_queue_);
  }
  if (!queue_) return;
  for (DeviceJob& job : jobs_.all())
    if (job.is_of_queue() && take_from_queue(job)) prepare_job(job);
}

// A training that begins waits for the first job a little, so that it is ready from the begin.
void Device::open_queue() {
  if (core_.options.queue.empty()) return;
  check_fillable(core_, setup_);
  if (core_.options.feeder.empty())
    throw SetUpError(
        "there is a queue (WEFT_QUEUE) and no feeder: start the training with weft run, or weft-feeder "
        "beside it (WEFT_FEEDER)");
  const JobChannel::Of of{setup_.rank, ordinal_, jobs_.places(), core_.options.queue_policy, core_.options.queue};
  queue_ = std::make_unique<QueuePlaces>(core_.options.feeder, of);
  jobs_.note_queue();
  for (DeviceJob& job : jobs_.all())
    if (job.is_of_queue()) ask_queue(job);
  if (!core_.preparations[ordinal_].is_first_opening()) return;
  wait_at_most(longest_first_answer, [this] {
    return std::ranges::all_of(jobs_.all(), [this](const DeviceJob& job) {
      return !job.is_of_queue() || queue_->is_answered(*job.queue_place);
    });
  });
  if (!queue_->has_feeder())
    reporter_->warn(Audience::one_rank, "the feeder does not answer yet: no jobs of the queue run before it does");
}

// The memory that a job may have on this device, in equal parts for all places that have none.
void Device::ask_queue(DeviceJob& job) {
  const auto vacant = static_cast<std::uint64_t>(
      std::ranges::count_if(jobs_.all(), [](const DeviceJob& other) { return other.is_vacant(); }));
  std::size_t free = 0, total = 0;
  check(core_.driver, core_.driver.cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  const std::uint64_t head_room = rests_.head_room(core_.options.headroom);
  const std::uint64_t left = free > head_room ? free - head_room : 0;
  job.offered = std::min(jobs_.unwanted_memory() / std::max<std::uint64_t>(vacant, 1), left);
  if (job.offered == 0 && !std::exchange(lack_was_said_, true)) {
    const std::string beside = core_.options.fill.empty() ? "WEFT_HEADROOM" : "the jobs of WEFT_FILL";
    reporter_->warn(Audience::one_rank, "no device memory is left for jobs of the queue beside " + beside);
  }
  queue_->offer(job.offered);
  queue_->ask(*job.queue_place);
}

bool Device::take_from_queue(DeviceJob& job) {
  const std::optional<PlacedJob> placed = queue_->take(*job.queue_place);
  if (!placed) return false;
  job.place.plan = placed->plan;
  if (job.place.plan.memory == 0) job.place.plan.memory = job.offered;
  job.place.progress_file = placed->progress;
  job.variants = JobVariants(job.place.plan);
  // Nothing of the job that was here before.
  job.change.set(false);
  job.handover = DeviceJob::Handover::none;
  job.state = nullptr;
  job.own_name.clear();
  job.why_it_rests.clear();
  job.withdrawn = job.leaves = job.went_back = job.units_are_kept = false;
  job.stood = job.preparation = {};
  job.units = 0;
  job.end = JobEnd::passing_fault;
  job.vacant = false;
  return true;
}

// The job that it had is with the queue again.
void Device::return_to_queue(DeviceJob& job, JobEnd end, const std::string& why) {
  if (job.is_vacant()) return;
  if (job.units_are_kept) queue_->note_units(*job.queue_place, job.units);
  queue_->give_back(*job.queue_place, end, job.plan().memory, why);
  job.vacant = true;
  job.place.plan = {};
}

// The slowdown budget does not see it: iterations are compared. Ranks of one training stand at different times, and all
// wait for each, so each has its part of the budget.
bool Device::may_stand_for_queue(Duration expected) const {
  const double share = core_.options.slowdown_budget / std::max(setup_.ranks, 1);
  const Preparations& preparations = core_.preparations[ordinal_];
  return !preparations.has_changed() || preparations.is_change_allowed(now(), share, expected);
}

void Device::note_stand_for_queue(const DeviceJob& job, Duration stood) {
  if (!job.is_of_queue()) return;
  core_.preparations[ordinal_].note_change(stood);
  queue_preparation_ = std::max(queue_preparation_, job.preparation);
}

void Device::look_at_queue() {
  if (!queue_ || queue_drains_) return;
  if (const std::string fault = queue_->fault(); !fault.empty())
    reporter_->warn(Audience::one_rank, "the queue cannot be used: " + fault);
  queue_->offer(dispatcher_->board().bubbles());
  note_units_of_queue();
  for (DeviceJob& job : jobs_.all())
    if (job.is_of_queue()) look_at_place(job);
}

void Device::look_at_place(DeviceJob& job) {
  if (job.is_vacant()) return fill_place(job);
  if (job.fill.exists()) return look_at_running(job);
  const std::optional<std::string> withdrawn = queue_->withdrawn(*job.queue_place);
  if (job.trial.is_awaited() && withdrawn) {
    job.trial.leave();
    return_to_queue(job, JobEnd::withdrawn, *withdrawn);
  } else if (job.trial.is_awaited() && (rests() || (job.trial.awaits_turn() && one_goes_on_soon()))) {
    job.trial.leave();
    return_to_queue(job, JobEnd::left, why_memory_goes());
  } else if (!job.trial.is_awaited() && !job.fill.is_at_work()) {
    return_to_queue(job, job.end, job.why_end);
  }
}

void Device::fill_place(DeviceJob& job) {
  if (core_.rescues_of(ordinal_) != 0) return;
  if (take_from_queue(job)) return job.trial.await(TrialWait::turn);
  if (rests() || one_goes_on_soon() || !may_stand_for_queue(queue_preparation_)) return;
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, setup_.context);
  if (!current.pushed()) return;
  try {
    ask_queue(job);
  } catch (const SetUpError&) {
    // Asked again at a later moment.
  }
}

// Before it is released nothing of it may be in flight.
void Device::look_at_running(DeviceJob& job) {
  const std::uint32_t number = job.place.number;
  if (job.fill.units_are_kept()) queue_->note_units(*job.queue_place, job.units);
  if (has_ended(job)) return note_end_of_queued(job);
  if (job.leaves) {
    if (!dispatcher_->is_suspended(number)) return;
    withdraw_for_queue(job);
    reporter_->info("fill job " + job.name() + " goes back to the queue: " + job.why_end);
    return;
  }
  if (job.handover != DeviceJob::Handover::none) return;
  const RoomFound room = dispatcher_->room_found(number);
  if (const auto withdrawn = queue_->withdrawn(*job.queue_place)) {
    job.end = JobEnd::withdrawn;
    job.why_end = *withdrawn;
  } else if (job.variants.is_stuck(room, jobs_.free_memory() + job.plan().memory)) {
    job.end = JobEnd::no_room;
    job.why_end = why_no_room("it", room.refused);
  } else {
    return;
  }
  job.leaves = true;
  dispatcher_->suspend_job(number);
}

// By itself, perhaps while it was to go back.
void Device::note_end_of_queued(DeviceJob& job) {
  if (job.went_back) return;
  const EndedJob how = dispatcher_->how_ended(job.place.number);
  job.end = !how.failed ? JobEnd::over : how.is_passing ? JobEnd::passing_fault : JobEnd::fault;
  job.why_end = how.why;
}

// It has ended soon, and is released at a later quiet moment.
void Device::withdraw_for_queue(DeviceJob& job) {
  job.went_back = true;
  dispatcher_->submit(Record(ordinal_, now(), job.record(JobEvent::withdrawn, job.why_end)));
  dispatcher_->withdraw_job(job.place.number);
}

void Device::note_units_of_queue() {
  for (DeviceJob& job : jobs_.all())
    if (job.is_of_queue() && job.fill.exists()) job.units = dispatcher_->board().units(job.place.number);
}

// Nothing is filled any more. A job whose progress is not written yet stays until the end of the training: nobody else
// could take it up.
void Device::drain_queue() {
  if (std::exchange(queue_drains_, true)) return;
  note_units_of_queue();
  for (DeviceJob& job : jobs_.all()) {
    if (!job.is_of_queue() || job.is_vacant() || (job.fill.exists() && !job.fill.units_are_kept())) continue;
    if (job.fill.exists() && has_ended(job)) note_end_of_queued(job);
    job.units_are_kept = job.fill.exists();
    const bool is_over = job.end == JobEnd::over;
    return_to_queue(job, is_over ? JobEnd::over : JobEnd::left, is_over ? job.why_end : "nothing is filled any more");
  }
  queue_wish_.set(false);
}

// The rank is finished. Without memory for words the feeder sees that it has gone.
void Device::leave_queue(const char* why) noexcept {
  if (!queue_) return;
  try {
    for (DeviceJob& job : jobs_.all()) {
      if (!job.is_of_queue() || job.is_vacant()) continue;
      if (job.fill.exists() && dispatcher_) job.units = dispatcher_->board().units(job.place.number);
      if (job.fill.exists()) job.units_are_kept = job.units_are_kept || job.fill.units_are_kept();
      const bool is_over = job.end == JobEnd::over;
      return_to_queue(job, is_over ? JobEnd::over : JobEnd::left, is_over ? job.why_end : why);
    }
  } catch (const std::exception&) {
  }
  queue_->close();
  queue_ = nullptr;
  queue_wish_.set(false);
}

}  // namespace weft
