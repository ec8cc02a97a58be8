// Weft where others have published numbers: PipeFill's simulated clusters, and FreeRide's server with six side tasks.
#pragma once

#include "bench/policy/tables.h"

namespace weft::bench {

// 16 stages with 64, 16 and 8 microbatches on 1,024, 4,096 and 8,192 GPUs. Takes minutes, and 4 GiB.
void print_pipefill_ground(const TableOptions& options);
// 4 stages with 4, 6 and 8 microbatches.
void print_freeride_ground(const TableOptions& options);

}  // namespace weft::bench
