// Iterations: where in the sequence of groups they begin, their numbers and times, and when the next bubble is due.
//
// Used by the detector, one thread, with the rhythm that it keeps. Where an iteration begins and what its times are is
// written in README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "detector/bubble.h"
#include "detector/rhythm.h"
#include "detector/ring_queue.h"

namespace weft {

// The place of a group in its iteration.
struct Place {
  std::int32_t ordinal = -1;
  std::uint64_t iteration = 0;  // its number; 0: none, because the rhythm was not known or not sure yet
  std::uint64_t turn = 0;       // which iteration since the rhythm was found, from 1; 0: the group was issued before
  std::uint64_t rhythm = 0;     // see Iteration in bubble.h
  bool ends_iteration = false;
};

class Iterations {
 public:
  explicit Iterations(std::size_t longest_period);

  // Each issued group, in order, after the rhythm has taken it.
  void group_issued(const Rhythm& rhythm, TimePoint issued);
  // After the call above for the same group. `key` of what one iteration consists of, from its beginning on.
  void rhythm_found(const Rhythm& rhythm);
  void rhythm_lost();
  std::uint64_t key() const { return key_; }

  Place place(std::uint64_t position) const;

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
  };
  struct Expected {
    std::int32_t ordinal;
    Duration after_start;
  };

  Entry* entry(std::uint64_t position);
  std::uint64_t choose_beginning(const Rhythm& rhythm);
  Duration gap_after(std::uint64_t position);

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
  Duration idle_{};
  Duration uncertain_{};
  Duration last_length_{};
  std::int32_t passed_ = -1;  // highest ordinal that is over, or had its bubble, in the iteration that runs
  std::vector<Expected> last_bubbles_;
  std::vector<Expected> bubbles_;
};

}  // namespace weft
