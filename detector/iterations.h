// Iterations: where in the sequence of groups they begin, their numbers and times, and when the next bubble is due.
//
// Used by the detector, one thread, with the rhythm and the bounds that it keeps: an iteration is a period of the one
// (iterations.cpp), or lies between two of the others (bounded.cpp), or is one that the framework says
// (said_iterations.cpp). Where an iteration begins and what its times are is written in README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "detector/bounds.h"
#include "detector/bubble.h"
#include "detector/phases.h"
#include "detector/rhythm.h"
#include "detector/ring_queue.h"

namespace weft {

// The place of a group in its iteration.
struct Place {
  std::int32_t ordinal = -1;
  std::uint64_t iteration = 0;  // its number; 0: none, because the rhythm was not known or not sure yet
  std::uint64_t turn = 0;       // see Iteration in bubble.h; 0: the group was issued before the rhythm was found
  std::uint64_t rhythm = 0;     // see Iteration in bubble.h
  bool ends_iteration = false;
  std::int32_t earlier = -1;  // the ordinal whose bubbles stand for this one's while it has had none
};

// The iteration that the host issues next, as far as the groups so far tell.
struct Ahead {
  std::uint64_t turn = 0;  // 0: not known
  // The likeness (group_shape.h) of its last group, going by the iteration before; 0: nothing would tell its end.
  std::uint64_t ends_with = 0;
};

class Iterations {
 public:
  explicit Iterations(std::size_t longest_period);

  // Each issued group, in order, after the rhythm and the bounds have taken it. `over`: the answer of the bounds.
  // Returns the iteration that was over already.
  std::optional<Iteration> group_issued(const Rhythm& rhythm, const Bounds& bounds, TimePoint issued,
                                        const Event& group, std::optional<std::uint64_t> over);
  // After the call above for the same group. `key` of what one iteration consists of, from its beginning on.
  void rhythm_found(const Rhythm& rhythm, const Bounds& bounds);
  // After the call above for the first group of an iteration.
  void bounds_found(const Bounds& bounds, std::uint64_t last);
  // The framework says iterations; the call below follows. After rhythm_lost() of what led before.
  void saying_found();
  // With the next group one begins; `turn` is that of SaidTurns.
  void said_begun(std::int64_t number, std::uint64_t turn, TimePoint now);
  // Returns it where it is over already.
  std::optional<Iteration> said_ended(TimePoint now);
  void rhythm_lost();
  std::uint64_t key() const { return key_; }
  // Groups in an iteration; 0: none are known. While bounds lead: in the latest one.
  std::uint32_t length() const { return bounded_ ? bounded_length_ : period_; }
  // Whether they are iterations, not possibly pieces of them.
  bool sure() const { return bounded_ || sure_; }
  bool bounded() const { return bounded_; }
  // Some that were found have got a number, and were lost again.
  bool some_were_lost() const { return number_base_ > 1; }
  bool said() const { return said_; }
  // Iterations that were not returned because nobody saw when they ended.
  std::uint64_t unseen_ends() const { return unseen_ends_; }

  Place place(std::uint64_t position) const;
  // The iteration in which the next group would be if nothing changed. Without a slot.
  Place present() const;
  Ahead ahead() const;
  // The turn of the iteration that runs on the GPU; 0: not known.
  std::uint64_t running_turn() const;
  std::optional<TimePoint> expected_end() const {
    return start_known_ && last_length_ > Duration{} ? std::optional(started_ + last_length_) : std::nullopt;
  }
  // Of the iteration that runs on the GPU no bubble is seen: those of the one before go on to be expected.
  void set_dark(bool dark) { dark_ = dark; }

  // Nobody will see the end of a group.
  void end_is_unseen(std::uint64_t position);
  // A group is over; returns the iteration that ended with it.
  std::optional<Iteration> group_done(std::uint64_t position, const Place& place, TimePoint time);

  void bubble_opened(const Place& place, TimePoint opened);
  void bubble_closed(Duration length) { idle_ += length; }
  void uncertain_time(Duration length) { uncertain_ += length; }
  std::optional<TimePoint> next_bubble() const;

 private:
  struct Entry {
    TimePoint issued{};
    TimePoint done{};  // 0: not yet
    bool end_is_unseen = false;
    std::uint64_t shape = 0;
    std::uint64_t likeness = 0;  // 0: it cannot be told from others where it is issued
    PhaseSlot slot{};            // where bounds delimit the iterations
  };
  // An iteration of which all groups are issued and not all are over.
  struct Running {
    std::uint64_t last = 0;  // position of its last group
    std::uint64_t turn = 0;  // 0: it is not reported, the first one that is begins with its end
    std::uint32_t groups = 0;
    std::uint64_t since = 0;
    std::int64_t said = -1;
  };
  struct Expected {
    std::int32_t ordinal;
    Duration after_start;
  };

  // So many entries are enough while iterations are known: two of them. Otherwise everything may turn out to be one.
  std::size_t enough() const { return 2 * std::size_t{length()} + 1024; }
  Entry* entry(std::uint64_t position);
  const Entry* entry(std::uint64_t position) const { return const_cast<Iterations*>(this)->entry(position); }
  std::uint64_t choose_beginning(const Rhythm& rhythm, const Bounds& bounds);
  Duration gap_after(std::uint64_t position);
  void left_out(std::uint64_t last);
  void start_at(std::uint64_t position);
  void start_now(TimePoint now);
  Iteration end(TimePoint time);
  // Of the groups up to `last`: see Iteration in bubble.h.
  std::uint32_t equal_parts(std::uint64_t last, std::uint32_t groups);
  std::optional<Iteration> next_begins(std::uint64_t last);
  void find_phases(const Bounds& bounds);
  Place bounded_place(std::uint64_t position) const;
  Place bounded_present() const;
  std::uint64_t next_turn() const;
  std::optional<Iteration> bounded_done(std::uint64_t position, TimePoint time);
  std::optional<TimePoint> next_bounded_bubble() const;

  RingQueue<Entry> entries_;  // of the latest groups
  std::uint64_t size_ = 0;    // position after the last entry
  std::uint32_t period_ = 0;  // 0: no rhythm
  std::uint64_t run_begin_ = 0;
  std::uint64_t base_ = 0;  // position at which iteration number_base_ begins
  std::uint64_t number_base_ = 1;
  bool sure_ = false;  // as of the latest group
  std::uint64_t key_ = 0;
  TimePoint started_{};  // of the iteration that runs on the GPU
  bool start_known_ = false;
  std::uint64_t ended_turn_ = 0;  // of the iteration before it, where a period leads
  std::uint64_t unseen_ends_ = 0;
  Duration idle_{};
  Duration uncertain_{};
  bool dark_ = false;
  Duration last_length_{};
  std::int32_t passed_ = -1;              // highest ordinal that is over, or had its bubble, in the iteration that runs
  std::vector<std::uint64_t> transfers_;  // of an iteration that is over, in equal_parts(),
  std::vector<std::uint32_t> repeats_;    // and how many of them up to each are the first ones again
  std::vector<Expected> last_bubbles_;
  std::vector<Expected> bubbles_;
  // While bounds lead, those that were found or said. base_ is the beginning of the iteration that is issued.
  bool bounded_ = false;
  bool said_ = false;
  bool said_runs_ = false;   // has begun, and not ended
  std::uint64_t turn_ = 0;   // of the iteration that is issued
  std::uint64_t since_ = 0;  // likewise, see Iteration in bubble.h
  std::int64_t number_said_ = -1;
  std::uint64_t ends_with_ = 0;  // likeness of the last group of the latest iteration; 0: not known
  std::uint32_t bounded_length_ = 0;
  RingQueue<Running> running_{64};
  std::size_t most_slots_;
  Phases phases_;
};

}  // namespace weft
