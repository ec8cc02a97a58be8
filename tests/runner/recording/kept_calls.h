// Recordings in memory, and files made of them, for the tests.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "runner/recording/recorded_session.h"
#include "trace/record.h"

namespace weft::testing {

struct KeptCalls final : CallSink {
  std::string bytes;
  std::vector<std::size_t> ends;  // of the entries

  void push(std::string_view entry) noexcept override {
    bytes += entry;
    ends.push_back(bytes.size());
  }
};

struct NoRecords final : RecordSink {
  void push(const Record&) noexcept override {}
};

SessionOptions filling();

// A pipeline stage with fill work in virtual time: so many microbatches, and a summary at the end.
struct RecordedRun {
  explicit RecordedRun(int microbatches, const SessionOptions& options = filling());

  KeptCalls calls;
  std::vector<Record> records;
  TraceSummary summary;
  std::size_t launches = 0;
};

TraceHeader header_of_rank(int rank);
// A whole file; `summary`: nullptr, it has no end.
std::string file_of(std::string_view calls, const TraceSummary* summary);

}  // namespace weft::testing
