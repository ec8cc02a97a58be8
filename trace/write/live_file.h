// The file of a rank's page, beside its trace: each writing is one call over the one before.
//
// Made by the core when a trace is opened, used by the writer thread of the trace after that; see file.h. The file is
// made at the first writing. It is neither synced nor mapped: on a shared file system a write fault would block whoever
// touches the memory.
#pragma once

#include <cstdint>
#include <string>

#include "trace/live/live_page.h"
#include "trace/record.h"
#include "trace/write/file.h"

namespace weft {

class LiveFile {
 public:
  // `header` is complete. `earlier_segments`: its process has written this trace before.
  LiveFile(const TraceHeader& header, const std::string& trace_path, bool earlier_segments);
  ~LiveFile() { close_trace_file(file_); }
  LiveFile(const LiveFile&) = delete;
  LiveFile& operator=(const LiveFile&) = delete;

  const std::string& path() const { return file_.path; }
  // That are written next.
  LiveNumbers& numbers() { return page_.numbers; }
  // 0 or errno: nothing more can be written then.
  int write(bool ended);

 private:
  TraceFileHandle file_;
  LivePage page_;
  std::uint64_t sequence_ = 0;
};

}  // namespace weft
