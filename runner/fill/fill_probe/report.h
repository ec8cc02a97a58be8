// A fill job that was tried by hand, as weft try tells of it: one JSON object, on one line.
//
// Called by the fill probe, on its only thread, with the context current.
#pragma once

#include <cstdint>
#include <string>

#include "detector/time.h"
#include "runner/core/driver.h"
#include "runner/fill/prepared_fill.h"

namespace weft {

struct TriedUnits {
  std::uint64_t right = 0, wrong = 0, unchecked = 0;
  std::uint64_t passes = 0;  // of all of them
  Duration shortest{};       // from the first launch of a unit to its end, as the host sees it
};

// Before the unit is destroyed: kernels are asked for their names.
std::string report_of(const Driver& driver, PreparedFill& fill, Duration preparation, const TriedUnits& units);

}  // namespace weft
