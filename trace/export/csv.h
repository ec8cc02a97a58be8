// A run as tables (CSV), one for each kind of record in one folder: bubble.csv, iteration.csv ... and header.csv,
// summary.csv. Columns are the keys of docs/trace.md, behind those that tell of which trace a row is.
//
// Used by `weft export` and by tests, on one thread. Streams.
#pragma once

#include <cstdint>
#include <string>

#include "trace/export/exported_run.h"

namespace weft {

struct CsvCounts {
  std::uint64_t tables = 0, rows = 0, bytes = 0;
};

// Throws std::runtime_error, one line; then there is no folder.
CsvCounts export_csv(const ExportedRun& run, const std::string& folder, ReadProgress* progress);

}  // namespace weft
