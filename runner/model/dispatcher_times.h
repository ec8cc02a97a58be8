// The times that a dispatcher thread takes, as docs/bench.md measures them on an idle core.
#pragma once

#include "detector/time.h"

namespace weft::model {

struct DispatcherTimes {
  Duration wake_up{5'000};  // later than it wanted to, after each sleep
  Duration look{2'000};     // until it has decided
  Duration launch{4'000};   // each
};

}  // namespace weft::model
