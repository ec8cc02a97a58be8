// Who waits for whom: the idle time of each rank by the rank that it waited for, and the same between stages.
//
// Used by the report and by tests. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "detector/time.h"

namespace weft::report {

struct ReportedRun;

struct WaitingPair {
  std::size_t waiting = 0, awaited = 0;  // traces, or stages
  std::uint64_t bubbles = 0;
  Duration time{};
};

struct Waits {
  std::vector<WaitingPair> of_ranks;   // most time first
  std::vector<WaitingPair> of_stages;  // likewise; none: some rank has no stage that is known
  std::size_t stages = 0;
  Duration peers{}, collectives{}, others{};  // idle time for a peer, for all of a communicator, for neither
  Duration unknown{};                         // part of `peers`: of one that cannot be told, or has no trace
};

Waits find_waits(const ReportedRun& run);

}  // namespace weft::report
