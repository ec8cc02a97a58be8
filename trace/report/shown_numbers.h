// Numbers as all parts of a report show them.
//
// Used by the files of the report, in the weft command only. Pure.
#pragma once

#include "trace/read/summary.h"

namespace weft::report {

inline double milliseconds(double nanoseconds) {
  return nanoseconds / 1e6;
}
inline double milliseconds(Duration time) {
  return milliseconds(static_cast<double>(time.count()));
}

}  // namespace weft::report
