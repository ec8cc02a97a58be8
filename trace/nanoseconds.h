// A length as a number to reckon with: in nanoseconds, which a double has exactly up to a hundred days.
//
// Included by readers of traces, never inside the training process. Pure.
#pragma once

#include "detector/time.h"

namespace weft {

inline double nanoseconds(Duration duration) {
  return static_cast<double>(duration.count());
}

}  // namespace weft
