// The numbers of a whole run: the traces of all ranks, of one directory or of several, added up.
//
// Used by `weft summary` and by tests, never inside the training process. Totals come from a trace's summary line; for
// a process that was killed before it could write one they are computed from its records, and `complete` is false.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "trace/clocks/run_clocks.h"
#include "trace/names/slot_names.h"
#include "trace/read/join.h"
#include "trace/read/reader.h"
#include "trace/read/slot_totals.h"
#include "trace/record.h"

namespace weft {

// The sums of a rank over a part of its run, or over all of it.
struct PartOfRun {
  Duration window{}, idle{}, uncertain{}, filled{};
  Duration idle_left_out{};  // part of `idle`, in iterations that go without fill

  double idle_share() const;       // of the window
  double uncertain_share() const;  // likewise
  double conversion() const;       // filled / idle
  double conversion_of_filled_iterations() const;
};

// The numbers that the framework gave iterations.
struct SaidNumbers {
  std::int64_t least = 0, most = 0;
  std::uint64_t count = 0;

  void add(std::int64_t number);
  double step() const;  // on average
};

// A communicator of a rank.
struct CommunicatorUse {
  CommunicatorId communicator = 0;
  std::string name;  // that the program gave it, printable
  Role role = Role::other;
};

// Fill jobs of a rank that were not run.
struct RefusedJobs {
  std::uint64_t jobs = 0;
  std::string why;  // of the first, printable
};

// Of all traces, as the notes say it of each.
struct LostLines {
  std::uint64_t unreadable = 0, too_long = 0;
  std::uint64_t bubbles = 0;       // missing by their numbers
  std::uint64_t broken_files = 0;  // could be read in part only
};

struct RankSummary {
  // As of its last segment. Of the total only `idle_unknown` means something: of no rank the bubbles were measured.
  TraceHeader header;
  // Of its segments, each as its summary line has it; the median is of all their iterations, window begin and end mean
  // nothing.
  TraceSummary totals;
  Duration window{};  // of all segments
  std::string name;   // printable, for people: the rank, with what tells it from others that call themselves the same
  bool complete = true;
  bool unsure = false;  // something in its trace cannot be true; of the total: a rank is not in it for that
  // The rest comes from the records. One in ten iterations was shorter than the first, one in ten longer than the
  // second.
  Duration iteration_low{}, iteration_high{};
  // How far the ends of bubbles may be from the true ones: nine in ten are not farther (of a total: of the rank where
  // that is most), and how much of the idle time lies that close to one of its ends.
  Duration end_uncertainty_high{}, idle_near_ends{};
  std::map<std::string, Duration> idle_by_cause;
  std::optional<double> forecast_error;  // median of abs(forecast - real) / real
  std::uint64_t forecasts = 0;
  SaidNumbers said;
  std::vector<SlotTotals> slots;
  std::vector<std::string> lost_jobs;  // printable; which were refused or failed, and why
  RefusedJobs refused;
  std::optional<StageOfRank> stage;  // nothing: it is in no pipeline that is known
  std::vector<CommunicatorUse> communicators;

  PartOfRun whole() const;
  // From where its first iteration began, of several segments the sum. Nothing: there was no iteration, or the trace
  // does not tell its start-up.
  std::optional<PartOfRun> steady() const;
  // The part that people are shown: the steady one, where it is known.
  PartOfRun shown() const { return steady().value_or(whole()); }

  double idle_share() const { return whole().idle_share(); }
  double uncertain_share() const { return whole().uncertain_share(); }
  double conversion() const { return whole().conversion(); }
  // By which the idle share of the whole window may be wrong at worst, because bubbles begin and end between looks.
  double lateness_share() const;
  // Whether that is worth saying, and comes from looks that were far apart.
  bool was_late() const;
};

struct RankSlot {
  SlotTotals slot;
  std::size_t rank = 0;  // index in RunSummary::ranks
  SlotName name;
};

struct RunSummary {
  // By rank, process and device: a process may drive several under one rank, and processes that no launcher has told
  // their rank may take the same one.
  std::vector<RankSummary> ranks;
  // Of the ranks that are not unsure; window and idle time of those whose bubbles were measured. Sums; iterations: the
  // most of any rank; medians of the ranks' medians; the slowdown of the rank that saw the largest.
  RankSummary total;
  GroupJoin groups;
  LostLines lost_lines;
  RunClocks clocks;                         // traces are numbered as the ranks
  std::vector<RankSlot> longest;            // slots with the most idle time, most first
  std::vector<std::string> notes;           // printable; what a reader should know: missing ranks, cut-off files
  std::vector<std::string> notes_on_names;  // likewise; why slots have no better names
};

// Processes of a rank: rank, host, process. As a rule a rank has one.
using RankProcess = std::tuple<std::int64_t, std::string, std::int64_t>;
std::set<RankProcess> processes_of(const RunSummary& run);

// That its trace has reached WEFT_TRACE_LIMIT, as the notes say it of a rank that is complete.
std::string note_on_limit(const RankSummary& rank);

// Of the job, without a trace. None where processes share a rank: their numbers say nothing of how many there are then.
std::uint64_t missing_ranks(const RunSummary& run);

// The first ones of those, by their numbers.
std::vector<std::string> names_of_missing_ranks(const RunSummary& run);

// All "rank*.jsonl" of the directories that belong to the newest run there: the processes that ran at the same time as
// the one that was started last. A file that cannot be used is left out with a note; where nothing is left
// std::runtime_error is thrown.
RunSummary summarize_directories(const std::vector<std::string>& directories);

// "rank 0, 3, 5"; of many the first.
std::string listed_ranks(const std::vector<std::string>& names);

// One sentence for a rank that was_late().
std::string lateness_of(const RankSummary& rank);

// `place`: where the traces are, for the first line.
std::string to_text(const RunSummary& run, const std::string& place);
// `validation`: how far it is right, as JSON; see trace/validate/run_validation.h.
std::string to_json(const RunSummary& run, const std::string& validation = "null");

}  // namespace weft
