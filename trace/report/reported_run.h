// The run of a report as it was read: the numbers of `weft summary`, the names, and of each rank what stands in
// rank_series.h. All parts of the report come from here.
//
// Used by `weft report` and tests, in the weft command only. Files are read on several threads; memory depends on the
// number of ranks, not on the length of their traces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/export/exported_run.h"
#include "trace/read/progress.h"
#include "trace/read/runs.h"
#include "trace/report/rank_series.h"

namespace weft::report {

// Of one rank, beside its RankSummary.
struct ReportedTrace {
  std::string path;
  TraceProcess process;
  TraceHeader header;  // of its last segment, but started with the first
  std::size_t segments = 1;
  bool is_limited = false;  // it has reached WEFT_TRACE_LIMIT
  RankSeries series;
};

struct ReportedRun {
  std::vector<std::string> directories;  // as they were given
  NamedRun named;
  std::vector<ReportedTrace> traces;  // of the ranks of named.summary, in their order
  CommunicatorMembers members;        // by these

  const RunSummary& summary() const { return named.summary; }
  const RankSummary& rank(std::size_t trace) const { return named.summary.ranks[trace]; }
  // Its numbers count: its bubbles were measured, and nothing in its trace is unsure.
  bool counts(std::size_t trace) const { return is_measured(rank(trace).header) && !rank(trace).unsure; }
  // Some traces that count have reached WEFT_TRACE_LIMIT: of their bubbles they have those of the first part of the
  // run.
  bool has_first_part_only() const;
  // On the clock of the first rank, outside of any time namespace.
  TimePoint aligned(std::size_t trace, TimePoint time) const;
};

// The newest run of the directories, as `weft summary` finds it. Throws std::runtime_error, one line, where there is
// none. `iteration`: one that is to be kept.
ReportedRun read_run(const std::vector<std::string>& directories, ReadProgress* progress,
                     std::optional<std::uint64_t> iteration = {});

}  // namespace weft::report
