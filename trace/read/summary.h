// The numbers of a whole run: the traces of all ranks, of one directory or of several, added up.
//
// Used by `weft summary` and by tests, never inside the training process. Totals come from a trace's summary line; for
// a process that was killed before it could write one they are computed from its records, and `complete` is false.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "detector/time.h"
#include "trace/read/reader.h"

namespace weft {

// All bubbles of one slot of one rank.
struct SlotSummary {
  std::int64_t rank = 0, ordinal = -1, send_peer = -1, receive_peer = -1;
  std::uint64_t bytes = 0, bubbles = 0;
  std::string cause;
  Duration idle{}, median{};
  std::int64_t process = 0;
  std::string name;  // of the rank, as in RankSummary
};

// What filling cost, as the rank measured it. Shares.
struct SlowdownSummary {
  double estimate = 0, low = 0, high = 0;
  std::uint64_t control = 0, filled = 0;  // iterations that were compared; control 0: too few
  double budget = 0, share = 1;
};

struct RankSummary {
  std::int64_t rank = 0, ranks = 0, device = 0, process = 0;
  std::string host, mode, fill_job;
  std::string idle_unknown;  // why its bubbles were not measured; "": they were. Of the total: of no rank they were
  std::string name;  // printable, for people: the rank, with what tells it from others that call themselves the same
  bool complete = true;
  bool unsure = false;  // something in its trace cannot be true; of the total: a rank is not in it for that
  std::uint64_t iterations = 0, bubbles = 0, slices = 0, fill_units = 0, fill_units_wrong = 0, dropped_records = 0;
  std::uint64_t records_left_out = 0;             // beyond WEFT_TRACE_LIMIT; the totals have them
  std::map<std::string, std::uint64_t> unfilled;  // bubbles without a slice, by reason; from the summary line
  Duration window{}, idle{}, filled{}, iteration_median{};
  std::map<std::string, Duration> idle_by_cause;  // from the bubble records
  std::optional<double> forecast_error;           // median of abs(forecast - real) / real
  std::uint64_t forecasts = 0;
  std::optional<SlowdownSummary> slowdown;  // nothing: it had no budget
  bool filling_stopped = false;
  std::string reason;
  std::vector<SlotSummary> slots;

  double idle_share() const;  // of the window
  double conversion() const;  // filled / idle
};

struct RunSummary {
  // By rank, process and device: a process may drive several under one rank, and processes that no launcher has told
  // their rank may take the same one.
  std::vector<RankSummary> ranks;
  // Of the ranks that are not unsure; window and idle time of those whose bubbles were measured. Sums; iterations: the
  // most of any rank; medians of the ranks' medians; the slowdown of the rank that saw the largest.
  RankSummary total;
  std::vector<SlotSummary> longest;  // slots with the most idle time, most first
  std::vector<std::string> notes;    // printable; what a reader should know: missing ranks, cut-off files
};

// All "rank*.jsonl" of the directories that belong to the newest run there: the processes that ran at the same time as
// the one that was started last. A file that cannot be used is left out with a note; where nothing is left
// std::runtime_error is thrown.
RunSummary summarize_directories(const std::vector<std::string>& directories);

// `place`: where the traces are, for the first line.
std::string to_text(const RunSummary& run, const std::string& place);
std::string to_json(const RunSummary& run);

}  // namespace weft
