// An event that a test has made goes into the ring as it is; hooks write theirs where it will be read from.
#pragma once

#include "shim/seam/ring.h"

// False: dropped, and counted.
inline bool push(weft::EventRing& ring, const weft::Event& event) {
  return ring.push([&](weft::Event& place) { place = event; });
}
