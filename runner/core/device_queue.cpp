// Jobs of a queue on one device: at quiet moments of the training a place asks for one, has it tried and made ready as
// one that begins late, and gives it back when it has ended, or when the queue wants it back. See device.h for threads;
// the feeder decides which job a place is given.
#include <algorithm>

#include "runner/clock.h"
#include "runner/core/device.h"
#include "runner/core/fill_settings.h"
#include "runner/core/scopes.h"

namespace weft {
namespace {

constexpr Duration longest_first_answer = std::chrono::milliseconds(500);

}  // namespace

// A training that begins waits for the first job a little, so that it is ready from the begin.
void Device::open_queue() {
  if (core_.options.queue.empty()) return;
  check_fillable(core_, setup_);
  if (core_.options.feeder.empty())
    throw SetUpError(
        "there is a queue (WEFT_QUEUE) and no feeder: start the training with weft run, or weft-feeder "
        "beside it (WEFT_FEEDER)");
  try {
    queue_ = std::make_unique<QueuePlaces>(core_.options.feeder, core_.options.queue, setup_.rank, ordinal_,
                                           jobs_.places(), core_.options.queue_policy);
  } catch (const std::runtime_error& error) {
    throw SetUpError(error.what());
  }
  jobs_.note_queue();
  for (DeviceJob& job : jobs_.all())
    if (job.is_of_queue()) ask_queue(job);
  wait_at_most(longest_first_answer, [this] {
    return std::ranges::all_of(jobs_.all(), [this](const DeviceJob& job) {
      return !job.is_of_queue() || queue_->is_answered(*job.queue_place);
    });
  });
  for (DeviceJob& job : jobs_.all())
    if (job.is_of_queue()) take_from_queue(job);
  if (!queue_->has_feeder())
    reporter_->warn(Audience::one_rank, "the feeder does not answer yet: no jobs of the queue run before it does");
}

// The memory that a job may have on this device, in equal parts for all places that have none.
void Device::ask_queue(DeviceJob& job) {
  const auto vacant = static_cast<std::uint64_t>(
      std::ranges::count_if(jobs_.all(), [](const DeviceJob& other) { return other.is_vacant(); }));
  std::size_t free = 0, total = 0;
  check(core_.driver, core_.driver.cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  const std::uint64_t left = free > core_.options.headroom ? free - core_.options.headroom : 0;
  job.offered = std::min(jobs_.free_memory() / std::max<std::uint64_t>(vacant, 1), left);
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
  job.state = nullptr;
  job.withdrawn = job.leaves = job.units_are_kept = false;
  job.units = 0;
  job.end = JobEnd::fault;
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

void Device::look_at_queue() {
  if (!queue_) return;
  if (const std::string fault = queue_->fault(); !fault.empty())
    reporter_->warn(Audience::one_rank, "the queue cannot be used: " + fault);
  queue_->offer(dispatcher_->board().bubbles());
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
  } else if (!job.trial.is_awaited() && !job.fill.is_at_work()) {
    return_to_queue(job, job.end, job.why_end);
  }
}

// None while the training has stood for jobs of the queue already for as long as the slowdown budget lets it.
void Device::fill_place(DeviceJob& job) {
  if (core_.rescues_of(ordinal_) != 0) return;
  if (take_from_queue(job)) return job.trial.await(TrialWait::turn);
  const Preparations& preparations = core_.preparations[ordinal_];
  const bool is_first = !job_was_ready_;
  if (!is_first && !preparations.is_change_allowed(now(), core_.options.slowdown_budget, job.preparation)) return;
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
  note_units_of_queue();
  if (job.fill.units_are_kept()) queue_->note_units(*job.queue_place, job.units);
  if (has_ended(job)) {
    if (job.leaves) return;
    const EndedJob how = dispatcher_->how_ended(number);
    job.end = how.failed ? JobEnd::fault : JobEnd::over;
    job.why_end = how.why;
    return;
  }
  if (job.leaves) {
    if (dispatcher_->is_suspended(number)) withdraw_for_queue(job);
    return;
  }
  if (job.handover != DeviceJob::Handover::none) return;
  const RoomFound room = dispatcher_->room_found(number);
  if (const auto withdrawn = queue_->withdrawn(*job.queue_place)) {
    job.end = JobEnd::withdrawn;
    job.why_end = *withdrawn;
  } else if (job.variants.is_stuck(room, jobs_.free_memory() + job.plan().memory)) {
    job.end = JobEnd::no_room;
    job.why_end = why_no_room("this GPU's bubbles", room.refused);
  } else {
    return;
  }
  job.leaves = true;
  dispatcher_->suspend_job(number);
}

// It has ended soon, and is released at a later quiet moment.
void Device::withdraw_for_queue(DeviceJob& job) {
  dispatcher_->submit(Record(ordinal_, now(), job.record(JobEvent::withdrawn, job.why_end)));
  dispatcher_->withdraw_job(job.place.number);
  reporter_->info("fill job " + job.name() + " goes back to the queue: " + job.why_end);
}

void Device::note_units_of_queue() {
  for (DeviceJob& job : jobs_.all())
    if (job.is_of_queue() && job.fill.exists()) job.units = dispatcher_->board().units(job.place.number);
}

// Nothing is filled any more. Without memory for words the feeder sees that the rank has gone.
void Device::leave_queue(const char* why) noexcept {
  if (!queue_) return;
  try {
    if (dispatcher_) note_units_of_queue();
    for (DeviceJob& job : jobs_.all()) {
      if (!job.is_of_queue()) continue;
      if (job.fill.exists()) job.units_are_kept = job.units_are_kept || job.fill.units_are_kept();
      const bool is_over = !job.is_vacant() && job.end == JobEnd::over;
      return_to_queue(job, is_over ? JobEnd::over : JobEnd::left, is_over ? job.why_end : why);
    }
  } catch (const std::exception&) {
  }
  queue_->close();
  queue_ = nullptr;
  queue_wish_.set(false);
}

}  // namespace weft
