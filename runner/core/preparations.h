// How often the fill job of a device may be made ready anew, where a training closes its last communicator and makes
// another one again and again. Each time holds the training up, which the slowdown budget does not see: it compares
// iterations. So after the first few times that may take the budget's share of the time since the first one; and so may
// changes of variants while it runs, besides. Pure.
//
// Guarded by whoever sets devices up, one thread at a time.
#pragma once

#include <limits>

#include "detector/time.h"

namespace weft {

class Preparations {
 public:
  static constexpr int free_ones = 4;

  // `budget`: a share of the time; infinity: no limit.
  bool is_one_more_allowed(TimePoint now, double budget) const {
    if (count_ < free_ones) return true;
    return static_cast<double>((again_ + last_).count()) <= budget * static_cast<double>((now - first_).count());
  }
  // The device is opened: the time begins, whether a job is made ready now or later.
  void opened(TimePoint now) {
    if (first_ == TimePoint{}) first_ = now;
  }
  bool is_first_opening() const { return count_ == 0 && changes_ == Duration{}; }
  void note(TimePoint began, TimePoint ended) {
    if (count_++ == 0 && first_ == TimePoint{}) first_ = began;
    last_ = ended - began;
    if (count_ > 1) again_ += last_;
  }
  // One more job of the same time was made ready later.
  void go_on(Duration more) {
    last_ += more;
    if (count_ > 1) again_ += more;
  }
  // A change of a job's variant while the training runs, or another job of a queue, for which it will stand about so
  // long. None is free.
  bool is_change_allowed(TimePoint now, double budget, Duration expected) const {
    return budget == std::numeric_limits<double>::infinity() ||
           static_cast<double>((changes_ + expected).count()) <= budget * static_cast<double>((now - first_).count());
  }
  void note_change(Duration stood) { changes_ += stood; }
  bool has_changed() const { return changes_ > Duration{}; }
  // True once: the first time that one more is not allowed.
  bool is_to_be_said() { return !said_ && (said_ = true); }

 private:
  int count_ = 0;
  TimePoint first_{};
  Duration last_{}, again_{};
  Duration changes_{};
  bool said_ = false;
};

}  // namespace weft
