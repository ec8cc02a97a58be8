// One of the two runs that are compared: its summary, and the numbers of its iterations over all ranks, by stage and by
// rank.
//
// Used by `weft diff` and by tests, never inside the training process. Each trace is read three times, one after the
// other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/compare/iteration_table.h"
#include "trace/read/progress.h"
#include "trace/read/summary.h"

namespace weft {

struct ComparedRun {
  std::string place;   // where its traces are
  RunSummary summary;  // without the notes that `losses` say better
  IterationNumbers all;
  std::map<std::int32_t, IterationNumbers> stages;  // none where the stage of some rank is not known
  std::vector<IterationNumbers> ranks;              // as those of the summary; of unsure ones there are none
  std::vector<std::uint32_t> groups;                // likewise: in most iterations of the rank; 0: not known
  std::vector<std::string> losses;                  // printable; the iterations and records that the traces do not have
};

// Throws std::runtime_error where there is no trace, or no iteration in any. `progress` may be nullptr.
ComparedRun read_compared_run(const std::string& directory, ReadProgress* progress = nullptr);

}  // namespace weft
