// See spin_share.h.
#include "runner/core/spin_share.h"

#include <sched.h>

#include <cmath>

namespace weft {

double spin_share(double wanted) {
  if (!std::isfinite(wanted)) return 0;  // off
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Of more processors than the set holds nobody needs to know how many there are.
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) < 2) return 0;
  return wanted;
}

}  // namespace weft
