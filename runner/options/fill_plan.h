// The fill jobs that a user names in WEFT_FILL: one, a list, or a file of them.
//
//   WEFT_FILL=FILE[:ARGUMENTS][;FILE[:ARGUMENTS]...]     equal parts of WEFT_MEMORY
//   WEFT_FILL=@jobs.toml                                 see docs/fill-jobs.md
//
// Read at the start of the core (a main-job thread) and by `weft run` and `weft config`. Reads the file, and looks at
// files of jobs; nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runner/policy/jobs.h"

namespace weft {

// Of a job that reads records or weights, absolute; "": there is none.
struct JobFiles {
  std::string input, results, weights;
  std::string claims{};  // of a job of a queue: where those of its records are kept, for the feeder

  bool are_any() const { return !input.empty() || !results.empty() || !weights.empty(); }
};

struct FillSpec {
  std::string path;
  std::string arguments;  // what follows the first ':'
};

FillSpec parse_fill_spec(std::string_view text);
// "matmul" of "/jobs/fill_matmul.so:size=64".
std::string name_in_path(const std::string& spec);

// Of a file or folder, such as that of a job: where it or, of a folder, a name in it changes, this does. That of a job
// of a queue is made by the feeder: no thread of a training looks at such a file.
struct JobFileStamp {
  std::uint64_t device = 0, number = 0, bytes = 0, changed = 0;
  bool is_known() const { return number != 0; }
  friend auto operator<=>(const JobFileStamp&, const JobFileStamp&) = default;
};
// Not known: it is not there.
JobFileStamp stamp_of(const std::string& path);

struct JobPlan {
  std::string spec;       // FILE[:ARGUMENTS]
  std::string arguments;  // of it, whatever the variant: results are of these
  JobFiles files;
  JobFileStamp stamp{};      // of a job of a queue
  std::string name;          // "": the job's own
  std::uint64_t memory = 0;  // bytes of the reservation
  JobTerms terms{};
  // Each is appended to the arguments, best first, and one of them runs: see Variants. Empty: `spec` alone.
  std::vector<std::string> variants;

  std::string spec_of(std::size_t variant) const;  // `spec` where there are none
};

struct FillPlan {
  std::vector<JobPlan> jobs;  // at most most_jobs
  JobPolicy policy = JobPolicy::throughput;
};

// `memory`: of all together. `own_jobs`: the folder of the jobs that come with Weft; a file may call one matmul for
// fill_matmul.so there. `files`: of the only job of a list; in a job file each has its own. `others`: further jobs that
// are to have equal parts. Throws std::invalid_argument, one line.
FillPlan parse_fill_plan(const std::string& fill, std::uint64_t memory, const std::string& own_jobs = "",
                         const JobFiles& files = {}, std::uint64_t others = 0);
// Likewise, any number of jobs, as the user gives them: memory is 0 where none is named.
FillPlan parse_job_list(const std::string& fill, const std::string& own_jobs, const JobFiles& files);

}  // namespace weft
