// See kept_calls.h.
#include "tests/runner/recording/kept_calls.h"

#include "runner/recording/blocks.h"
#include "tests/runner/policy/virtual_device.h"
#include "trace/write/writer.h"

namespace weft::testing {

using namespace std::chrono_literals;

SessionOptions filling() {
  SessionOptions options;
  options.fills = true;
  options.slowdown_budget = 0.01;
  options.records_groups = true;
  return options;
}

RecordedRun::RecordedRun(int microbatches, const SessionOptions& options) {
  VirtualDeviceOf<RecordedSession> device(options, &calls);
  device.session.looks_within(10us);
  for (int i = 0; i < microbatches; ++i) device.microbatch(2ms, Duration(4ms + (i * 7 % 5) * 100us));
  device.session.end(device.time);
  records = device.records;
  summary = device.session.summary(3);
  summary.fill_stream = "plain";
  launches = device.launches.size();
}

TraceHeader header_of_rank(int rank) {
  TraceHeader header;
  header.rank = rank;
  header.ranks = 2;
  header.mode = "fill";
  header.fill_job = "job";
  return completed(header);
}

std::string file_of(std::string_view calls, const TraceSummary* summary) {
  std::string file = prefix_bytes();
  append_header_block(file, header_of_rank(0));
  append_block(file, BlockKind::calls, calls);
  if (summary != nullptr) append_end_block(file, RecordingEnd::complete, summary);
  return file;
}

}  // namespace weft::testing
