// Which stage makes the others wait. In each iteration the stages work for different times, and all others wait for the
// one that works longest: it is the frontier. How long a stage is waited for says little of it, as delay moves on from
// stage to stage.
//
// Used by the report and by tests. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/report/rank_series.h"

namespace weft::report {

struct ReportedRun;

// Iteration by iteration the time in which it did not wait: of a stage that of its rank with the most.
struct UnitOfWork {
  std::string name;  // "stage 2", or "rank 7" where stages are not known
  std::map<IterationKey, Duration> work;
  std::map<IterationKey, std::string> ranks{};  // the one with the most; none: it is a rank itself
};

struct WorkOfUnit {
  std::string name;
  Duration median{};
  double at_frontier = 0;  // in so large a share of the iterations it works longest
  // Of its ranks the one that has the most work in most iterations, and in how many; "": it is a rank itself.
  std::string rank{};
  double of_rank = 0;
};

struct Frontier {
  std::string missing;  // why nothing can be told; "": it can be
  std::size_t iterations = 0;
  Duration length{};                   // the median of these
  std::vector<WorkOfUnit> units;       // in their order
  std::optional<std::size_t> slowest;  // works longest in most iterations, and by more than iterations differ; nothing:
                                       // none does
  std::size_t longest = 0, next = 0;   // by their medians
  bool is_alike = false;               // these differ by less than is worth saying
};

// `lengths`: of the same iterations.
Frontier find_frontier(const std::vector<UnitOfWork>& units, const std::map<IterationKey, Duration>& lengths);
// By stages where all ranks have one, else by ranks.
Frontier find_frontier(const ReportedRun& run);

}  // namespace weft::report
