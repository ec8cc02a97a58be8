// Which stage makes the others wait. In each iteration the stages work for different times, and all others wait for the
// one that works longest: it is the frontier. How long a stage is waited for says little of it, as delay moves on from
// stage to stage.
//
// Used by the report and by tests. Pure. Nobody knows whether a rank worked in time that is uncertain, so its work is
// an interval, and it is said to work longer than another one only where that holds for all of both intervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/report/rank_series.h"

namespace weft::report {

struct ReportedRun;

// A thing is said of a run where it holds for so large a share of its iterations.
inline constexpr double most_of_them = 2.0 / 3;

// In one iteration: of a stage the work of its rank with the most.
struct WorkInIteration {
  Duration least{}, most{};  // without the uncertain time, and with it
  std::size_t ranks = 1;     // that have measured it
  std::string rank{};        // of several the one that surely has the most; "": none has
};

struct UnitOfWork {
  std::string name;  // "stage 2", or "rank 7" where stages are not known
  std::map<IterationKey, WorkInIteration> work;
};

struct WorkOfUnit {
  std::string name;
  Duration least{}, most{};   // medians
  double uncertain = 0;       // share of its time
  double at_frontier = 0;     // in so large a share of the iterations it surely works longest
  bool is_contender = false;  // in some iteration it may be the longest, and nobody surely is
  std::string rank{};         // of its ranks the one that has the most work in most iterations, and
  double of_rank = 0;         // in how many; "": it is a rank itself
};

enum class Lead : std::uint8_t {
  clear,       // `longest` works longest in most iterations, and by more than iterations differ
  alike,       // `longest` and `next` differ by less than is worth saying
  uncertain,   // that cannot be told: some time of `unclear` is uncertain
  more_often,  // `longest` works longest in more iterations than any other one
  mixed,       // it does by the medians, but `most_often` in more iterations
};

struct Frontier {
  std::string missing;  // why nothing can be told; "": it can be
  std::size_t iterations = 0;
  Duration length{};              // the median of these
  std::vector<WorkOfUnit> units;  // in their order
  Lead lead = Lead::alike;
  std::size_t longest = 0, next = 0;  // by their medians
  std::size_t most_often = 0, unclear = 0;
  std::size_t ranks_compared = 0, ranks = 0;  // of the job

  bool has_all_ranks() const { return ranks_compared >= ranks; }
};

// `lengths`: of the same iterations. `ranks`: of the job.
Frontier find_frontier(const std::vector<UnitOfWork>& units, const std::map<IterationKey, Duration>& lengths,
                       std::size_t ranks);
// By stages where all ranks have one, else by ranks.
Frontier find_frontier(const ReportedRun& run);

// "25.0 % of stage 2's time is uncertain", where the lead is that.
std::string uncertain_text(const Frontier& frontier);
// "of the ranks that can be compared (3 of 4)"; "": that are all.
std::string compared_text(const Frontier& frontier);

}  // namespace weft::report
