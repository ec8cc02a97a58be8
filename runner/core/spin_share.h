// How much of a core the dispatcher's thread may take for looks without sleep: WEFT_SPIN, unless there is no core for
// it.
//
// Called when a device is set up, on a thread of the main job inside the core's services.
#pragma once

namespace weft {

// A process that has one processor only runs its training there: never. Nor with "off".
double spin_share(double wanted);

}  // namespace weft
