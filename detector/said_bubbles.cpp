// See said_bubbles.h.
#include "detector/said_bubbles.h"

namespace weft {

void SaidBubbles::begin(const Place& present) {
  const bool same = present.turn == present_.turn && present.rhythm == present_.rhythm;
  if (!same) next_ = 0;
  present_ = present;
  present_.ordinal = -1;
  table_ = 0;
  if (present.turn == 0 || next_ >= static_cast<std::int32_t>(most_slots)) return;
  table_ = slots_.table_for(present.rhythm, most_slots);
  present_.ordinal = next_++;
}

void SaidBubbles::open(Bubble& bubble) const {
  bubble.cause = Cause::schedule;
  bubble.slot.ordinal = present_.ordinal;
  bubble.iteration = present_.iteration;
  bubble.rhythm = present_.rhythm;
  bubble.turn = present_.turn;
  bubble.forecast = slots_.forecast(table_, present_.ordinal);
}

}  // namespace weft
