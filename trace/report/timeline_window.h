// The records of one rank that lie in the iteration of the timeline, on the rank's own clock.
//
// Used by timeline_parts.cpp, in the weft command only, on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/export/exported_run.h"
#include "trace/report/timeline.h"

namespace weft::report {

// A group that received something.
struct Arrival {
  std::vector<std::uint64_t> messages;
  bool all_known = false;  // these are all that it received
  bool ended_known = false;
  TimePoint ended{};  // on the rank's own clock
  Duration ended_within{};
};

// So much of the trace as lies in its iteration.
ExportedRank window_of(const ReportedRun& run, std::size_t trace, const KeptIteration& iteration);

class WindowReader : public RecordTaker {
 public:
  WindowReader(const ExportedRank& rank, const IterationKey& key) : rank_(rank), key_(key) {}

  bool wants(std::string_view line) const override {
    return !is_line_of(line, "memory") && !is_line_of(line, "anomaly");
  }
  void header(const TraceHeader&, std::size_t segment) override { segment_ = segment; }
  void take(const Record& record) override;

  struct Part {
    std::uint8_t kind = 0;
    TimePoint begin{}, end{};
  };
  std::vector<Bubble> bubbles;
  std::vector<Part> others;
  std::map<GroupId, Arrival> arrivals;
  std::vector<std::pair<std::uint64_t, TimePoint>> sent;

 private:
  void add(std::uint8_t kind, TimePoint begin, TimePoint end) {
    if (others.size() < most_) others.push_back({kind, begin, end});
  }
  void take(const GroupRecord& group);

  static constexpr std::size_t most_ = 200'000;  // an iteration without end is no picture
  const ExportedRank& rank_;
  IterationKey key_;
  std::size_t segment_ = 0;
};

}  // namespace weft::report
