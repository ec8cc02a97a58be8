// Weft where iterations are not all alike: evaluations, checkpoints, numbers of microbatches that change, activations
// that go to the host.
#pragma once

#include "bench/policy/tables.h"

namespace weft::bench {

void print_changes(const TableOptions& options);

}  // namespace weft::bench
