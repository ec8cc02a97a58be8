// See estimated_run.h.
#include "cli/estimated_run.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>

#include "runner/policy/control_schedule.h"
#include "runner/policy/seconds.h"
#include "trace/read/parallel.h"
#include "trace/read/printable.h"
#include "trace/read/reader.h"
#include "trace/read/runs.h"
#include "trace/read/summary.h"

namespace weft::cli {
namespace {

// Everything but bubbles and iterations is passed over.
class Feeder final : public TraceSink {
 public:
  Feeder(const std::vector<std::deque<model::Job>>& jobs, const std::vector<Case>& cases) {
    for (const Case& each : cases) {
      model::EstimateOptions options;
      options.slowdown_budget = each.slowdown_budget;
      ranks_.emplace_back(jobs[each.job], options);
    }
  }

  bool wants(std::string_view line) const override {
    return is_line_of(line, "bubble") || is_line_of(line, "iteration");
  }
  void header(const TraceHeader& /*header*/, const TraceLine& /*line*/) override {}
  void record(const Record& record, const TraceLine& line) override {
    if (!line.sound()) return;
    if (record.kind == RecordKind::iteration) ++iterations_;
    for (model::EstimatedRank& rank : ranks_) {
      if (record.kind == RecordKind::bubble) rank.add(record.bubble);
      if (record.kind == RecordKind::iteration) rank.add(record.iteration);
    }
  }
  void summary(const TraceSummary& /*summary*/, const TraceLine& /*line*/) override {}

  const std::deque<model::EstimatedRank>& ranks() const { return ranks_; }
  std::uint64_t iterations() const { return iterations_; }

 private:
  std::uint64_t iterations_ = 0;
  std::deque<model::EstimatedRank> ranks_;
};

RankEstimate with_shares(const model::Estimate& counted, double idle_share, double slowdown_budget) {
  RankEstimate estimate;
  estimate.counted = counted;
  const Duration may_be_filled = counted.idle - counted.left_out;
  if (may_be_filled <= Duration{}) return estimate;
  const double filled_iterations = slowdown_budget == Budget::unlimited ? 1 : 1 - control_share();
  const double part = filled_iterations / seconds(may_be_filled);
  estimate.conversion = part * seconds(counted.filled);
  estimate.filled_share = idle_share * estimate.conversion;
  estimate.delay_share = idle_share * part * seconds(counted.delay);
  return estimate;
}

std::string why_not(const RankSummary& rank) {
  if (rank.unsure) return "its trace has lines that cannot be true";
  if (!is_measured(rank.header)) return "its bubbles were not measured: " + printable(rank.header.idle_unknown);
  if (rank.totals.iterations == 0) return "no iteration was found, and without one nothing is filled";
  return "";
}

bool has_all_bubbles(const AddedUpTrace& trace) {
  return trace.rank->complete && !trace.is_limited;
}

// "rank 0, 1, 2 and 5 more: text", once for all that share it.
class Notes {
 public:
  void add(const std::string& text, const std::string& rank) { ranks_[text].push_back(rank); }
  std::vector<std::string> listed() const {
    std::vector<std::string> lines;
    for (const auto& [text, ranks] : ranks_) lines.push_back(listed_ranks(ranks) + ": " + text);
    return lines;
  }

 private:
  std::map<std::string, std::vector<std::string>> ranks_;
};

void add_notes(const AddedUpTrace& trace, Notes& notes) {
  const RankSummary& rank = *trace.rank;
  if (!rank.header.caution.empty())
    notes.add("where this is so less can be filled, and the estimate is too high: " + printable(rank.header.caution),
              rank.name);
  if (rank.totals.filled > Duration{})
    notes.add("fill work ran in this run, and its bubbles are those that it left; observe one for an estimate",
              rank.name);
  if (rank.totals.iterations < few_iterations)
    notes.add("there are few iterations: nothing is filled in the first ones, and little is known of forecasts",
              rank.name);
  if (!has_all_bubbles(trace))
    notes.add("the trace has only a part of its bubbles; the rest is taken to be like them", rank.name);
}

}  // namespace

EstimatedRun estimate_traces(const std::vector<AddedUpTrace>& traces, const std::vector<JobLengths>& jobs,
                             const std::vector<Case>& cases, Duration slice) {
  const auto slices = slice_lengths(slice);
  std::vector<std::deque<model::Job>> cut;  // each alone
  for (const JobLengths& job : jobs)
    cut.emplace_back().emplace_back(job.kernels, std::vector<Duration>(slices.begin(), slices.end()));
  EstimatedRun run;
  Notes notes;
  std::vector<AddedUpTrace> usable;
  for (const AddedUpTrace& trace : traces) {
    if (const std::string reason = why_not(*trace.rank); !reason.empty())
      notes.add("not estimated: " + reason, trace.rank->name);
    else
      usable.push_back(trace);
  }
  run.ranks.resize(usable.size());
  for_each_file(usable.size(), readers_for(usable.size()), [&](std::size_t, std::size_t number) {
    const RankSummary& summary = *usable[number].rank;
    Feeder feeder(cut, cases);
    read_trace(usable[number].path, feeder);
    EstimatedRun::Rank& rank = run.ranks[number];
    rank.name = summary.name;
    rank.iterations = feeder.iterations();
    rank.has_all_bubbles = has_all_bubbles(usable[number]);
    const std::optional<PartOfRun> steady = summary.steady();
    rank.idle_share = steady ? steady->idle_share() : summary.idle_share();
    for (std::size_t index = 0; index < cases.size(); ++index)
      rank.cases.push_back(with_shares(feeder.ranks()[index].result(), rank.idle_share, cases[index].slowdown_budget));
  });
  for (const AddedUpTrace& trace : usable) add_notes(trace, notes);
  run.notes = notes.listed();
  return run;
}

EstimatedRun estimate_run(const std::vector<std::string>& directories, const std::vector<JobLengths>& jobs,
                          const std::vector<Case>& cases, Duration slice) {
  std::vector<std::string> notes_of_all;
  const std::vector<FileTotals> files = newest_run(directories, notes_of_all);
  std::vector<AddedUpTrace> traces;
  for (const FileTotals& file : files) traces.push_back({file.path, &file.rank, file.limited});
  EstimatedRun run = estimate_traces(traces, jobs, cases, slice);
  run.notes.insert(run.notes.begin(), notes_of_all.begin(), notes_of_all.end());
  // Lines that cannot be read, ranks that left no trace, and all else that makes numbers doubtful.
  for (std::string& line : summarize(files, notes_of_all).notes)
    if (std::ranges::find(run.notes, line) == run.notes.end()) run.notes.push_back(std::move(line));
  if (run.ranks.empty())
    throw std::runtime_error("no rank can be estimated" + (run.notes.empty() ? "" : ": " + run.notes.front()));
  return run;
}

}  // namespace weft::cli
