// Conversion against slowdown: what Weft makes of each slowdown budget, and every other system of each setting of its
// own.
#pragma once

#include "bench/policy/tables.h"

namespace weft::bench {

// As a table, or with `csv` as what bench/policy/plot.py draws.
void print_frontier(const TableOptions& options, bool csv);

}  // namespace weft::bench
