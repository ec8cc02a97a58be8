// A fill job by the lengths of its kernels, as people write it on the command line: enough to say what filling with it
// would give, without its file and without a GPU.
//
// Used by `weft estimate` and `weft simulate`. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "detector/time.h"
#include "runner/model/job.h"
#include "runner/policy/jobs.h"

namespace weft::cli {

struct JobLengths {
  std::string name;               // as it was written, or what stands in front of '='
  std::vector<Duration> kernels;  // of one unit, each on the idle GPU as the job is confined
  JobTerms terms{};
  std::uint64_t memory = 0;         // bytes that it needs
  std::optional<Duration> arrives;  // since the begin

  // The name of this one, of a job with several, as it was written; "": it has none. Smaller ones, best first.
  std::string variant;
  std::vector<model::VariantOptions> smaller;

  Duration unit() const;
};

// "[NAME=]COUNTxLENGTH[,COUNTxLENGTH...][;TERM=VALUE...]": "400x25us", "gemm=64x25us,2x1.5ms;units=40;deadline=60s"; a
// count of 1 may be left out; the terms are those of docs/fill-jobs.md, memory is one, and "arrives=30s";
// "variant=100x10us" begins a smaller variant, of which memory is from there on. Throws
// std::invalid_argument, one line.
JobLengths parse_job_lengths(const std::string& text);

}  // namespace weft::cli
