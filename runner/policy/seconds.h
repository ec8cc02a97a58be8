// A length in seconds, for formulas whose units are.
//
// Used by the planner and by what counts in virtual time. Pure.
#pragma once

#include "detector/time.h"

namespace weft {

inline double seconds(Duration length) {
  return std::chrono::duration<double>(length).count();
}

}  // namespace weft
