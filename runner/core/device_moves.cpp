// Marked memory of fill jobs (between_bubbles_on_host() in weft/fill.h): it leaves the device while the training is
// short of memory, and comes back when there is enough again. The dispatcher copies it, in bubbles; here, at quiet
// moments of the training, the device memory behind it is given back and fetched again, at the same addresses. See
// device.h for threads.
#include <algorithm>
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

// The training has less left than it should. Where memory that is marked is enough, it is on its way to the host: bytes
// that the training may take before this is asked again. 0: it is not.
std::uint64_t Device::let_marked_leave(std::uint64_t free) {
  const std::uint64_t wanted = core_.options.headroom;
  if (!short_since_) short_since_ = now();
  if (free <= wanted / 2 || dispatcher_->filling_is_over() || now() - *short_since_ > longest_leaving) return 0;
  std::vector<DeviceJob*> leaving;
  std::uint64_t left = free;
  for (DeviceJob& job : jobs_.all()) {
    const bool may_leave = job.marked == MarkedMemory::here || job.marked == MarkedMemory::leaves;
    if (left >= wanted || !runs(job) || !may_leave || job.fill.marked_memory() == 0) continue;
    left += job.fill.held_marked();
    leaving.push_back(&job);
  }
  if (left < wanted) return 0;
  for (DeviceJob* const job : leaving)
    if (job->marked == MarkedMemory::here) begin_leaving(*job);
  return free - wanted / 2;
}

void Device::begin_leaving(DeviceJob& job) {
  job.marked = MarkedMemory::leaves;
  job.next_move = {};
  job.move.set(true);
  dispatcher_->move_job(job.place.number, MoveWay::to_host);
}

// The next step of each move, if the last one is over. Where one takes too long all memory goes back at once.
void Device::move_marked() {
  if (core_.rescues_of(ordinal_) != 0) return;
  const auto leaves = [](const DeviceJob& job) { return job.marked == MarkedMemory::leaves; };
  if (short_since_ && now() - *short_since_ > longest_leaving && std::ranges::any_of(jobs_.all(), leaves))
    return go_on_resting();
  for (DeviceJob& job : jobs_.all())
    if (job.marked != MarkedMemory::here && now() >= job.next_move) move_on(job);
}

void Device::move_on(DeviceJob& job) {
  const bool is_away = dispatcher_->is_away(job.place.number);
  if (!runs(job) || (job.marked == MarkedMemory::comes && !is_away)) return stays_here(job);
  if (job.marked == MarkedMemory::leaves && is_away) return give_marked_back(job);
  if (job.marked == MarkedMemory::goes && job.fill.held_marked() == 0) return note_away(job);
  if (job.marked == MarkedMemory::away) return fetch_marked(job);
  if (job.marked == MarkedMemory::fetched) look_at_fetched(job);
}

void Device::stays_here(DeviceJob& job) {
  job.marked = MarkedMemory::here;
  job.move.set(false);
}

// Begun in stillness; where the driver takes long, its end is only looked for.
void Device::give_marked_back(DeviceJob& job) {
  const bool begun = in_stillness([&] { return job.fill.give_marked_back(answer_limit), true; });
  if (!begun) return;
  job.marked = MarkedMemory::goes;
  if (job.fill.held_marked() == 0) note_away(job);
}

void Device::note_away(DeviceJob& job) {
  const auto is_away = [](const DeviceJob& other) { return other.marked == MarkedMemory::away; };
  const bool is_first = !absences_.have_been();
  if (std::ranges::none_of(jobs_.all(), is_away)) absences_.begin(now());
  job.marked = MarkedMemory::away;
  job.next_move = now() + absences_.pause();
  short_since_.reset();
  core_.memory_came_back();
  record(jobs_.memory(MemoryEvent::left));
  const std::string text = "fill job " + job.name() + " stands still: " + mebibytes(job.fill.marked_memory()) +
                           " of its memory went to the host, because " + why_memory_goes();
  is_first ? reporter_->warn(Audience::every_rank, text) : reporter_->info(text);
}

// Not before there is more than has to be left: else it would leave at the next allocation.
void Device::fetch_marked(DeviceJob& job) {
  job.next_move = now() + between_tries;
  const CurrentContext current(core_.driver, setup_.context);
  if (!current.pushed() || !memory_is_there(absences_, job.fill.marked_memory())) return;
  const bool begun = in_stillness([&] { return job.fill.fetch_marked(answer_limit), true; });
  if (!begun) return;
  core_.shim.memory_reserved(ordinal_);
  job.marked = MarkedMemory::fetched;
  look_at_fetched(job);
}

// The thread that maps it may take long, or the device has none after all.
void Device::look_at_fetched(DeviceJob& job) {
  if (job.fill.has_marked()) {
    job.marked = MarkedMemory::comes;
    job.next_move = {};
    dispatcher_->move_job(job.place.number, MoveWay::to_device);
    record(jobs_.memory(MemoryEvent::came_back));
    reporter_->info("fill job " + job.name() + " goes on when its memory is back on the device");
  } else if (job.fill.held_marked() == 0) {
    job.marked = MarkedMemory::away;
    job.next_move = now() + between_tries;
  }
}

// Of a run that is over.
void Device::say_what_is_away() const {
  for (const DeviceJob& job : jobs_.all())
    if (job.fill.exists() && job.marked != MarkedMemory::here && job.marked != MarkedMemory::leaves)
      reporter_->warn(Audience::every_rank, "fill job " + job.name() +
                                                " stood still to the end: a part of its memory was on the host, "
                                                "because " +
                                                why_memory_goes());
}

// The step is made where nothing of the training runs or begins, and no slice is in flight. The training stands for it.
bool Device::in_stillness(const std::function<bool()>& step) {
  const TimePoint began = now();
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, setup_.context);
  const Gate gate = shut_gate();
  const bool done = current.pushed() && gate && nothing_is_pending() && step();
  dispatcher_->resume();
  if (done) core_.preparations[ordinal_].note_change(now() - began);
  return done;
}

}  // namespace weft
