// See said_turns.h.
#include "detector/said_turns.h"

#include <algorithm>

namespace weft {

void SaidTurns::heard(std::int64_t number) {
  if (number < 0 || number <= latest_) return;
  const bool first = latest_ < 0;
  const auto value = static_cast<std::uint64_t>(number);
  const std::uint64_t step = value - (first ? value : static_cast<std::uint64_t>(latest_));
  latest_ = number;
  if (first) {
    turn_ = value + 1;
    return;
  }
  ++steps_;
  if (step_ != 0 && step != step_) ++others_;
  step_ = step_ == 0 ? step : std::min(step_, step);
  counts_ = counts_ || others_ > most_others + steps_ / others_in;
  turn_ = counts_ ? turn_ + 1 : value / step_ + 1;
}

}  // namespace weft
