// The fill stream of a rank in virtual time: the slices of its jobs run one after the other and hold the GPU, or share
// it.
//
// Used by the model of a rank, and by the estimate from a trace. Pure, one thread. As the real one does, it says what
// may come next and what is in flight. Jobs take part when they have arrived.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/model/variant_choice.h"
#include "runner/policy/job_offers.h"
#include "runner/policy/session.h"

namespace weft::model {

// How slices have the GPU.
struct SliceGpu {
  // To itself: told when a slice will run; may be empty.
  std::function<void(TimePoint begins, TimePoint ends)> take{};
  // With the training, where this is not empty: told from when on a slice may run, and its length on the idle GPU.
  // Executor::shared_ended() then says when it has ended.
  std::function<void(TimePoint from, Duration alone)> share{};
};

// A variant of a job begins on the rank, or goes for another one.
struct VariantEvent {
  TimePoint time{};
  std::uint32_t job = 0;
  JobEvent event = JobEvent::ready;
  std::string variant, why;
  std::uint64_t memory = 0;
};

class Executor {
 public:
  // From a launch to the first block, where nothing is in flight: a little more than docs/bench.md measures.
  static constexpr Duration launch_latency{4'000};
  // The end of a slice is marked by a write. Write and next slice begin one dependency gap of the simulated GPU later.
  static constexpr Duration behind_another{2'000};
  static constexpr TimePoint unknown = TimePoint::max();

  // All the memory there is, where nobody asks.
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

  // The jobs outlive the executor; they are in the order in which they arrive. Of those that want more memory together
  // than the `room` there is, the later ones wait until enough is released.
  Executor(const std::deque<Job>& jobs, JobPolicy policy, SliceGpu gpu = {}, std::uint64_t room = no_limit);

  // Those that are there by now take part from here on. True: one has come.
  bool arrive(TimePoint now);

  // As of the real one: none is where nothing may be launched.
  std::size_t make_offers() { return count_ < most ? offers_.make() : 0; }
  FillView offer(std::size_t number) const;
  Choice choice(std::size_t offer, std::uint32_t candidate) const { return offers_.choice(offer, candidate); }
  FillView view() const;  // without candidates
  // Of all that is in flight, in truth; with nothing in flight it means nothing.
  TimePoint last_end() const { return slices_[count_ - 1].ends; }

  void launch(TimePoint now, std::uint64_t bubble, const Choice& choice);
  // Appends the slices that have ended.
  void reap(TimePoint now, std::vector<SliceRecord>& finished);
  std::uint32_t in_flight() const { return count_; }

  // Of jobs with variants. At a look into an open bubble, with an answer of the policy:
  template <class Room>
  void watch_room(const Room& room);
  // With nothing in flight; takes no time.
  void change_variants(TimePoint now);
  std::vector<VariantEvent> take_variants() { return std::exchange(variant_events_, {}); }
  std::string variant(std::uint32_t job) const;  // "": it has none, or does not run

  // Of those that share the GPU, the earliest that has not ended has ended now.
  void shared_ended(TimePoint now);

  // For how much of this time slices run that have the GPU to themselves. Times do not go back from one call to the
  // next.
  Duration within(TimePoint from, TimePoint until);

  // By their numbers in the list.
  bool has_room(std::uint32_t job) const { return may_have_room(job, room_); }
  JobStanding standing(std::uint32_t job) const;
  std::optional<TimePoint> began(std::uint32_t job) const { return began_[job]; }  // its first slice was launched
  std::optional<TimePoint> done(std::uint32_t job) const { return done_[job]; }    // when it had done its units

 private:
  struct Launched : LaunchedSlice {
    TimePoint begins{}, ends{};
    TimePoint should_begin{};  // as Filler thinks, which knows when slices were seen to end
  };
  static constexpr std::uint32_t most = 2;

  TimePoint expected_end(std::uint32_t index) const;
  bool may_have_room(std::uint32_t job, std::uint64_t memory) const;
  bool is_admitted(std::uint32_t job) const { return std::ranges::find(admitted_, job) != admitted_.end(); }
  // Offers the next jobs for which there is memory.
  void admit(TimePoint now);
  // One has arrived that will get memory when others end.
  bool one_waits() const;
  void note_ready(TimePoint now, std::uint32_t job);

  const std::deque<Job>& jobs_;
  std::deque<VariantChoice> choices_;  // of each
  bool have_variants_ = false;
  std::vector<VariantEvent> variant_events_;
  const std::uint64_t room_;
  std::uint64_t used_ = 0;               // bytes, by the jobs that are offered and not done
  std::vector<std::uint32_t> admitted_;  // their numbers in the list, in the order in which they were offered
  const SliceGpu gpu_;
  JobOffers offers_;
  std::size_t arrived_ = 0;  // of the jobs
  std::array<std::optional<TimePoint>, most_jobs> began_{}, done_{};
  std::array<Launched, most> slices_{};
  std::uint32_t count_ = 0;
  TimePoint reaped_{};                 // the latest look
  std::vector<Launched> not_counted_;  // by within()
};

template <class Room>
void Executor::watch_room(const Room& room) {
  if (!have_variants_) return;
  for (std::uint32_t place = 0; place < admitted_.size(); ++place)
    choices_[admitted_[place]].watch().look(offers_.next_of(place), room);
}

}  // namespace weft::model
