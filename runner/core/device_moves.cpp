// Marked memory of fill jobs (between_bubbles_on_host() in weft/fill.h): it leaves the device while the training is
// short of memory, and comes back when there is enough again. The dispatcher copies it, in bubbles; here, at quiet
// moments of the training, the device memory behind it is given back and fetched again, at the same addresses. See
// device.h for threads.
#include <vector>

#include "runner/clock.h"
#include "runner/core/device.h"
#include "runner/core/scopes.h"
#include "runner/options/quantity.h"

namespace weft {
namespace {

using std::chrono::seconds;

// For so long the training may have less than WEFT_HEADROOM left while bubbles are waited for, if it has half of it.
constexpr Duration longest_leaving = seconds(5);
constexpr Duration between_tries = seconds(1);

}  // namespace

// The training has less left than it should. True: memory that is marked is enough, and on its way to the host.
bool Device::lets_marked_leave(std::uint64_t free) {
  const std::uint64_t wanted = core_.options.headroom;
  if (!short_since_) short_since_ = now();
  if (free < wanted / 2 || dispatcher_->filling_is_over() || now() - *short_since_ > longest_leaving) return false;
  std::vector<DeviceJob*> leaving;
  std::uint64_t left = free;
  for (DeviceJob& job : jobs_.all()) {
    if (left >= wanted || !job.fill.exists() || has_ended(job)) continue;
    if (job.marked != MarkedMemory::here && job.marked != MarkedMemory::leaves) continue;
    left += job.fill.marked_memory();
    leaving.push_back(&job);
  }
  if (left < wanted) return false;
  for (DeviceJob* const job : leaving)
    if (job->marked == MarkedMemory::here && job->fill.marked_memory() != 0) begin_leaving(*job);
  return true;
}

void Device::begin_leaving(DeviceJob& job) {
  job.marked = MarkedMemory::leaves;
  job.move.set(true);
  dispatcher_->move_job(job.place.number, MoveWay::to_host);
}

// The next step of each move, if the last one is over.
void Device::move_marked() {
  if (core_.rescues_of(ordinal_) != 0) return;
  for (DeviceJob& job : jobs_.all()) {
    if (job.marked == MarkedMemory::here) continue;
    const bool is_away = dispatcher_->is_away(job.place.number);
    if (!job.fill.exists() || has_ended(job) || (job.marked == MarkedMemory::comes && !is_away)) {
      job.marked = MarkedMemory::here;
      job.move.set(false);
    } else if (job.marked == MarkedMemory::leaves && is_away) {
      give_marked_back(job);
    } else if (job.marked == MarkedMemory::away && now() >= next_return_) {
      fetch_marked(job);
    }
  }
}

void Device::give_marked_back(DeviceJob& job) {
  if (!in_stillness([&] { return job.fill.give_marked_back(answer_limit); })) return;
  job.marked = MarkedMemory::away;
  absences_.begin(now());
  next_return_ = now() + absences_.pause();
  short_since_.reset();
  core_.memory_came_back();
  record(jobs_.memory(MemoryEvent::left));
  reporter_->info("fill job " + job.name() + " stands still: " + mebibytes(job.fill.marked_memory()) +
                  " of its memory went to the host, because less than WEFT_HEADROOM was left to the training");
}

void Device::fetch_marked(DeviceJob& job) {
  next_return_ = now() + between_tries;
  const std::uint64_t wanted = absences_.head_room(core_.options.headroom) + job.fill.marked_memory();
  const auto fetch = [&] {
    std::size_t free = 0, total = 0;
    const bool known = core_.driver.cuMemGetInfo_v2(&free, &total) == CUDA_SUCCESS;
    return known && free >= wanted && job.fill.fetch_marked(answer_limit);
  };
  if (!in_stillness(fetch)) return;
  core_.shim.memory_reserved(ordinal_);
  job.marked = MarkedMemory::comes;
  dispatcher_->move_job(job.place.number, MoveWay::to_device);
  record(jobs_.memory(MemoryEvent::came_back));
  reporter_->info("fill job " + job.name() + " goes on when its memory is back on the device");
}

// The step is made where nothing of the training runs or begins, and no slice is in flight.
bool Device::in_stillness(const std::function<bool()>& step) {
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, setup_.context);
  const Gate gate = shut_gate();
  const bool done = current.pushed() && gate && nothing_is_pending() && step();
  dispatcher_->resume();
  return done;
}

}  // namespace weft
