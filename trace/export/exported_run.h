// The run that is exported: which traces, on which clock, which part of them; and their records one by one.
//
// Used by the writers of `weft export` (perfetto, kineto, csv) and by tests, on one thread. Memory depends on the
// number of ranks and communicators, never on the length of the traces: what has to be known of them before is found in
// a pass of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/export/number_ranges.h"
#include "trace/read/file_totals.h"
#include "trace/read/progress.h"

namespace weft {

struct ExportWanted {
  std::vector<std::string> directories;
  std::vector<NumberRange> ranks;         // empty: all
  std::optional<NumberRange> iterations;  // nothing: all of the run
  bool selects(std::int64_t rank) const;
};

// On the clock of the rank itself.
struct TimeWindow {
  TimePoint begin{}, end{};
  bool touches(TimePoint from, TimePoint to) const { return from <= end && to >= begin; }
};

struct ExportedRank {
  std::string path;
  std::string name;  // as `weft summary` has it, "?" behind it where something in the trace cannot be true
  TraceProcess process;
  TraceHeader header;
  std::uint64_t bytes = 0;           // of the trace
  Duration shift{};                  // to be added to its times: then they are on the clock of the first rank
  TimeWindow window;                 // records outside of it are not exported
  std::vector<TimeWindow> measured;  // parts of it that the totals of `weft summary` are of, in their order
  std::map<CommunicatorId, CommunicatorRecord> communicators;
  std::uint64_t groups = 0;  // lines of groups in the trace

  TimePoint aligned(TimePoint time) const { return time + shift; }
};

// Ranks by their place in a communicator.
class CommunicatorMembers {
 public:
  void add(std::size_t rank, const CommunicatorRecord& communicator);
  // Index in ExportedRun::ranks; nothing: it left no trace, or the communicator is not known on other ranks.
  std::optional<std::size_t> member(const CommunicatorRecord& communicator, std::int32_t place) const;

 private:
  std::map<std::pair<std::uint64_t, std::int32_t>, std::size_t> members_;
};

struct ExportedRun {
  std::vector<ExportedRank> ranks;  // in the order in which they are shown; at least one
  CommunicatorMembers members;
  std::vector<std::string> notes;  // printable; what a reader should know: what is left out or not sure
  TimePoint begin{};               // on the clock of the first rank, when the earliest device was prepared

  std::uint64_t bytes() const;  // of all traces
};

// The newest run of the directories, as `weft summary` finds it. Throws std::runtime_error, one line, where nothing is
// to be exported. `progress` may be nullptr, here and below.
ExportedRun find_exported_run(const ExportWanted& wanted, ReadProgress* progress);

// Takes the records of one rank, in the order of its file.
class RecordTaker {
 public:
  virtual ~RecordTaker() = default;
  virtual bool wants(std::string_view /*line*/) const { return true; }  // false: it is passed over unread
  virtual void header(const TraceHeader& /*header*/) {}
  virtual void take(const Record& record) = 0;
  virtual void summary(const TraceSummary& /*summary*/) {}
};

// Only of the process that counts, and only lines that can be true; of the others the notes of the run have the first
// one. Throws as read_trace().
void read_rank(const ExportedRank& rank, RecordTaker& taker, ReadProgress* progress);

}  // namespace weft
