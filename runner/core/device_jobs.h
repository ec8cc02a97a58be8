// The fill jobs of one device, as the user names them: their trials, what is ready of each, and the way back of all
// together. A job that cannot be had leaves the others as they are.
//
// Threads of the main job inside the core's services, one at a time per device, with the device's context current where
// DeviceFill wants it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/core/core_context.h"
#include "runner/core/device_fill.h"
#include "runner/core/device_trial.h"
#include "runner/core/job_variants.h"
#include "runner/feed/queue_places.h"
#include "runner/options/fill_plan.h"

namespace weft {

// Of the memory that a job has marked: on the device; copied to the host; given back; on the host; fetched again, which
// may not be over; copied back.
enum class MarkedMemory : std::uint8_t { here, leaves, goes, away, fetched, comes };

struct DeviceJob {
  DeviceJob(CoreContext& core, const ListedJob& its_place)
      : place(its_place), variants(place.plan), trial(core), fill(core), change(core), move(core) {}

  bool is_of_queue() const { return queue_place.has_value(); }
  bool is_vacant() const { return is_of_queue() && vacant; }
  // Its line in the trace.
  JobRecord record(JobEvent event, const std::string& why = "") const;
  std::string name() const;  // that of the user, its own, or, before it has run, the one in its path
  // Of what is tried and made ready now: the user's plan, with one of its variants.
  const JobPlan& plan() const { return variants.present(); }
  ListedJob listed() const;
  ReadyJob ready(const Marking& marking) const;  // one that is
  std::string why_it_never_fits() const;

  ListedJob place;
  JobVariants variants;
  DeviceTrial trial;
  DeviceFill fill;
  QuietWish change;  // another variant may be made ready
  // The one that runs is asked for its state before: it is suspended, then it saves.
  // Or it pauses and is asked from time to time, so that its progress is kept whatever comes.
  enum class Handover : std::uint8_t { none, suspends, saves, pauses, keeps };
  bool is_being_kept() const { return handover == Handover::pauses || handover == Handover::keeps; }
  Handover handover = Handover::none;
  bool withdrawn = false;                     // for another variant, or it rests, and is not ready yet; then also:
  std::shared_ptr<const Progress> state;      // of the one that ran
  Duration stood{};                           // for so long the training stood for it since then
  bool rests = false;                         // withdrawn because its memory went back to the training
  std::string why_it_rests;                   // still, or waits for memory since then; a part of a sentence
  std::string own_name;                       // of the one that ran; "": none has
  Duration preparation{};                     // that the latest took to become ready, in its trial
  TimePoint next_keeping{}, pauses_until{};   // of its progress
  Duration pause = std::chrono::seconds(10);  // that the end of a unit is waited for
  std::uint64_t kept_units = 0;               // that are in it
  MarkedMemory marked = MarkedMemory::here;
  QuietWish move;         // a further step of that is to come
  TimePoint next_move{};  // not before
  // Of a place for jobs of a queue:
  std::optional<std::uint32_t> queue_place;  // its number
  bool vacant = true;
  bool leaves = false;                 // the queue has it back as soon as nothing of it is in flight
  bool units_are_kept = false;         // they will not be done again
  std::uint64_t units = 0;             // done here
  std::uint64_t offered = 0;           // memory, when it was asked for
  bool went_back = false;              // it does: it was withdrawn, and did not end by itself
  JobEnd end = JobEnd::passing_fault;  // as it would be given back now
  std::string why_end;                 // likewise
};

class DeviceJobs {
 public:
  explicit DeviceJobs(CoreContext& core) : core_(core) {}
  // As the options have them, once. Throws std::invalid_argument.
  void plan();
  std::uint32_t places() const { return places_; }  // for jobs of a queue, behind those of the user

  std::deque<DeviceJob>& all() { return jobs_; }
  const std::deque<DeviceJob>& all() const { return jobs_; }
  JobPolicy policy() const { return policy_; }
  std::shared_ptr<FillLane> lane() const;  // nullptr: none is ready
  std::string names() const;               // of those that are ready or may become so, and of the queue
  void note_queue() { queue_is_open_ = true; }
  RecordText confinement() const;  // the weakest of those that are ready; "": none is

  // Whether it is so of any.
  bool exist() const;
  bool are_at_work(Duration limit = Duration{0}) const;
  bool are_awaited() const;
  bool progress_is_kept() const;
  int awaited() const;   // how many
  int expected() const;  // likewise, with the places for jobs of a queue: another one may always come
  bool await_turns() const;
  bool want_memory() const;  // that others leave: for their turn, or for a better variant
  bool trial_is_under_way() const;
  bool one_was_given_up() const;
  // Of WEFT_MEMORY, that no job has, or is tried with.
  std::uint64_t free_memory() const;
  // Likewise, and that none waits for.
  std::uint64_t unwanted_memory() const;
  // Likewise, when all have ended that ever do. One that goes on may have ended by a failure.
  using HasEnded = std::function<bool(const DeviceJob& job)>;
  std::uint64_t most_free_memory(const HasEnded& has_ended) const;
  std::uint64_t held_memory() const;
  MemoryRecord memory(MemoryEvent event) const;
  CUstream stream() const { return lane()->stream(); }
  bool stream_is_idle() const { return core_.driver.cuStreamQuery(stream()) == CUDA_SUCCESS; }

  // As of DeviceFill, for each.
  // Nothing of them is in flight, and nothing will be launched any more: their device memory is on its way back, and
  // until end_giving_back() nobody was told that it has come back.
  void begin_giving_back() { giving_back_ = true; }
  bool are_giving_back() const { return giving_back_; }
  bool give_device_back(Duration limit);
  // Before that: those that are to rest, or keep their progress, are asked for it, one after the other. True: all were.
  bool are_asked_within(const Reporter& reporter, Duration limit);
  bool are_being_asked() const;
  void await_answers();
  void end_giving_back() { giving_back_ = false; }
  // Keeps the progress of all before anything is freed.
  std::optional<MemoryRecord> release(const Reporter& reporter, Duration limit);
  void take_down(Duration limit) noexcept;
  void abandon(bool nothing_in_flight, Duration limit) noexcept;
  void let_progress_go();
  void leave() noexcept;
  void leave_trials();
  void end_changes();  // of variants

 private:
  CoreContext& core_;
  JobPolicy policy_ = JobPolicy::throughput;
  std::deque<DeviceJob> jobs_;
  std::uint32_t places_ = 0;
  bool giving_back_ = false;
  bool queue_is_open_ = false;
};

}  // namespace weft
