// A run as a Perfetto trace (protobuf), for ui.perfetto.dev and its trace processor: a group of tracks for each rank,
// with iterations, bubbles by cause, uncertain and dark time, NCCL groups, fill slices and counters; and an arrow from
// each group that sends to the end of the one that receives.
//
// Used by `weft export` and by tests, on one thread. Streams: of each trace a line is held at a time.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/export/exported_run.h"
#include "trace/export/names.h"
#include "trace/export/output.h"

namespace weft {

struct PerfettoCounts {
  std::uint64_t slices = 0, instants = 0, counters = 0;
  // Messages that were seen to be sent, and to arrive. An arrow is drawn where both sides were.
  std::uint64_t sends = 0, receives = 0;
  std::uint64_t arrows = 0;     // of all messages, if arrows_are_sure
  std::uint64_t backwards = 0;  // arrived before they were sent, as their clocks say: these have no arrow
  bool arrows_are_sure = true;  // false: of so many messages some may lack their arrow, where looks were far apart
  std::uint64_t left_out = 0;   // more of them overlapped than there are rows for
  std::uint64_t bytes = 0;      // of the file
};

// By its first bytes, four at least: whether export_perfetto() wrote it.
bool is_begin_of_perfetto(std::string_view begin);

// Throws std::runtime_error, one line; then there is no file. Finishes it.
PerfettoCounts export_perfetto(const ExportedRun& run, const EventNames& names, OutputFile& file,
                               ReadProgress* progress);

}  // namespace weft
