// Leader: whether the period or the bounds say what an iteration is.
//
// Asked by the detector with each issued group, one thread. The period leads where it can: it knows an iteration's
// content. Bounds take over where it is not known, or is lost again and again; they stay until their collective stays
// away.
#pragma once

#include <cstddef>
#include <cstdint>

#include "detector/bounds.h"
#include "detector/rhythm.h"

namespace weft {

class Leader {
 public:
  // After rhythm and bounds have taken the group, while bounds do not lead. `period_is_sure`: it is an iteration.
  // `begins`: with this group an iteration begins. Whether the bounds take over with it.
  bool bounds_take_over(const Rhythm& rhythm, const Bounds& bounds, bool period_is_sure, bool begins);

 private:
  // Of iterations in a row that the period did not find: at first, and after it was lost. Two and three of its repeats
  // find it where the content stays the same, so an evaluation in between changes nothing.
  static constexpr std::size_t missed_at_first = 3, missed_later = 6;
  static constexpr std::size_t most_losses = 3;

  bool is_whole(const Rhythm& rhythm, const Bounds& bounds) const;

  std::uint64_t unsure_until_ = 0;
  std::uint64_t led_until_ = 0;  // by the period
  std::uint64_t bound_ = 0;      // that the rest is about
  bool led_ = false;             // the latest iteration but this
  bool agreed_ = false;          // a period that led was the distance between two bounds
  std::size_t losses_ = 0;       // of such a period
};

}  // namespace weft
