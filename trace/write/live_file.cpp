// See live_file.h.
#include "trace/write/live_file.h"

#include "trace/write/own_process.h"

namespace weft {

LiveFile::LiveFile(const TraceHeader& header, const std::string& trace_path, bool earlier_segments) {
  file_.path = live_path(trace_path);
  LiveIdentity& identity = page_.identity;
  identity.rank = header.rank;
  identity.ranks = header.ranks;
  identity.device = header.device;
  identity.earlier_segments = earlier_segments ? 1 : 0;
  identity.process = header.process;
  identity.start_id = header.start_id;
  identity.process_namespace = own_process_namespace();
  identity.process_started = start_of_process(header.process).value_or(0);
  identity.started = header.started.time_since_epoch().count();
  identity.wall_clock = header.wall_clock.count();
  identity.clock_offset_known = header.clock_offset_known ? 1 : 0;
  identity.clock_offset = header.clock_offset.count();
  set_text(identity.host, header.host);
  set_text(identity.boot, header.boot);
  set_text(identity.weft, header.weft);
  set_text(identity.mode, header.mode);
  set_text(identity.idle_unknown, header.idle_unknown);
}

int LiveFile::write(bool ended) {
  if (file_.descriptor < 0)
    if (const int error = open_page_file(file_); error != 0) return error;
  page_.ended = ended ? 1 : 0;
  seal(page_, ++sequence_);
  return write_page(file_, {reinterpret_cast<const char*>(&page_), sizeof page_});
}

}  // namespace weft
