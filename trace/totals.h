// Sums over the records of a run: the numbers of its summary. The accounts of a device add up its records as they
// are made; `weft summary` adds up the same records from the trace of a process that left no summary.
//
// One thread at a time. Pure. Sums stay at the largest number instead of turning over.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trace/record.h"
#include "trace/startup.h"
#include "trace/uncertain_causes.h"

namespace weft {

// Of two confinements of fill work (TraceHeader) the one that confines less.
RecordText weaker(const RecordText& one, const RecordText& other);

void add_to(Duration& sum, Duration part);
void add_to(std::uint64_t& sum, std::uint64_t part);

// "tune (batch=8)", or "tune" where there are no variants.
std::string name_with_variant(std::string_view job, std::string_view variant);

// The variant of another rank, "" where that has none. `all`: a text of those so far.
template <class Text>
void add_variant(Text& all, std::string_view variant) {
  if (variant.empty() || all == variant) return;
  all = all.empty() ? variant : several_variants;
}

class Totals {
 public:
  // Records of a kind that nothing is counted of are passed over.
  void add(const Record& record);
  // The window holds this time as well.
  void widen(TimePoint from, TimePoint to);
  bool has_window() const { return has_window_; }
  void add(Unfilled reason) { add_to(summary_.unfilled[static_cast<std::size_t>(reason)], 1); }

  // Without the median, the start-up and the causes of uncertain time; slowdown and reason as of the latest and of the
  // first record of theirs.
  const TraceSummary& summary() const { return summary_; }
  TraceSummary with_startup_and_causes() const;
  std::optional<StartupRecord> startup() const { return startup_.record(summary_); }

 private:
  void add(const Bubble& bubble);
  void add(const UncertainRecord& uncertain);
  void add(const DarkTime& dark);
  void add(const SliceRecord& slice);
  void add(const JobRecord& job);
  void add(const Iteration& iteration);
  void add(const AnomalyRecord& anomaly);
  void add(const SlowdownRecord& slowdown) { summary_.slowdown = slowdown; }
  void add(const WatchingRecord& watching) { summary_.watching = watching; }
  void add(const MoveRecord& move);
  void add(const MemoryRecord&) {}
  void add(const CommunicatorRecord&) {}
  void add(const LimitRecord&) {}
  void add(const GroupRecord&) {}
  void add(const ClockRecord&) {}
  void add(const CallFrameRecord&) {}

  TraceSummary summary_{};
  StartupTotals startup_;
  UncertainCauses causes_;
  bool has_window_ = false;
};

// Totals of another rank, or of another part of the run: sums, the larger slowdown and uncertainty, the first reason. A
// length that is not known adds nothing; the start-up is known where it is of both. Window, median and whether idle
// time is known are the caller's.
void add_up(TraceSummary& sum, const TraceSummary& part);

}  // namespace weft
