// The fill jobs of a pipeline in virtual time: which take part, when they arrive, and how far they got.
//
// Used by `weft simulate`.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/job_lengths.h"
#include "runner/model/run.h"

namespace weft::cli {

// Of texts as of --fill, in the order in which they arrive. Jobs without a time of their own are there from the begin,
// or arrive one after the other with random gaps of this mean (exponential, by the seed). Throws std::invalid_argument.
std::vector<JobLengths> parse_jobs(const std::vector<std::string>& texts, Duration mean_gap, std::uint64_t seed);

model::JobOptions job_options(const JobLengths& job);

// Of several jobs, or where one arrives or is to end.
void print_jobs(const std::vector<JobLengths>& jobs, const std::vector<model::JobResult>& results);
// Times in seconds since the begin; of what has not happened: null.
nlohmann::ordered_json json_of_jobs(const std::vector<JobLengths>& jobs, const std::vector<model::JobResult>& results);
// From arrival to end, of the jobs that have ended; null: none has.
nlohmann::ordered_json json_of_mean_completion(const std::vector<model::JobResult>& results);

}  // namespace weft::cli
