// A first look at the fill job that a user names, before a whole job is started with it: the file is found and checked,
// nothing of it is run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runner/options/fill_plan.h"

namespace weft::cli {

// "PATH[:ARGUMENTS]", several of them with ';' between, or "@FILE", with the paths made absolute, so that they mean the
// same in every folder. A name without '/' that is no file here is looked for among the jobs that come with Weft:
// matmul is fill_matmul.so in `jobs`; not so in a file, which has paths. `memory`: of all jobs together. Throws
// std::runtime_error or std::invalid_argument, one line, when a file is missing or no fill job, or the list is wrong.
struct CheckedFill {
  std::string spec;
  bool needs_feeder = false;  // a job of it reads files
};
// The names of those that come with Weft, sorted. None where the folder cannot be read.
std::vector<std::string> own_jobs(const std::filesystem::path& jobs);

// The same for one job: its plan with that path.
JobPlan checked_job(JobPlan job, const std::filesystem::path& jobs);
CheckedFill checked_fill_spec(const std::string& fill, std::uint64_t memory, const std::filesystem::path& jobs,
                              const JobFiles& files = {});

}  // namespace weft::cli
