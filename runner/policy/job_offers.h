// The fill jobs of a device as rows of slices: how far each has got in its unit, and what may be launched next.
//
// Used by the filler on the dispatcher thread, and by the model of one in virtual time. Pure; no allocation but in
// add(). It knows lengths and numbers, no graph and no time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runner/policy/job_order.h"
#include "runner/policy/planner.h"

namespace weft {

// Which slice of which job.
struct Choice {
  std::uint32_t job = 0;    // in the order in which they were added
  std::uint32_t slice = 0;  // of the cuts of its unit
};

// A slice's place in the work of its job.
struct SlicePlace {
  std::uint64_t unit = 0;
  std::uint32_t in_unit = 0;  // slices of the unit before this one
  bool ends_unit = false;
  bool ends_pass = false;  // of a unit whose work may be run again: what comes next is not known before its end
};

// A slice in flight.
struct LaunchedSlice {
  Choice choice{};
  SlicePlace place{};
  std::uint64_t bubble = 0;
  TimePoint launched{};
};

class JobOffers {
 public:
  explicit JobOffers(JobPolicy policy) : policy_(policy) {}

  // `alone`: of each slice of the cuts, on the idle GPU. The cuts outlive this. At most most_jobs.
  void add(const Cuts& cuts, std::vector<Duration> alone, const JobTerms& terms);
  // Another variant of a job that was ended for that: it goes on with the units that it has done.
  void replace(std::uint32_t job, const Cuts& cuts, std::vector<Duration> alone);

  // Another job in the place of one that has ended.
  void renew(std::uint32_t job, const Cuts& cuts, std::vector<Duration> alone, const JobTerms& terms);

  // One or more rows of candidates, each of one job or of all: to be asked about in this order until one is taken.
  // None: nothing is ready.
  std::size_t make();
  const Candidates& candidates(std::size_t offer) const { return offers_[offer].candidates; }
  Choice choice(std::size_t offer, std::uint32_t candidate) const { return offers_[offer].choices[candidate]; }

  // The slices of that job alone that may come next; none: it has ended, or all of its unit or pass was launched.
  Candidates next_of(std::uint32_t job) const;

  // Likewise of a move, whose memory may be copied now.
  std::optional<std::uint32_t> next_of_move(std::uint32_t job) const;

  Duration alone(const Choice& choice) const { return jobs_[choice.job].alone[choice.slice]; }
  std::uint64_t unit(std::uint32_t job) const { return jobs_[job].standing.done; }  // that is, or will be, at work
  // The slice was launched, whose unit has begun.
  LaunchedSlice launched(const Choice& choice, std::uint64_t bubble, TimePoint now);
  // It has ended. With its last slice the unit ends: see unit_ended(). The record has the number of the job here.
  SliceRecord finished(const LaunchedSlice& slice, TimePoint now);
  // That slice was the last of a pass. `again`: its work is run once more; else the unit goes on. True: it has ended.
  bool pass_ended(std::uint32_t job, bool again);
  // True: it was the last that is wanted of the job, which has ended now.
  bool unit_ended(std::uint32_t job);
  // Its memory moves: between two units these slices come next, of a length each, which are no unit. They outlive that.
  void begin_move(std::uint32_t job, const Cuts& cuts, std::vector<Duration> alone);
  // The last of them has ended. `away`: nothing of it is launched before the move back.
  void end_move(std::uint32_t job, bool away);
  bool moves(std::uint32_t job) const { return jobs_[job].moves; }
  bool is_away(std::uint32_t job) const { return jobs_[job].is_away; }  // all of it is, until all of it is back
  // Nothing of it is launched any more.
  void end(std::uint32_t job);
  // Nothing of it is launched before resume(); it stands where it stood.
  void suspend(std::uint32_t job) { jobs_[job].suspended = true; }
  void resume(std::uint32_t job) { jobs_[job].suspended = false; }
  // Nothing of its unit was launched, or is to come before the next one begins, and its memory does not move.
  bool is_between_units(std::uint32_t job) const { return jobs_[job].in_unit == 0 && !jobs_[job].moves; }
  // Its next unit has nothing to work on for now; likewise.
  void await(std::uint32_t job, bool waits) { jobs_[job].waits = waits; }
  bool awaits_any() const;  // or its memory is away
  bool is_offered(std::uint32_t job) const { return !jobs_[job].ended; }
  bool all_ended() const { return count_ != 0 && left_ == 0; }
  const JobStanding& standing(std::uint32_t job) const { return jobs_[job].standing; }

 private:
  std::size_t offer_moves();

  struct Job {
    const Cuts* cuts = nullptr;
    std::vector<Duration> alone;
    const Cuts* cuts_of_unit = nullptr;  // while its memory moves; those above are of the move then
    std::vector<Duration> alone_of_unit;
    JobStanding standing{};
    std::size_t next = 0;       // node of the unit
    std::uint32_t in_unit = 0;  // slices of the unit that were launched
    std::uint32_t passes = 0;   // through it that are over
    bool ended = false;
    bool suspended = false, waits = false;
    bool moves = false, is_away = false;  // its memory
    bool pass_is_open = false;            // its last slice is in flight
  };
  struct Offer {
    Candidates candidates{};
    std::array<Choice, Candidates::most> choices{};
  };

  const JobPolicy policy_;
  std::array<Job, most_jobs> jobs_{};
  std::uint32_t count_ = 0, left_ = 0;
  std::array<Offer, most_jobs> offers_{};
};

}  // namespace weft
