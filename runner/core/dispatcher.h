// The thread of a device: gathers what has happened, asks the Session, and does what it says. It decides nothing.
//
// Made, started, paused and stopped by threads of the main job inside the core's services (see worker.h). In a bubble
// the thread launches, enqueues, records and reads memory, no more.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "runner/core/bubble_board.h"
#include "runner/core/driver.h"
#include "runner/core/event_source.h"
#include "runner/core/host_watch.h"
#include "runner/core/inbox.h"
#include "runner/core/questions.h"
#include "runner/core/reporter.h"
#include "runner/core/room_board.h"
#include "runner/core/worker.h"
#include "runner/fill/filler.h"
#include "runner/policy/live_accounts.h"
#include "runner/recording/recorded_session.h"
#include "runner/sites/call_sites.h"

namespace weft {

struct DispatcherOptions {
  SessionOptions session;
  std::uint32_t queues = 8;   // hardware queues of the device
  bool slack_copies = false;  // WEFT_SLACK_COPIES
  bool live = false;          // WEFT_LIVE, and there is a trace: its writer shows the page of this rank
};

// The parts of a dispatcher; everything outlives its thread.
struct DispatcherParts {
  const ShimServices* shim = nullptr;
  EventRouter* router = nullptr;
  const Driver* driver = nullptr;
  const Reporter* reporter = nullptr;
  TraceWriter* trace = nullptr;   // nullptr: no trace could be opened
  CallSink* recording = nullptr;  // nullptr: none is wanted, or it could not be opened
  Filler* filler = nullptr;       // nullptr: observe only; may be without a job
  CallSites* sites = nullptr;     // nullptr: none are wanted
  CUcontext context = nullptr;
  MarkerWords words{};
  void (*note_failure)() = nullptr;  // the thread has failed
};

class Dispatcher final : public Worker {
 public:
  Dispatcher(const DispatcherParts& parts, const DispatcherOptions& options);

  // Ends filling for the run, says why once, writes it into the trace. Any thread of the core.
  void stop_filling(const std::string& reason) { inbox_.end_filling(reason); }
  // A fill job has become ready, or none will. Any thread of the core.
  void add_job(const ReadyJob& job, const JobRecord& record);
  // Nothing of a job is launched until it is resumed or withdrawn: see is_suspended().
  void suspend_job(std::uint32_t job) { inbox_.hand_over(job, Inbox::Step::suspend); }
  // Likewise, at the end of its unit: it may be asked for its state, and go on.
  void pause_job(std::uint32_t job) { inbox_.hand_over(job, Inbox::Step::pause); }
  void resume_job(std::uint32_t job);
  // Ends a suspended job, for another variant of it may be added: see has_ended(). One is expected then.
  void withdraw_job(std::uint32_t job);
  // At the end of its unit the marked memory of a job is copied to the host, or back: see is_away(). The memory itself
  // is there from before the call until after that.
  void move_job(std::uint32_t job, MoveWay way);
  // So many more may become ready.
  void expect_jobs(int count) { inbox_.expect_jobs(count); }
  void no_filling(const std::string& reason) { inbox_.no_filling(reason); }
  // It was, and will not be again. Any thread.
  bool filling_is_over() const { return filling_is_over_.load(std::memory_order_relaxed); }
  // groups_pending() may be too few: some have no markers. Any thread.
  bool groups_may_be_unmarked() const { return groups_may_be_unmarked_.load(std::memory_order_acquire); }
  // Nothing of that job is launched any more, and nothing of it is in flight. Any thread.
  bool has_ended(std::uint32_t job) const { return (ended_jobs_.load(std::memory_order_acquire) >> job & 1U) != 0; }
  // Of one that has ended by itself, since the last job of that number was added. Any thread.
  EndedJob how_ended(std::uint32_t job) const;
  // Any thread.
  const BubbleBoard& board() const { return board_; }
  // Nothing of that job is launched for now, and nothing of it is in flight. Any thread.
  bool is_suspended(std::uint32_t job) const {
    return (suspended_jobs_.load(std::memory_order_acquire) >> job & 1U) != 0;
  }
  // Its marked memory is on the host, nothing of it is in flight, and nothing is launched before it has moved back. Any
  // thread.
  bool is_away(std::uint32_t job) const { return (away_jobs_.load(std::memory_order_acquire) >> job & 1U) != 0; }
  // Whether bubbles have room for the variants of a job, and the slice for which they have none. Any thread.
  RoomFound room_found(std::uint32_t job) const { return rooms_[job].get(); }
  // Hands a record to the thread, which is the only one that may push it while it runs. Any thread.
  void submit(const Record& record);
  // Before start() or after the end: filling was asked for and cannot be; goes into trace and summary.
  void note_set_up_failure(const std::string& text);
  // After the thread has ended, or before it has started. Records what is left to be recorded.
  TraceSummary summary();

 private:
  void prepare() override;
  Work step(TimePoint begin) override;
  TimePoint next_look(TimePoint now, bool wanted) override;
  Work fail() noexcept override;

  void watch_host(const std::vector<Event>& events);
  void look_at_clocks(TimePoint now);
  void record_clocks();
  void look_at_limits(TimePoint now);
  void write_board(TimePoint now);
  void show_page(TimePoint now);
  void show(TimePoint now, const TraceSummary& totals, const std::optional<StartupRecord>& startup,
            std::uint64_t dropped_records);
  void look_at_queues(const std::vector<Event>& events);
  void look_at_call_sites(TimePoint now, const std::vector<Event>& events);
  void record_call_sites();
  void look_at_annotations(TimePoint now);
  void look_for_lost_annotations(TimePoint now);
  void withhold_markers();
  void take_inbox(TimePoint now);
  void fill(TimePoint now);
  bool may_launch() const;
  struct Wanted {
    Decision decision{};
    Choice choice{};  // where it is to launch
  };
  Wanted ask(TimePoint time);
  bool launch(TimePoint time, const Wanted& wanted);
  void end_jobs(TimePoint now);
  void take_handover(const Inbox::Handover& handover);
  void suspend_jobs();
  void pause_jobs();
  void move_jobs();
  void note_moved();
  void copy_beside_work();
  void watch_room(TimePoint time);
  FillView view_of_offer(std::size_t number) const;
  std::uint32_t slices_in_flight() const;

  const DispatcherParts parts_;
  const DispatcherOptions options_;
  LiveAccounts live_;
  LiveNumbers live_numbers_;  // of the page; all of them are new at each show()
  ReportedTrace records_;
  EventSource source_;
  Questions questions_;
  HostWatch host_;
  RecordedSession session_;
  Inbox inbox_;
  Filler* filler_;
  std::vector<SliceRecord> slices_;
  TimePoint next_clocks_{};
  bool table_was_full_ = false;
  bool lost_events_ = false;
  bool queues_are_shared_ = false;
  bool annotation_was_refused_ = false;
  bool looks_again_ = false;              // at once, because a call of this look took long
  std::optional<TimePoint> spins_since_;  // the end of the look before, where no sleep followed it
  bool failed_ = false;
  EndedJob last_ended_;
  mutable std::mutex ended_mutex_;
  std::array<EndedJob, most_jobs> how_ended_;  // guarded by ended_mutex_
  BubbleBoard board_;
  TimePoint next_board_{}, next_page_{};
  std::atomic<std::uint32_t> ended_jobs_{0}, suspended_jobs_{0}, away_jobs_{0};  // a bit for each
  std::vector<std::uint32_t> to_suspend_;                                        // when nothing is in flight
  std::vector<std::uint32_t> to_pause_;                                          // at the end of a unit
  std::vector<Inbox::Handover> to_move_;                                         // likewise
  std::array<RoomBoard, most_jobs> rooms_{};
  std::atomic<bool> filling_is_over_{false};
  std::optional<std::uint64_t> marks_only_;  // as the shim was told
  std::atomic<bool> groups_may_be_unmarked_{false};
};

}  // namespace weft
