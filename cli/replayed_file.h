// One recording, from its file through sessions of this build into a trace.
//
// Used by weft replay and by the golden tests; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/recording/replay.h"
#include "trace/record.h"

namespace weft::cli {

// A session of it: where the process has opened the device again, the file has several.
struct ReplayedSession {
  TraceHeader header;
  ReplayResult result;
  bool records_compared = true;        // false: the Weft that made it writes records with other keys
  std::string cut;                     // why it ends before its run did; "": it does not
  std::optional<ReplayFault> fault{};  // what is behind it was not replayed
};

struct ReplayedFile {
  std::string path;
  std::vector<ReplayedSession> sessions;
  std::string damage{};  // that the file has behind them, as an error would say it; "": none

  std::uint64_t differences() const;
  bool has_fault() const;
};

// Throws RecordingError where the file is damaged, or is none, before the end of its first block of calls. Nothing is
// replayed.
void check_recording(const std::string& path);

// Writes the trace to `trace`. Throws RecordingError likewise, and then there is no trace; and std::runtime_error where
// the trace cannot be written.
ReplayedFile replay_file(const std::string& path, const std::string& trace);

}  // namespace weft::cli
