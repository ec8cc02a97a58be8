// The name of a slot: that of the groups which its bubbles waited for, in all iterations.
//
// Used by `weft summary` and tests, in the weft command only. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "trace/names/names.h"
#include "trace/names/slot_places.h"
#include "trace/read/slot_totals.h"

namespace weft {

struct SlotName {
  std::string text;                    // printable
  Phase phase = Phase::unknown;        // unknown also where it is not always the same
  std::optional<MessageName> message;  // nothing: it has no place in a schedule that is known, or several
};

// Where its bubbles waited for different things, or it is not known for which, it says less, and has its number, or why
// it has none. `has_iterations`: the trace has.
SlotName name_of_slot(const RunNames& names, std::size_t trace, const SlotPlaces& places, const SlotTotals& slot,
                      bool has_iterations);

}  // namespace weft
