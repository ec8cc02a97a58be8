// One device of the process: what was set up for it when its first communicator was opened, and the way back.
//
// All functions are called on threads of the main job, inside the core's services, one at a time per device. The
// dispatcher thread works in between; it knows the parts that it works with, never the device. Whatever cannot be
// waited for within a bound is left allocated, never freed: those parts then outlive the device.
#pragma once

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runner/core/dispatcher.h"
#include "runner/core/driver.h"
#include "runner/core/event_router.h"
#include "runner/core/trials.h"
#include "runner/fill/filler.h"
#include "runner/fill/prepared_fill.h"
#include "runner/options/options.h"
#include "runner/options/variables.h"
#include "shim/seam/core_interface.h"
#include "trace/write/writer.h"

namespace weft {

// How long a failed allocation of the main job may wait for the memory of the reservation: far longer than a bubble,
// and short for a job that is about to get an out-of-memory error.
inline constexpr Duration rescue_limit = std::chrono::seconds(1);

// Shared by all devices of the process. Made once, never destroyed.
struct CoreContext {
  CoreContext(const ShimServices& services, const Options& parsed, std::string fill_probe)
      : shim(services), options(parsed), router(*shim.ring), trials(std::move(fill_probe)) {}

  ShimServices shim;
  Options options;
  Driver driver;
  EventRouter router;
  Variables variables;                       // the environment as it was at the start
  std::vector<std::string> option_warnings;  // to be said by whoever is rank 0
  std::atomic<int> first_device{-1};         // that a communicator was opened on
  std::mutex words_mutex;
  std::map<int, MarkerWords>
      words;      // per device; mapped for ever, as hooks and threads may look; device: 0 without context
  Trials trials;  // of the fill job
  std::atomic<int> waiting_trials{0};  // devices whose fill job may still become ready
  // A thread of the core has failed. Memory is given back first and the hooks become pass-throughs after that.
  void (*note_failure)() = nullptr;
};

// How long a thread of the main job may be held up by set-up: not at all by a job that takes longer to be made ready
// than longest_hold, by what its trial has shown; or by any, where a communicator is being opened.
enum class Hold : std::uint8_t { bounded, any };
inline constexpr Duration longest_hold = std::chrono::seconds(10);

class Device {
 public:
  Device(CoreContext& core, int ordinal) : core_(core), ordinal_(ordinal) {}
  ~Device() { let_go(); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // The first communicator of the device: sets everything up and starts the thread; without `may_fill` observes only.
  // Throws SetUpError when not even observing is possible.
  void open(const CommunicatorInfo& first, bool may_fill);
  void communicator_opened(const CommunicatorInfo& communicator);
  // Nothing may be pending: makes the fill job ready whose trial was over too late, if so.
  void quiet_moment(Hold hold);
  // Its trial may have ended because the main job lacks memory: says that nothing is filled.
  void trial_gave_way();
  // True: it was the last one, and the device is finished with.
  bool communicator_closing(CommunicatorId communicator);
  // Gives the device memory of the fill job back and ends filling. No work of the main job is waited for, because it
  // may need this very thread to go on: neither a group that NCCL is about to launch nor one that has not ended. Where
  // the driver waits for such work, the memory comes back after it. True: the memory is back, since the last call or
  // within `limit`.
  enum class Beside : std::uint8_t { anything, no_group };  // `no_group`: only where none is pending
  bool give_memory_back(const char* reason, Duration limit, Beside beside = Beside::anything);
  // The main job has allocated. Bytes that it may take before this is asked again; 0: the memory is given back. Next to
  // a pending group filling ends, and the memory stays until a later call, or until an allocation fails.
  std::uint64_t keep_head_room();
  bool holds_memory() const { return held_memory() != 0; }
  std::uint64_t held_memory() const { return fill_ ? fill_->reservation().reserved() : 0; }
  // After the last communicator: what could not be freed next to work that had not ended is still there.
  bool holds_fill() const { return fill_ != nullptr; }
  // Frees it, if that work ends within `limit`.
  void release_left_over(Duration limit);
  // The context is about to go.
  void context_closing();
  // With it goes what the fill job has there: no function of the job is called, and only its device memory is freed,
  // where no slice is in flight.
  void abandon_fill() noexcept;

 private:
  void choose_context();
  void choose_rank(const CommunicatorInfo& first);
  void prepare_words();  // that markers are written into
  // Has the fill job tried, loads it, takes up its progress. Whatever is against filling leaves a device that observes.
  void prepare_fill(bool may_fill);
  FillSettings fill_settings() const;  // throws SetUpError where the device or its environment is against filling
  // True: the job is sound. False: nobody knows yet. Throws SetUpError where it is not.
  bool is_tried(const FillSettings& settings);
  void leave_trial();
  void no_late_filling(const std::string& reason);
  void begin_late(const TrialVerdict& verdict);
  bool nothing_is_pending();
  std::string why_never_filled() const;  // although the job was tried
  void make_fill();                      // with settings of this moment: waiting for the trial took its time
  // Throws SetUpError where the reservation would leave less than the head-room.
  void check_head_room() const;
  void open_trace();
  void start_dispatcher();  // from its end on hooks enqueue markers
  // open() has failed: frees what it has made so far.
  void give_up() noexcept;
  // Frees what is still there, or leaves it for ever where the thread works with it.
  void let_go() noexcept;
  // After the last communicator: ends the thread, frees what can be freed without waiting for long, writes the summary.
  void finish();
  // No stream of the device has work left, ours included.
  bool streams_are_idle() const;
  // Pauses the dispatcher; true: no slice is in flight.
  bool no_group_is_pending();
  bool nothing_in_flight(Duration limit);
  void note_given_back();
  void close_trace(bool stopped);  // `stopped`: the thread has ended, so its totals can be read
  void record_memory(MemoryEvent event);
  void record_communicator(const CommunicatorInfo& communicator, CommunicatorEvent event);
  // The fill job's progress: from its file into the job; out of the job; out of the job and into the file.
  void take_up_progress();
  void save_progress() noexcept;
  void keep_progress();
  void release_fill();     // keeps the progress, then frees the job, its stream and its memory
  void say_hello() const;  // the start line, on rank 0
  void warn_of_set_up(const std::string& text) const;
  bool is_unmarked() const { return *idle_unknown_ != '\0'; }
  std::string label() const { return "rank " + std::to_string(rank_); }

  CoreContext& core_;
  const int ordinal_;
  CUcontext context_ = nullptr;
  std::int32_t rank_ = 0, ranks_ = 0;
  std::uint32_t multiprocessors_ = 0;
  bool is_further_device_ = false;  // another one of the process was there first
  std::string directory_;           // of the trace
  std::string directories_;         // of the traces of all ranks, a shell pattern where they differ
  TraceHeader header_{};
  const char* idle_unknown_ = "";  // why nothing may be enqueued on the main job's streams; "": it may
  std::map<CommunicatorId, CommunicatorInfo> communicators_;
  std::string set_up_failure_;          // why there is no filling although it was asked for
  std::shared_ptr<SharedTrial> trial_;  // whose verdict is not used yet
  TimePoint next_quiet_moment_{};       // none is tried before
  bool waits_for_trial_ = false;        // it was not there in time
  void* done_word_ = nullptr;
  std::string progress_path_;             // "": none is kept
  std::unique_ptr<ProgressClaim> claim_;  // on that path
  bool progress_asked_ = false;           // its memory may be gone since
  bool giving_back_ = false;              // the memory is on its way to the main job, and nobody was told yet
  std::optional<Progress> progress_;      // of the fill job, since nothing of it runs any more

  std::unique_ptr<PreparedFill> fill_;
  std::unique_ptr<Filler> filler_;
  std::unique_ptr<TraceWriter> trace_;
  std::unique_ptr<Dispatcher> dispatcher_;
};

}  // namespace weft
