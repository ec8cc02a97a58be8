// The fill stream of one device: which jobs there are, which slices are in flight, and whether all is well.
//
// Made on a thread of the main job at a quiet time, then used by the dispatcher thread only. In a bubble it launches,
// enqueues the write of a word, and reads that word; nothing else. A job that fails or has done its work ends alone.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "detector/time.h"
#include "runner/core/driver.h"
#include "runner/fill/fill_job.h"
#include "runner/fill/fill_lane.h"
#include "runner/fill/mover.h"
#include "runner/fill/unit.h"
#include "runner/options/fillable.h"
#include "runner/policy/bubble_room.h"
#include "runner/policy/job_offers.h"
#include "runner/policy/session.h"
#include "trace/record.h"

namespace weft {

// Where slices are launched. `fillable`: any, or one of those of one hardware queue; then with an event. `kind`: in a
// stream above those of the training there is one slice in flight, because a second one would go first.
struct FillTrack {
  CUstream stream = nullptr;
  DoneMark done{};
  Fillable fillable = Fillable::any;
  FillStream kind = FillStream::plain;
};

// A job that is ready. Its pointers stay good until it has ended, and nothing of it is in flight.
struct ReadyJob {
  std::uint32_t number = 0;  // in the list of the user, see JobRecord
  std::string name;
  FillJob* job = nullptr;
  const Unit* unit = nullptr;
  JobTerms terms{};
  FillTrack track{};             // of all jobs
  RoomWish wish{};               // what is to be found out for its variants
  Feed* feed = nullptr;          // nullptr: it reads no records
  const Mover* mover = nullptr;  // nullptr: none of its memory moves
  bool is_another = false;       // than the one that had this number before: it has done no units
};

// A job from which nothing is launched any more.
struct EndedJob {
  std::uint32_t number = 0;
  bool failed = false;      // else it has done its units
  bool is_passing = false;  // then: for a reason that is not its own
  std::string why;          // a part of a sentence, with the job's name
};

class Filler {
 public:
  static constexpr std::uint32_t most_in_flight = 2;

  Filler(const Driver& driver, JobPolicy policy) : driver_(driver), offers_(policy) {}

  // The most_jobs-th is the last that there is room for. Another variant of a job has the number of the one that was
  // withdrawn, and goes on with its units; by its own numbers it begins at 0.
  void add(const ReadyJob& job);
  // Nothing of it is launched before resume(): it may be asked for its state.
  void suspend(std::uint32_t number) { offers_.suspend(place_of(number)); }
  // Likewise, where no unit of it has begun; or it has ended. False: one has.
  bool suspend_between_units(std::uint32_t number);
  void resume(std::uint32_t number) { offers_.resume(place_of(number)); }
  // Nothing of it is launched any more, for another variant of it may come. Nothing of it is in flight.
  void withdraw(std::uint32_t number);
  // Its marked memory leaves the device or comes back, in copies that are launched as slices are; then it is away, or
  // the next unit may begin. False: a unit has begun. Has no effect on a job that has ended.
  bool begin_move(std::uint32_t number, MoveWay way);
  // All of it is on the host, and nothing of it is in flight.
  bool is_away(std::uint32_t number) const { return offers_.is_away(place_of(number)); }
  // At a look into an open bubble: asks whether it has room for the jobs that want to know.
  using Room = std::function<BubbleRoom(const Candidates& candidates)>;
  void watch_room(const Room& room);
  // By its place among the jobs; nothing is found of one that has ended.
  std::uint32_t jobs() const { return jobs_count_; }
  std::uint32_t number_of(std::uint32_t place) const { return jobs_[place].ready.number; }
  const RoomWatch& watch(std::uint32_t place) const { return jobs_[place].watch; }
  Fillable fillable() const { return track_.fillable; }

  // Appends the slices that have finished; ends a unit when its last one has.
  void reap(TimePoint now, std::vector<SliceRecord>& finished);
  // Copies of memory that were among those, since the last call.
  std::vector<MoveRecord> take_moved() { return std::exchange(moved_, {}); }

  // The slices that may be launched next, as a row of offers, see JobOffers: at least one, which may be of nothing.
  std::size_t make_offers();
  FillView offer(std::size_t number) const;
  // The next copy of memory that moves, of any job; nothing: none is to come.
  std::optional<Choice> next_move() const;
  Duration alone(const Choice& choice) const { return offers_.alone(choice); }
  Choice choice(std::size_t offer, std::uint32_t candidate) const { return offers_.choice(offer, candidate); }
  FillView view() const;  // without candidates

  // The slice is the first of its unit, which has not begun. begin_unit() may take a millisecond of the job's time:
  // what was decided before it no longer holds.
  bool unit_has_to_begin(const Choice& choice) const {
    return !jobs_[choice.job].unit_begun && !offers_.moves(choice.job);
  }
  void begin_unit(const Choice& choice);
  // Launches a slice of a unit that has begun, or a copy. `bubble`: 0 where none is open. False: it is not in flight,
  // see failure().
  bool launch(TimePoint now, std::uint64_t bubble, const Choice& choice);

  InFlight in_flight() const;
  // Nothing will be launched any more: records that are not done may go to others. Jobs may be released after that.
  void close_feeds();
  // Jobs that have ended since the last call.
  std::vector<EndedJob> take_ended();
  bool all_jobs_ended() const { return offers_.all_ended(); }
  // Empty while all is well on the GPU. After a failure nothing is launched any more.
  const std::string& failure() const { return failure_; }
  bool context_gone() const { return context_gone_; }  // the failure is only that the process is ending

 private:
  struct Job {
    ReadyJob ready{};
    bool unit_begun = false;
    bool feed_is_closed = false;
    MoveWay way = MoveWay::to_host;  // that its marked memory goes, or went last
    std::uint32_t slot = 0;          // of the feed, that the unit works on
    std::uint64_t units_before = 0;  // of other variants: each numbers its own from 0
    RoomWatch watch{};
  };
  struct Launched : LaunchedSlice {
    std::uint32_t number = 0;  // what the done word will say
    TimePoint starts{};        // estimate
  };

  std::uint32_t place_of(std::uint32_t number) const;
  bool may_wait() const { return track_.fillable == Fillable::any && track_.kind != FillStream::above; }
  bool may_launch() const;
  bool first_is_done();
  CUresult mark_end(std::uint32_t number) const;
  void finish_first(TimePoint now, std::vector<SliceRecord>& finished);
  void end_copy(const Launched& copy, const SliceRecord& record);
  CUresult enqueue(const Job& job, const Choice& choice) const;
  void end_pass(std::uint32_t job, SliceRecord& record);
  void end_unit(std::uint32_t job, SliceRecord& record);
  void look_at_feeds();
  void note_end(std::uint32_t job, bool failed, const std::string& why);
  void fail(CUresult result, const char* what);

  const Driver& driver_;
  JobOffers offers_;
  std::size_t offers_made_ = 0;
  FillTrack track_{};
  std::array<Job, most_jobs> jobs_{};
  std::uint32_t jobs_count_ = 0;
  std::array<Launched, most_in_flight> launched_{};
  std::uint32_t count_ = 0;
  std::uint32_t last_number_ = 0;
  TimePoint reaped_{};  // the latest look
  std::vector<EndedJob> ended_;
  std::vector<MoveRecord> moved_;
  std::string failure_;
  bool context_gone_ = false;
};

}  // namespace weft
