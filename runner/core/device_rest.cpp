// The memory of fill jobs goes back to a training that leaves less than WEFT_HEADROOM free, and they rest: they are
// withdrawn with their state, as for another variant, and wait for their turn until there is memory again.
//
// Threads of the main job, see device.h. rest() runs in an allocation of the training, which may not wait for long; all
// that comes later runs at quiet moments (device_late.cpp, device_variants.cpp).
#include <algorithm>

#include "runner/clock.h"
#include "runner/core/device.h"
#include "runner/core/scopes.h"
#include "runner/options/quantity.h"

namespace weft {
namespace {

std::string seconds_of(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

std::string Device::why_memory_goes() const {
  return "less device memory was left to the training than the " + mebibytes(core_.options.headroom) +
         " of WEFT_HEADROOM";
}

// With the context current. Where a slice does not end, a group is pending, a job says its progress or the driver
// waits, a later call goes on with it, and threads of Weft's do meanwhile.
void Device::rest(Duration limit) {
  if (!rest_wish_.is_set()) giving_back_.begin(now());
  rest_wish_.set(true);
  if (rests_within(limit)) return note_given_back();
  giving_back_.note_try(now());
  if (giving_back_.is_to_be_said(now())) say_that_memory_stays();
}

// No allocation has failed yet: what might wait for a receive in the driver is left to one that does. Where nothing is
// filled any more, no job rests, and their memory goes all the same.
bool Device::rests_within(Duration limit) {
  if (!jobs_.are_giving_back()) {
    const bool is_over = dispatcher_->ended() || dispatcher_->filling_is_over();
    if (!nothing_in_flight(answer_limit)) {
      if (!is_over) suspend_all();
      return false;
    }
    jobs_.begin_giving_back();
    if (is_over)
      dispatcher_->stop_filling(why_memory_goes());
    else
      withdraw_all();
    dispatcher_->resume();
  }
  return no_group_is_pending() && jobs_.are_asked_within(*reporter_, limit) && jobs_.give_device_back(limit);
}

void Device::say_that_memory_stays() {
  const std::string why = jobs_.are_being_asked() ? "a fill job has not said its progress yet (save() of weft/fill.h)"
                                                  : "work on the GPU has not ended";
  reporter_->warn(Audience::every_rank, "device memory of fill jobs, " + mebibytes(jobs_.held_memory()) +
                                            ", has not gone back to the training for " +
                                            seconds_of(GivingBack::long_time) + ": " + why);
}

// Nothing follows the slices in flight.
void Device::suspend_all() {
  for (const DeviceJob& job : jobs_.all())
    if (runs(job)) dispatcher_->suspend_job(job.place.number);
}

// Memory is on its way to the training, or went there a short time ago.
bool Device::rests() const {
  return rest_wish_.is_set() || !rests_.is_over(now());
}

void Device::go_on_resting() {
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, setup_.context);
  if (current.pushed()) rest(Duration{0});
}

// The dispatcher is paused and launches nothing of them after that, for it hears of it first.
void Device::withdraw_all() {
  const bool is_first = !rests_.have_been();
  rests_.begin(now());
  if (queue_) queue_->offer(std::uint64_t{0});
  const std::string why = why_memory_goes();
  for (DeviceJob& job : jobs_.all()) {
    if (!runs(job) || job.withdrawn || job.went_back) continue;
    job.handover = DeviceJob::Handover::none;
    job.change.set(false);
    const std::string does = withdraw_for_rest(job, why);
    const std::string text = "fill job " + job.name() + does;
    is_first ? reporter_->warn(Audience::every_rank, text) : reporter_->info(text);
  }
}

// Other ranks may take a job of the queue. As a part of a sentence.
std::string Device::withdraw_for_rest(DeviceJob& job, const std::string& why) {
  if (job.is_of_queue()) {
    job.leaves = true;
    job.end = JobEnd::left;
    job.why_end = why;
    withdraw_for_queue(job);
    return " goes back to the queue: " + why;
  }
  const std::string pause = seconds_of(rests_.pause());
  job.rests = true;
  job.why_it_rests = "no quiet moment of the training came later than " + pause + " after that";
  await_turn_again(job, why);
  return " rests: " + why + "; it goes on when there is more, after " + pause + " at the earliest";
}

bool Device::runs(const DeviceJob& job) const {
  return job.fill.exists() && !has_ended(job);
}

// The training stands for the preparation of a job that has run, and there has to be memory for any. With the context
// current.
bool Device::rest_allows(DeviceJob& job) {
  if (rests()) return false;
  if (!rests_.have_been()) return true;
  const Preparations& preparations = core_.preparations[ordinal_];
  if (job.rests && !preparations.is_change_allowed(now(), core_.options.slowdown_budget, job.preparation + job.stood)) {
    job.why_it_rests = "to make it ready again would have cost more than WEFT_SLOWDOWN_BUDGET";
    return false;
  }
  if (job.trial.awaits_turn() || memory_is_there(rests_, job.plan().memory)) return true;
  note_lack(job);
  job.trial.leave();
  if (job.is_of_queue())
    return_to_queue(job, JobEnd::left, job.why_it_rests);  // another rank may have the memory
  else
    job.trial.await(TrialWait::turn);
  return false;
}

// A job that rests may be made ready as soon as what it had is released: others wait so long, and no longer, for one
// that lacks memory or time of the slowdown budget may rest to the end.
bool Device::one_goes_on_soon() {
  const CurrentContext current(core_.driver, setup_.context);
  return current.pushed() && std::ranges::any_of(jobs_.all(), [this](DeviceJob& job) {
           return job.rests && job.trial.awaits_turn() && (job.fill.exists() || job.fill.is_at_work()) &&
                  rest_allows(job) && memory_is_there(rests_, job.plan().memory);
         });
}

bool Device::memory_is_there(const Rests& after, std::uint64_t bytes) const {
  std::size_t free = 0, total = 0;
  return core_.driver.cuMemGetInfo_v2(&free, &total) == CUDA_SUCCESS &&
         free >= after.head_room(core_.options.headroom) + bytes;
}

void Device::note_lack(DeviceJob& job) {
  if (!rests_.have_been()) return;
  job.why_it_rests = "the GPU had less left than its " + mebibytes(job.plan().memory) + " and the " +
                     mebibytes(rests_.head_room(core_.options.headroom)) +
                     " that stay free beside it (WEFT_HEADROOM and a quarter)";
}

// One that rests has run, so another communicator may be made once more; nobody stands for it before.
bool Device::waits_for_communicator(DeviceJob& job, const TrialVerdict& verdict) {
  if (job.rests)
    job.why_it_rests = "to make it ready again would have held the training up for " + seconds_of(verdict.preparation);
  return job.rests;
}

// It could not be made ready again. True: for a reason that may pass, and it rests on.
bool Device::rests_on(DeviceJob& job, const std::exception& fault) {
  const bool is_passing = dynamic_cast<const PassingFault*>(&fault) != nullptr;
  const bool is_of_variant = dynamic_cast<const LacksMemory*>(&fault) != nullptr;  // which asks for more than it has
  if (!job.rests || is_of_variant || !(is_passing || !memory_is_there(rests_, job.plan().memory))) return false;
  rests_.begin(now());
  job.why_it_rests = fault.what();
  job.trial.await_next_turn();
  reporter_->info("fill job " + job.name() + " rests on: " + fault.what());
  return true;
}

// Before the job's memory and handles are freed, which nothing asks any more.
void Device::take_state_at_rest(DeviceJob& job) {
  try {
    job.state = job.fill.state_at_rest();
  } catch (const SetUpError& error) {
    not_late(job, "fill job " + job.name() + " is not run again: " + error.what());
  }
}

std::string Device::why_not_again(const DeviceJob& job) const {
  if (job.rests && dispatcher_->filling_is_over()) return "filling was over before that";
  return job.why_it_rests.empty() || job.trial.is_under_way() ? job.trial.why_never_filled() : job.why_it_rests;
}

}  // namespace weft
