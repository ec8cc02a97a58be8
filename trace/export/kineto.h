// A run in PyTorch's trace format (Kineto's JSON), a file for each rank in one folder, as HTA and other tools for the
// traces of PyTorch's profiler read it.
//
// Used by `weft export` and by tests, on one thread. Streams. Computation is not recorded: all time outside of bubbles
// is one kernel, "not waiting for NCCL".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/export/exported_run.h"
#include "trace/export/names.h"

namespace weft {

struct KinetoCounts {
  std::uint64_t files = 0, rows = 0, bytes = 0;
  std::vector<std::string> notes;  // printable: ranks that are left out, and what readers will take wrong
};

// Throws std::runtime_error, one line; then there is no folder.
KinetoCounts export_kineto(const ExportedRun& run, const EventNames& names, const std::string& folder,
                           ReadProgress* progress);

}  // namespace weft
