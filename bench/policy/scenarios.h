// Whether the slowdown budget is kept in trainings that are nothing like a benchmark: random ones, in which fill work
// costs more than its overruns, and iterations change their length for reasons of their own.
#pragma once

#include "bench/policy/tables.h"

namespace weft::bench {

void print_scenarios(const TableOptions& options);

}  // namespace weft::bench
