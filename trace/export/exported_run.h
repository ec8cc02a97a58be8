// The run that is exported: which traces, on which clock, which part of them; and their records one by one.
//
// Used by the writers of `weft export` (perfetto, kineto, csv) and by tests, on one thread. Memory depends on the
// number of ranks and communicators, never on the length of the traces: what has to be known of them before is found in
// a pass of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/clocks/run_clocks.h"
#include "trace/export/number_ranges.h"
#include "trace/read/call_site.h"
#include "trace/read/file_totals.h"
#include "trace/read/progress.h"

namespace weft {

class RunNames;
class SlotPlaces;

struct ExportWanted {
  std::vector<std::string> directories;
  std::vector<NumberRange> ranks;         // empty: all
  std::optional<NumberRange> iterations;  // nothing: all of the run
  bool selects(std::int64_t rank) const;
};

// On the clock of the rank itself. The end is not part of it: iterations follow each other without a gap.
struct TimeWindow {
  TimePoint begin{}, end{};
  bool is_empty() const { return begin >= end; }
  bool contains(TimePoint time) const { return begin <= time && time < end; }
  bool touches(TimePoint from, TimePoint to) const { return from == to ? contains(from) : from < end && to > begin; }
};

// A process that closes all its communicators and opens others begins another one: its iterations and bubbles count
// from 1 again.
struct ExportedSegment {
  TimeWindow window;    // records outside of it are not exported; empty: none are
  TimeWindow measured;  // the part of it that the totals of `weft summary` are of, as far as there are records
  std::uint64_t groups = 0;
  TimePoint groups_end{};  // of the latest: records of groups may end before the others (WEFT_TRACE_LIMIT)
};

constexpr std::size_t most_communicators_of_rank = 65'536;  // a trace of Weft stays far below

struct ExportedRank {
  std::string path;
  std::string name;       // as `weft summary` has it, "?" behind it where something in the trace cannot be true
  std::size_t trace = 0;  // index in ExportedRun::traces
  TraceProcess process;
  TraceHeader header;       // of its last segment, but started with the first
  std::uint64_t bytes = 0;  // of the trace
  TraceClock clock;
  std::shared_ptr<const ClockOffset> to_first;  // how far the first rank's clock is ahead of that; nullptr: it is that
  std::optional<NumberRange> iterations;        // others are not exported; nothing: all are
  std::vector<ExportedSegment> segments;        // in their order; of more than most_segments the last ones are one
  std::map<CommunicatorId, CommunicatorRecord> communicators;  // at most most_communicators_of_rank
  CallSiteTable call_sites;
  bool limited = false;     // the trace has reached its limit: later records are not there
  bool lost_lines = false;  // records of it are missing or left out

  // On the clock of the first rank, outside of any time namespace.
  TimePoint aligned(TimePoint time) const { return time + shift(time).ahead; }
  KnownOffset shift(TimePoint time) const;
  std::uint64_t groups() const;
};

// Of all traces of the run, also of those that are not exported: they are peers of others.
struct RunTrace {
  std::string name;
  std::int64_t rank = 0, ranks = 0;  // as in its header
};

// Traces by their rank's place in a communicator.
class CommunicatorMembers {
 public:
  void add(std::size_t trace, const CommunicatorRecord& communicator);
  // Index in ExportedRun::traces; nothing: it left no trace, or the communicator is not known on other ranks.
  std::optional<std::size_t> member(const CommunicatorRecord& communicator, std::int32_t place) const;

 private:
  std::map<std::pair<std::uint64_t, std::int32_t>, std::size_t> members_;
};

struct ExportedRun {
  std::vector<ExportedRank> ranks;  // in the order in which they are shown; at least one
  std::vector<RunTrace> traces;
  CommunicatorMembers members;
  RunClocks clocks;
  std::vector<std::shared_ptr<SlotPlaces>> places;  // of the traces
  std::shared_ptr<const RunNames> names;            // likewise, from these
  std::vector<std::string> notes;  // printable; what a reader should know: what is left out or not sure
  TimePoint begin{};               // on the clock of the first rank, when the earliest device was prepared

  std::uint64_t bytes() const;  // of the traces that are exported
};

// The newest run of the directories, as `weft summary` finds it. Throws std::runtime_error, one line, where nothing is
// to be exported. `progress` may be nullptr, here and below.
ExportedRun find_exported_run(const ExportWanted& wanted, ReadProgress* progress);

// Takes the records of one rank, in the order of its file.
class RecordTaker {
 public:
  virtual ~RecordTaker() = default;
  virtual bool wants(std::string_view /*line*/) const { return true; }  // false: it is passed over unread
  // A segment begins. `segment`: index in ExportedRank::segments.
  virtual void header(const TraceHeader& /*header*/, std::size_t /*segment*/) {}
  virtual void take(const Record& record) = 0;
  virtual void summary(const TraceSummary& /*summary*/) {}
};

// Only of the process that counts, only lines that can be true (of the others the notes of the run have the first one),
// and only what lies in the window of its segment. Records that explain others come whole: communicators, fill jobs,
// clocks. Throws as read_trace().
void read_rank(const ExportedRank& rank, RecordTaker& taker, ReadProgress* progress);

}  // namespace weft
