// All ranks of a run held against their truth files, and that as text and as JSON.
//
// Used by `weft validate`, `weft summary` and tests.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trace/read/file_totals.h"
#include "trace/validate/comparison.h"

namespace weft {

struct RankValidation {
  std::string name;  // as in the summary
  std::int64_t rank = 0, device = 0;
  std::uint64_t cupti = 0;
  std::string nothing;  // why nothing was compared; "": it was
  Comparison comparison;
  std::int64_t clock_uncertainty = 0;
  std::uint64_t dropped = 0;
  std::vector<std::string> doubts;  // why nothing can be said although something was compared
  std::vector<std::string> notes;   // why the truth may not be the whole one
  std::vector<std::string> faults;  // bounds that are not kept: they hold in spite of doubts
  std::string likely_cause;         // of the faults; "": none, or none is known

  bool decided() const { return nothing.empty() && (doubts.empty() || !faults.empty()); }
};

struct RunValidation {
  std::vector<RankValidation> ranks;
  Bounds bounds;
  std::int64_t shortest = 0;
  std::vector<std::string> notes;
  bool complete = true;  // there is a trace of each rank, and one beside each truth file

  std::size_t compared() const;
  bool agrees() const;   // all ranks are there and decided, and keep the bounds
  bool differs() const;  // a rank does not keep them
};

// Idle time shorter than this is none: the gap between two dependent kernels. No less can be asked for, because shorter
// gaps are not in the truth files.
inline constexpr std::int64_t shortest_idle = 10'000;

// Of the newest run in the directories, as in summarize_directories(), which it throws like.
RunValidation validate_directories(const std::vector<std::string>& directories, const Bounds& bounds,
                                   std::int64_t shortest);
// How many bytes the truth files of these processes have in the directories; 0: there are none.
std::uint64_t truth_bytes(const std::vector<std::string>& directories, const std::set<TraceProcess>& processes);

std::string to_text(const RunValidation& run);
std::string to_json(const RunValidation& run);

}  // namespace weft
