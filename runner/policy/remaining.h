// How much longer an open bubble lasts, as a distribution: made of its forecast and of how long it has been open.
//
// Used by the planner, for each decision. Pure, no allocation; each answer takes some tens of nanoseconds.
//
// Most bubbles end where the forecast says: a normal distribution with one spread below the median and another one
// above. The others, a share of `others`, end at any time, and the longer they are open the longer they go on: a
// straggler, a stall, a checkpoint (Lomax distribution, whose scale is the median). A bubble without a forecast is one
// of those. So nothing is ever certain to last, and a bubble that outlives its forecast is not expected to end at once.
#pragma once

#include <optional>

#include "detector/bubble.h"

namespace weft {

class Remaining {
 public:
  static constexpr double others = 0.02;
  static constexpr Duration scale_without_forecast{200'000};

  Remaining(const std::optional<Forecast>& forecast, Duration open_for);

  double ends_within(Duration time) const;  // chance
  // Expectation of how much longer something takes that is launched now, behind what takes `until` then.
  Duration expected_overrun(Duration until, Duration slice) const;

 private:
  double lasts(double age) const;  // chance that a bubble of this slot does, seconds

  double age_ = 0, median_ = 0, below_ = 0, above_ = 0, scale_ = 0, share_of_others_ = 1;
  double now_ = 1;  // chance that it has lasted until now
};

}  // namespace weft
