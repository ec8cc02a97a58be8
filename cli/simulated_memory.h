// The memory of the GPUs of weft simulate: its flags, and what is said about it.
//
// Used by weft simulate.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/job_lengths.h"
#include "cli/parse.h"
#include "runner/model/simulation.h"

namespace weft::cli {

void add_memory_flags(CLI::App& app, model::SimulationOptions& options);

// A row for each GPU of a pipeline: its needs, what is left, and the jobs that fit.
void print_memory(const std::vector<model::StageMemory>& stages, const std::vector<JobLengths>& jobs);
// `has_limit`: free memory is known.
nlohmann::ordered_json json_of_memory(const std::vector<model::StageMemory>& stages,
                                      const std::vector<JobLengths>& jobs, bool has_limit);

}  // namespace weft::cli
