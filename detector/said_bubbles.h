// Said bubbles: which slot a bubble has that the framework says, and how long it will last.
//
// Used by the detector, one thread. A slot is the number of the saying in its iteration; without iterations there is
// none, so no forecast either. When a saying leads to several bubbles, because the main job launched something in
// between, only the first one has the slot.
#pragma once

#include <cstddef>
#include <cstdint>

#include "detector/bubble.h"
#include "detector/iterations.h"
#include "detector/slots.h"

namespace weft {

class SaidBubbles {
 public:
  // As of Slots.
  SaidBubbles(std::size_t history, std::size_t warm_up) : slots_(history, warm_up) {}

  // The framework says one, in this iteration.
  void begin(const Place& present);
  // It is one: fills in what is known of it. And it has lasted for some time.
  void open(Bubble& bubble) const;
  void opened() { present_.ordinal = -1; }
  void closed(const Bubble& bubble) {
    const Duration length = bubble.closed - bubble.opened;
    if (bubble.forecast) slots_.compare(table_, *bubble.forecast, length);
    slots_.add(table_, bubble.slot.ordinal, length);
  }

 private:
  static constexpr std::uint32_t most_slots = 1024;  // in an iteration

  Slots slots_;
  std::uint32_t table_ = 0;  // of the present iteration's rhythm; 0: none is known
  Place present_{};          // its ordinal is that of the saying; -1: it has none, or has had its bubble
  std::int32_t next_ = 0;    // ordinal in this iteration
};

}  // namespace weft
