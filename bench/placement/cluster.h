// A queue and the GPUs that ask it for jobs, in virtual time: who gets which job when, and when each is done.
//
// Used by bench_placement. Pure. A GPU takes a job as weft-feeder gives it: by placed(), or the first in the queue.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/placement/rates.h"
#include "runner/policy/placement.h"

namespace weft::bench {

struct Submitted {
  double at = 0;  // seconds since the begin
  std::size_t kind = 0;
  double work = 0;          // seconds of fill work
  bool has_records = true;  // any number of GPUs may work on it
  double weight = 1;
  int priority = 0;
  double deadline = 0;  // seconds since it was submitted; 0: none
};
std::vector<Submitted> some_jobs(std::uint64_t seed, std::size_t count, double load);

struct Outcome {
  double makespan = 0, mean = 0,
         late_tenth = 0;       // of the times from submit to end, seconds; the last: nine in ten end by then
  double important = 0;        // mean of the tenth with the highest priority
  double missed = 0;           // share of the deadlines
  std::size_t given_back = 0;  // jobs that a GPU had and could not fill with
  std::size_t unfinished = 0;
};

// Nothing for `policy`: first come, first served, of the jobs that there is memory for.
Outcome simulate(const std::vector<Gpu>& gpus, const std::vector<Submitted>& jobs, std::optional<JobPolicy> policy);

}  // namespace weft::bench
