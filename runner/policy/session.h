// Session: all decisions of one device. Events, times and the state of the fill stream go in; launches, records and the
// time of the next look come out. It is the detector, the planner, the budget and the accounts together.
//
// Pure: no clock, CUDA, thread, file or log, so the same object runs in the training process (stepped by the
// dispatcher thread), against a recording and in virtual time. One thread at a time. Times of one session never go
// back. Records leave through the sink, in the order of the calls that caused them.
//
//   observe(event)...   the events since the last step, in the order of their times; then, while wants_answers(), those
//                       of the streams that were asked
//   look(now, view)     once per step, after what has finished was reported by finished()
//   decide(now, view)   until it says no: then launched(), and ask again
//   next_look(now, ...)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "detector/detector.h"
#include "runner/options/fillable.h"
#include "runner/policy/accounts.h"
#include "runner/policy/bubble_lengths.h"
#include "runner/policy/bubble_room.h"
#include "runner/policy/budget.h"
#include "runner/policy/group_records.h"
#include "runner/policy/late_slices.h"
#include "runner/policy/planner.h"
#include "runner/policy/precision.h"
#include "runner/policy/spinning.h"
#include "runner/policy/watching.h"
#include "trace/record_sink.h"

namespace weft {

struct SessionOptions {
  std::int32_t device = 0;
  Duration poll{50'000};  // WEFT_POLL
  double spin = 0.05;     // WEFT_SPIN, see Spinning
  PlannerOptions planner{};
  double slowdown_budget = Budget::unlimited;
  bool fills = false;           // a fill job is ready; otherwise the session observes
  bool records_groups = false;  // each group becomes a record, with its operations
  bool dark = false;            // some iterations are not watched, to see what watching costs
  DetectorOptions detector{};
};

// The fill job and its stream as the executor sees them at this moment.
struct FillView {
  bool ready = false;  // one of the candidates may be launched
  Candidates candidates{};
  InFlight in_flight{};
  Fillable fillable = Fillable::any;
  // Nothing to compute is enqueued that no marker tells of. Only asked for with one hardware queue.
  bool nothing_enqueued = false;
  bool awaits_work = false;  // nothing is ready because there are no records to work on
  bool may_wait = true;      // one slice behind another one
};

// Everything else that decides when to look again.
struct Pending {
  bool wanted = false;       // somebody waits for an answer of the thread
  std::uint32_t slices = 0;  // in flight
  bool markers = false;      // a main-job stream has markers ahead of it
};

// How a session stands. Fixed size: may be copied while the main job runs.
struct Snapshot {
  enum class Filling : std::uint8_t { observes, fills, paused, ended };
  Filling filling = Filling::observes;
  double share = 1;  // of the bubbles that the slowdown budget lets be filled, the longest ones
  std::uint64_t iterations = 0, bubbles = 0, slices = 0, fill_units = 0;
  Duration idle{}, filled{};
  std::optional<Bubble> open;
};

class Session {
 public:
  // The sink outlives the session.
  Session(const SessionOptions& options, RecordSink& records);

  void observe(const Event& event);
  // From now on the times of what words and streams say may be wrong by so much.
  void looks_within(Duration uncertainty) { uncertainty_ = uncertainty; }
  // See Detector: the answers are observed as any other event.
  bool wants_answers() const { return detector_.wants_answers(); }
  std::optional<Answer> answer_of(StreamId stream) const { return detector_.answer_of(stream); }
  bool is_doubtful(StreamId stream) const { return detector_.is_doubtful(stream); }
  std::optional<std::uint64_t> marks_only() const { return detector_.marks_only(); }
  // Some groups that are not over may have no markers, because a dark iteration is under way or is just over.
  bool marks_are_missing() const { return since_dark_ < most_without_marks || detector_.is_dark() || marks_only(); }
  void looked(TimePoint time);
  // Of two looks without sleep in between, as next_look() wanted, the second one came late: another thread had the
  // core.
  void interrupted(TimePoint now) { spinning_.interrupted(now); }
  void to_ask(std::vector<StreamId>& streams) const { detector_.to_ask(streams); }
  void finished(const SliceRecord& slice);
  // A copy of fill memory has ended, which was launched as a slice is, or beside work.
  void moved(const MoveRecord& move);
  void look(TimePoint now, const FillView& view);

  // Whether the next slice is to be launched now. Refuses while a capture is open, during a pause, after the end of
  // filling, and what planner or budget refuse. The first refusal of a bubble that stays empty is counted.
  Decision decide(TimePoint now, const FillView& view);
  // The slice was launched in the open bubble, in a call that took so long.
  void launched(Duration took = {});

  // Whether a copy of fill memory of this length may run now, with no bubble open and nothing in flight
  // (WEFT_SLACK_COPIES): not in an iteration without fill, and only as long as all such copies take no more of the time
  // than half the slowdown budget, of which overruns have the other half.
  bool may_copy_beside_work(TimePoint now, const FillView& view, Duration alone) const;
  // It was launched. Its whole length is charged to the budget.
  void launched_beside_work(TimePoint now, Duration alone);

  TimePoint next_look(TimePoint now, const Pending& pending) const;

  // A fill job has ended. `others`: some go on, or may come; else end_filling() follows and says why.
  void job_ended(TimePoint now, std::uint32_t job, bool failed, std::string_view why, bool others);
  // Filling is over for the run; the first reason stays. Does nothing when it is over already.
  void end_filling(TimePoint now, std::string_view reason, Audience audience = Audience::every_rank);
  // A fill job has become ready, later than the session began.
  void begin_filling(TimePoint now, const JobRecord& job);
  // Filling was asked for and could not be set up.
  void no_filling(TimePoint now, std::string_view reason);
  // Worth knowing on each rank, and of no consequence for filling.
  void note(TimePoint now, std::string_view text);
  // Something is not as it should be: ends filling, or is recorded where there is none.
  void trouble(TimePoint now, std::string_view text, Audience where_nothing_is_filled);

  // Before the end of a session that has seen all there was to see: says so where operations go on.
  void note_work_under_way(TimePoint now);
  // Nothing more is observed: what is known of groups that were not seen to end is recorded.
  void end(TimePoint now);

  bool fills() const { return filling_; }
  bool filling_is_over() const { return !filling_ && (has_job_ || !trouble_.empty()); }
  bool bubble_is_open() const { return detector_.open_bubble().has_value(); }
  bool capture_is_open() const { return detector_.capture_is_open(); }
  SlotKey slot_of(GroupId group) const { return detector_.slot_of(group); }
  // A bubble is open whose iteration goes without fill, for comparison; or nobody looks whether one is.
  bool leaves_out() const;
  bool is_dark() const { return detector_.is_dark(); }
  // Whether one of these slices would be launched now if nothing were in flight.
  BubbleRoom room_for(TimePoint now, const Candidates& candidates) const;
  Snapshot snapshot() const;
  const BubbleLengths& bubble_lengths() const { return accounts_.bubble_lengths(); }
  // As of now: without medians, causes of uncertain time and what only the end tells.
  const TraceSummary& totals() const { return accounts_.totals(); }
  std::optional<StartupRecord> startup() const { return accounts_.startup(); }
  TraceSummary summary(std::uint64_t dropped_records) const;

 private:
  void take(const Finding& finding);
  void record_groups(TimePoint time);
  void spin(TimePoint now);
  TimePoint next_look_in_the_dark(TimePoint now) const;
  TimePoint earliest_end(const SliceRecord& slice) const;
  double credit_beside_work(TimePoint now, Duration alone) const;
  void learn(const SliceRecord& slice);
  void learn_overrun(const SliceRecord& slice);
  void learn_pause(TimePoint now);
  void learn_launching(Duration took);
  void learn_lateness(const SliceRecord& slice);
  void take_iteration(const Iteration& iteration);
  void watch(const Iteration& iteration);
  void count_unfilled(const Bubble& bubble);
  bool had_room(const Bubble& bubble) const;
  PlannerOptions planner_options(double price) const;
  void note_lack_of_work();
  bool may_launch() const;
  bool may_launch_in_one_queue(const FillView& view) const;
  Decision consider(TimePoint now, TimePoint seen, const std::optional<Bubble>& bubble, const InFlight& in_flight,
                    const Candidates& candidates) const;
  SlowdownRecord slowdown_record(const Budget::State& state) const;
  WatchingRecord watching_record() const;
  void record_anomaly(TimePoint time, std::string_view text, bool stops_filling, Audience audience);
  template <class What>
  void record(TimePoint time, const What& what) {
    const Record made(options_.device, time, what);
    accounts_.note(made);
    records_.push(made);
  }

  const SessionOptions options_;
  RecordSink& records_;
  Detector detector_;
  Budget budget_;
  Watching watching_;
  LateSlices late_;
  Accounts accounts_;
  GroupRecords groups_;
  bool has_job_;  // there is a fill job, whether it runs or not
  bool filling_;
  std::string trouble_;      // the first one; "": none
  Candidates candidates_{};  // that were last asked about
  Duration wanted_{};        // length of the slice that was decided on last; perhaps it is launched
  bool may_wait_ = true;     // a slice behind another one
  // See PlannerOptions, as it is here.
  struct {
    Duration asleep, spinning;  // between two looks
  } pause_;
  Duration launching_;
  Duration lateness_{}, surely_late_{};
  TimePoint last_end_{};                // of a slice
  std::uint64_t last_filled_ = 0;       // the latest bubble in which a slice was launched
  std::uint64_t last_refused_ = 0;      // the latest bubble that was refused one
  Unfilled refusal_ = Unfilled::other;  // why, the first time
  std::uint64_t last_iteration_ = 0;
  static constexpr std::uint32_t most_without_marks = 2;  // iterations that end after the latest dark one
  std::uint32_t since_dark_ = most_without_marks;
  bool was_dark_ = false;  // an iteration of the present run without fill
  bool said_held_ = false;
  std::optional<TimePoint> again_;
  TimePoint last_decision_{};
  TimePoint looked_{}, looked_before_{};
  Spinning spinning_;
  bool spins_ = false;  // since the present look
  struct {
    std::uint64_t bubble = 0;  // the latest one with fill work that is over; 0: none is
    TimePoint until{};         // its end, or that of the latest slice that has outlasted it
  } filled_closed_;
  struct {
    TimePoint since{};  // the latest
    double credit = 0;  // that was left then, in seconds of copies
  } beside_work_;
  Duration uncertainty_{};  // of what is seen at the present look
  Precision precision_;
  Duration opened_within_{};  // of the bubble that is open
};

}  // namespace weft
