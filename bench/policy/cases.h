// The simulations that the tables of bench_policy are made of.
#pragma once

#include <string>
#include <vector>

#include "bench/policy/tables.h"
#include "runner/model/simulation.h"

namespace weft::bench {

struct Case {
  std::string schedule;
  model::SimulationOptions options;
};

// With the usual numbers of this many stages.
Case case_of(const TableOptions& table, const std::string& schedule, int stages);

// On several threads; in the order of the cases.
std::vector<model::Simulation> simulate_all(const std::vector<Case>& cases, unsigned threads);

}  // namespace weft::bench
