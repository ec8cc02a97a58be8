// The totals of one trace, while its lines go by: memory does not grow with the trace.
//
// Used by `weft summary` and by tests, never inside the training process. Of a file with segments of several processes
// (older versions of Weft appended to what they found) only those of the last one count.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/read/progress.h"
#include "trace/read/summary.h"

namespace weft {

// Which process wrote a trace. Process ids repeat, so the moment of its start is part of it.
struct TraceProcess {
  std::string host;
  std::int64_t process = 0, start_id = 0;
  auto operator<=>(const TraceProcess&) const = default;
};

TraceProcess process_of(const TraceHeader& header);

// From a header to the next one, or to the limit of the file.
struct FileSegment {
  TimePoint begin{}, end{};  // from the first group to the end of the last, as far as there are records; equal: of none
};

struct FileTotals {
  static constexpr std::size_t most_segments = 4096;  // a process never has as many

  RankSummary rank;
  TraceProcess process;
  Duration begin{}, end{};                 // since 1970: of what the process wrote here
  TimePoint started{};                     // of its first header
  TimePoint last{};                        // of the records that were read here, groups aside
  bool has_header = false;                 // false: nothing else means anything
  bool limited = false;                    // it has reached WEFT_TRACE_LIMIT
  std::uint64_t segments_of_others = 0;    // of earlier processes, left out
  std::uint64_t bubbles_without_slot = 0;  // there were more slots than are kept
  LineCount missing_bubbles;               // by their numbers, where no records were dropped that may be they; the line
                                           // before which the first one is missing
  std::vector<FileSegment> segments;       // of more than most_segments the last ones are one
  Doubts doubts;                           // any: the rank's numbers are unsure
  TraceDamage damage;
  std::string path;
};

// Throws as read_trace(). `progress` may be nullptr. `also`, if it is not, takes the same lines, so that the file is
// read once.
FileTotals add_up_file(const std::string& path, ReadProgress* progress = nullptr, TraceSink* also = nullptr);

}  // namespace weft
