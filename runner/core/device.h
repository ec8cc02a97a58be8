// One device of the process: what was set up for it when its first communicator was opened, and the way back.
//
// All functions are called on threads of the main job, inside the core's services, one at a time per device. The
// dispatcher thread works in between; it knows the parts that it works with, never the device. Whatever cannot be
// waited for within a bound is left allocated, never freed: those parts then outlive the device.
#pragma once

#include <cuda.h>

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/core/core_context.h"
#include "runner/core/device_jobs.h"
#include "runner/core/device_setup.h"
#include "runner/core/dispatcher.h"
#include "runner/core/quiet_wish.h"
#include "runner/core/rests.h"
#include "runner/core/scopes.h"
#include "runner/feed/queue_places.h"
#include "runner/recording/recording.h"
#include "trace/write/writer.h"

namespace weft {

// How long a thread of the main job may be held up by set-up: not at all by a job that takes longer to be made ready
// than longest_hold, by what its trial has shown; or by any, where a communicator is being opened.
enum class Hold : std::uint8_t { bounded, any };

class Device {
 public:
  Device(CoreContext& core, int ordinal) : core_(core), ordinal_(ordinal), jobs_(core) {}
  ~Device() { let_go(); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // The first communicator of the device: sets everything up and starts the thread; without `may_fill` observes only.
  // Throws SetUpError when not even observing is possible.
  void open(const CommunicatorInfo& first, bool may_fill);
  void communicator_opened(const CommunicatorInfo& communicator);
  // Nothing may be pending: makes the fill jobs ready whose trial was over too late.
  void quiet_moment(Hold hold);
  // A trial may have ended because the main job lacks memory: says that the job is not run.
  void trial_gave_way();
  // True: it was the last one, and the device is finished with.
  bool communicator_closing(CommunicatorId communicator);
  // Gives the device memory of the fill job back and ends filling. No work of the main job is waited for, because it
  // may need this very thread to go on: neither a group that NCCL is about to launch nor one that has not ended. Where
  // the driver waits for such work, the memory comes back after it. A job that is being asked for its progress says it
  // before that, and is waited for however long `limit` is, unless it is 0. True: the memory is back, since the last
  // call or within `limit`.
  bool give_memory_back(const char* reason, Duration limit);
  // The main job has allocated. Bytes that it may take before this is asked again; 0: the memory is given back, and the
  // fill jobs rest. Next to a pending group the memory stays until a later call, a quiet moment, or until an allocation
  // fails.
  std::uint64_t keep_head_room();
  bool holds_memory() const { return jobs_.held_memory() != 0; }
  bool is_being_answered() const { return jobs_.are_being_asked(); }  // by a job that says its progress
  // After the last communicator: what could not be freed next to work that had not ended is still there.
  bool holds_fill() const { return jobs_.exist() || jobs_.are_at_work(); }
  // Frees it, if that work ends within `limit`.
  void release_left_over(Duration limit);
  // The context is about to go.
  void context_closing();
  // See DeviceFill::abandon().
  void abandon_fill() noexcept;

 private:
  static constexpr Duration close_limit = std::chrono::seconds(2);
  static constexpr Duration answer_limit = std::chrono::milliseconds(10);  // of a dispatcher with nothing in flight
  static constexpr const char* still_made =
      "another fill job, which was not ready in time, is still at work on what all of them share";

  // Has the fill jobs tried, loads them, takes up their progress. Whatever is against filling leaves a device that
  // observes.
  void prepare_fill(bool may_fill);
  void prepare_job(DeviceJob& job);
  void make_job(DeviceJob& job, const TrialVerdict& verdict, const FillWork::GiveUp& give_up = {});
  void cannot_fill(const std::string& reason);
  void refuse(DeviceJob& job, const std::string& reason);
  void add_job(DeviceJob& job, Duration held = {});  // that the training stood for it while it ran
  void note_preparation();
  void not_again();  // it was made ready too often for its price
  void say_unheeded() const;
  RecordText fill_stream() const;
  // In device_late.cpp.
  bool has_ended(const DeviceJob& job) const;
  bool never_fits(const DeviceJob& job) const;
  void begin_next_trial();
  // In device_queue.cpp.
  void prepare_jobs_of_queue();
  void open_queue();  // throws SetUpError
  void ask_queue(DeviceJob& job);
  bool take_from_queue(DeviceJob& job);
  void look_at_queue();
  void look_at_place(DeviceJob& job);
  void fill_place(DeviceJob& job);
  void look_at_running(DeviceJob& job);
  void note_units_of_queue();
  void note_end_of_queued(DeviceJob& job);
  void drain_queue();
  bool may_stand_for_queue(Duration expected) const;
  void note_stand_for_queue(const DeviceJob& job, Duration stood);
  void withdraw_for_queue(DeviceJob& job);
  void return_to_queue(DeviceJob& job, JobEnd end, const std::string& why);
  void leave_queue(const char* why) noexcept;
  bool begins_trial(DeviceJob& job);
  void release_ended_jobs();
  void release(DeviceJob& job, const Gate& gate);
  Gate shut_gate();
  void refuse_awaited(const std::string& why);
  void begin_late(DeviceJob& job, const TrialVerdict& verdict);
  void not_late(DeviceJob& job, const std::string& reason);
  bool nothing_is_pending();
  bool none_runs() const;
  // In device_variants.cpp.
  std::uint64_t memory_for(const DeviceJob& job) const;
  bool chooses_variant(DeviceJob& job);  // throws SetUpError
  // The one in its turn could not be made ready. True: another one may be.
  bool has_another_variant(DeviceJob& job, const std::exception& fault);
  bool awaits_another_variant(DeviceJob& job, const std::exception& fault);
  void leave_trial_of(DeviceJob& job);
  void change_variants();
  // In device_progress.cpp.
  void keep_progress();
  bool is_to_keep(const DeviceJob& job) const;
  void go_on_keeping(DeviceJob& job);
  void give_up_keeping(DeviceJob& job);
  bool variant_is_to_change(DeviceJob& job);
  void hand_over(DeviceJob& job);
  void withdraw(DeviceJob& job);
  void await_turn_again(DeviceJob& job, const std::string& why);
  // In device_rest.cpp.
  void rest(Duration limit);
  bool rests_within(Duration limit);
  void say_that_memory_stays();
  void go_on_resting();
  bool rests() const;
  void suspend_all();
  void withdraw_all();
  std::string withdraw_for_rest(DeviceJob& job, const std::string& why);
  bool runs(const DeviceJob& job) const;
  bool rest_allows(DeviceJob& job);
  bool one_goes_on_soon();
  // Beside what stays free for the training after these.
  bool memory_is_there(const Rests& after, std::uint64_t bytes) const;
  void note_lack(DeviceJob& job);
  bool waits_for_communicator(DeviceJob& job, const TrialVerdict& verdict);
  bool rests_on(DeviceJob& job, const std::exception& fault);
  void take_state_at_rest(DeviceJob& job);
  std::string why_memory_goes() const;
  std::string why_not_again(const DeviceJob& job) const;

  // In device_moves.cpp.
  std::uint64_t let_marked_leave(std::uint64_t free);
  void begin_leaving(DeviceJob& job);
  void move_marked();
  void move_on(DeviceJob& job);
  void stays_here(DeviceJob& job);
  void give_marked_back(DeviceJob& job);
  void note_away(DeviceJob& job);
  void fetch_marked(DeviceJob& job);
  void look_at_fetched(DeviceJob& job);
  void say_what_is_away() const;
  bool in_stillness(const std::function<bool()>& step);

  std::string caution() const;
  void open_trace();
  void prepare_call_sites();
  void open_recording();
  void begin_validation();
  void start_dispatcher();  // from its end on hooks enqueue markers
  // open() has failed: frees what it has made so far.
  void give_up() noexcept;
  // Frees what is still there, or leaves it where the thread still works with it.
  void let_go() noexcept;
  // After the last communicator: ends the thread, frees what can be freed without waiting for long, writes the summary.
  void finish();
  void release_fill();
  // No stream of the device has work left, ours included.
  bool streams_are_idle() const;
  bool no_group_is_pending();
  // Pauses the dispatcher; true: no slice is in flight.
  bool nothing_in_flight(Duration limit);
  void note_given_back();
  // `stopped`: the thread has ended, so its totals can be read. `none_ran`: any more, at the end.
  void close_trace(bool stopped, bool none_ran);
  void record(const MemoryRecord& memory);
  void record_communicator(const CommunicatorInfo& communicator, CommunicatorEvent event);
  void say_hello() const;  // the start line, on rank 0

  CoreContext& core_;
  const int ordinal_;
  DeviceSetup setup_;
  std::unique_ptr<Reporter> reporter_;
  std::map<CommunicatorId, CommunicatorInfo> communicators_;
  std::string directory_;    // of the trace
  std::string directories_;  // of the traces of all ranks, a shell pattern where they differ
  TraceHeader header_{};
  std::string set_up_failure_;      // why there is no filling although it was asked for
  std::vector<JobRecord> refused_;  // before there was a dispatcher
  std::string why_refused_;         // the first of them
  std::string why_no_queue_;        // although there is one
  bool job_was_ready_ = false;
  bool preparation_noted_ = false;
  Duration making_{};              // that it took to make jobs ready, since a thread of the main job waits for it
  TimePoint next_quiet_moment_{};  // none is tried before
  std::optional<TimePoint> short_since_;  // the training has had less than WEFT_HEADROOM
  Rests absences_;                        // of marked memory
  TimePoint next_turn_{};                 // likewise, for a trial
  std::unique_ptr<QueuePlaces> queue_;    // nullptr: there is none, or nothing is filled any more
  QuietWish queue_wish_{core_};
  Rests rests_;
  QuietWish rest_wish_{core_};  // memory has yet to go back to the training
  GivingBack giving_back_;      // then
  bool queue_drains_ = false, lack_was_said_ = false;
  Duration queue_preparation_{};  // the longest of a job of the queue so far
  // The thread works with reporter, jobs, filler, trace and recording.
  DeviceJobs jobs_;
  std::unique_ptr<Filler> filler_;    // nullptr: observes only
  std::unique_ptr<CallSites> sites_;  // nullptr: none are wanted
  std::unique_ptr<TraceWriter> trace_;
  std::unique_ptr<Recording> recording_;  // WEFT_RECORD
  std::unique_ptr<Dispatcher> dispatcher_;
};

}  // namespace weft
