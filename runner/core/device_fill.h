// A fill job of one device from when it is made ready: reservation and progress, and the way back.
//
// Threads of the main job inside the core's services, one at a time per device, with the device's context current
// where it is not said otherwise. Calls that may wait in the driver are made by a thread of Weft's, which they wait for
// with a bound (fill_work.h). The dispatcher thread uses what ready() has, and nothing else of this, in between.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runner/core/core_context.h"
#include "runner/core/device_setup.h"
#include "runner/core/fill_work.h"
#include "runner/core/reporter.h"
#include "runner/core/scopes.h"
#include "runner/fill/filler.h"
#include "runner/fill/prepared_fill.h"
#include "runner/fill/progress.h"
#include "runner/options/fill_plan.h"

namespace weft {

// A job in the user's list.
struct ListedJob {
  std::uint32_t number = 0;
  JobPlan plan;
  bool is_only_one = true;
  std::string progress;  // tells its progress from that of the others, whatever their order; "": it is the only one
  std::uint64_t movable = 0;                // bytes of its memory that it has marked in its trial
  bool is_of_queue = false;                 // it has its progress in a file of the queue, or keeps none
  std::string progress_file{};              // then; "": there is none
  std::shared_ptr<const Progress> state{};  // of another variant of it that ran before; nullptr: there is none

  // As the user calls it, or as it calls itself.
  std::string name(const std::string& own) const { return plan.name.empty() ? own : plan.name; }
};

class DeviceFill {
 public:
  explicit DeviceFill(CoreContext& core) : core_(core) {}
  DeviceFill(const DeviceFill&) = delete;
  DeviceFill& operator=(const DeviceFill&) = delete;

  // With settings of this moment: waiting for the trial took its time. `lane`: of the other jobs; nullptr: there is
  // none yet, and where the stream that the setup names cannot be made, it has a plain one then. Throws SetUpError,
  // also where the job is not ready within `limit`: its thread frees then what it has made, when the driver lets it.
  // `give_up`: likewise, before that.
  void make(const ListedJob& place, std::shared_ptr<FillLane> lane, DeviceSetup& setup, const Reporter& reporter,
            Duration limit, const FillWork::GiveUp& give_up);
  // While the next thread makes or frees something, however long, this gate stays shut.
  void keep_shut(Gate gate) { gate_ = std::move(gate); }
  // A thread still makes or frees something that nobody waits for any more.
  bool is_at_work(Duration limit = Duration{0}) const { return work_ != nullptr && !work_->has_ended(limit); }
  // A thread still makes it ready, on the stream of all jobs, and nobody waits for it any more.
  bool was_given_up() const { return given_up_ && is_at_work(); }
  // It is there until it has been released, also without its device memory.
  bool exists() const { return fill_ != nullptr; }
  const std::string& name() const { return fill_->job().name(); }
  // Of a job that exists, as the filler takes it.
  ReadyJob ready(const ListedJob& place, const Marking& marking) const;
  std::shared_ptr<FillLane> lane() const { return fill_->lane(); }
  const Confined& confined() const { return fill_->unit().confined(); }
  std::uint64_t held_memory() const { return fill_ ? fill_->reservation().reserved() : 0; }
  Duration longest_slice() const { return fill_->unit().longest(); }
  MemoryRecord memory(MemoryEvent event) const;
  CUstream stream() const { return fill_->stream(); }
  // Memory that the job has marked, which may leave the device, see Reservation::Movable. Nothing of the job is in
  // flight in the two below, and its content is on the host.
  std::uint64_t marked_memory() const { return fill_ ? fill_->reservation().movable().bytes : 0; }
  bool give_marked_back(Duration limit) { return fill_->reservation().let_movable_go(limit); }
  bool fetch_marked(Duration limit) { return fill_->reservation().fetch_movable(limit); }
  bool has_marked() const { return fill_->reservation().has_movable(); }
  // Bytes of the device, also while a thread maps or unmaps them.
  std::uint64_t held_marked() const { return fill_->reservation().held_movable(); }
  bool progress_is_kept() const { return saving_ != nullptr || progress_.is_kept(); }

  // Takes up the progress first, which may lie in that memory; for a rest also where no file keeps it, and
  // state_at_rest() has it from then on, or throws SetUpError where the job could not say it. True: the memory is back.
  bool give_device_back(Duration limit, bool rests = false);
  std::shared_ptr<const Progress> state_at_rest();

  // Its progress is to be kept, and that was not tried yet.
  bool is_to_be_saved();
  // Nothing of it is in flight, from here on. A thread of Weft's asks the job for its progress and writes the file,
  // which may take long: is_at_work() meanwhile. For another variant, also where there is no file: when it is over,
  // take_state() has the state, see JobProgress::state(), or throws SetUpError, and the job may go on.
  enum class For : std::uint8_t { file, variant, rest };
  void begin_saving(const Reporter& reporter, For purpose);
  std::shared_ptr<const Progress> take_state();
  // For a rest, likewise. True: the job was asked within `limit`, and is asked no more.
  bool is_asking() const { return saving_ != nullptr; }
  // The job has yet to come back from that.
  bool is_being_asked() const noexcept;
  // It does, or has taken so long for it that nobody waits for it any more.
  void await_answer() noexcept;
  bool is_asked_within(const Reporter& reporter, Duration limit);
  // It was asked for its state and goes on all the same.
  void goes_on() { progress_.goes_on(); }
  // Its progress goes into the file, within `limit` or with a warning.
  void keep_progress(const Reporter& reporter, Duration limit);
  // Frees the job, its memory, and the stream where no other job has it. The record of that; nothing: it is not over
  // within `limit`, and happens when the driver lets it. Where there is no thread for it, all of it stays and exists.
  std::optional<MemoryRecord> take_down(Duration limit) noexcept;
  // The context goes, and with it what the job has there. No function of the job is called; the device memory, which is
  // the process's, is freed where no slice is in flight.
  void abandon(bool nothing_in_flight, Duration limit) noexcept;
  // Before abandon(), so that a thread at work touches nothing any more.
  void context_is_going() {
    if (work_) work_->context_is_going();
  }
  // Since it was asked last: it is in the file.
  bool progress_is_written();
  // Its units so far will not be done again: it has no progress, or that was written.
  bool units_are_kept() const { return (fill_ != nullptr && !fill_->job().keeps_progress()) || progress_.is_written(); }
  void let_progress_go() { progress_.let_go(); }
  // A thread that does not end works with it: it stays.
  void leave() noexcept;

 private:
  struct Making;
  struct Going;
  struct Saving;
  struct StateOfJob {
    std::shared_ptr<const Progress> progress;
    std::string fault;
  };
  // On the thread of Weft's.
  void make_here(Making& making);
  void discard() noexcept;                            // nothing of it is in flight
  bool has_progress_within(Duration limit) noexcept;  // no thread has it any more
  bool was_asked_within(Duration limit) noexcept;     // by the thread that has it, or that could not
  void take(DeviceFill& other) noexcept;
  void take_up_progress(const Making& making);
  void say_how_it_runs(const std::string& job, const Reporter& reporter) const;
  void check_stream(Marking& marking, const Reporter& reporter);

  CoreContext& core_;
  CUcontext context_ = nullptr;
  Gate gate_;
  std::shared_ptr<FillWork> work_;  // the last one
  bool given_up_ = false;           // it makes the job ready
  JobProgress progress_;
  std::shared_ptr<Saving> saving_;  // the last work is that, and has the progress
  StateOfJob state_;                // of the latest saving
  std::unique_ptr<PreparedFill> fill_;
};

}  // namespace weft
