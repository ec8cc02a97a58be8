// See the header.
#include "trace/compare/compared_run.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "trace/nanoseconds.h"
#include "trace/read/printable.h"
#include "trace/read/reader.h"
#include "trace/read/runs.h"

namespace weft {
namespace {

using IdleByCause = std::array<double, cause_names.size()>;

// The iterations of one trace. A bubble may come before the line of its iteration and behind it.
class IterationReader final : public TraceSink {
 public:
  bool wants(std::string_view line) const override {
    return is_line_of(line, "bubble") || is_line_of(line, "iteration") || is_line_of(line, "header");
  }
  void header(const TraceHeader& header, const TraceLine& /*line*/) override {
    const std::pair process{header.process, header.start_id};
    if (process_ != process) *this = IterationReader();  // those of an earlier process in the file do not count
    process_ = process;
    ++headers_;
    waiting_.clear();
  }
  void record(const Record& record, const TraceLine& line) override {
    if (!line.sound()) return;
    if (record.kind == RecordKind::bubble) take(record.bubble);
    if (record.kind == RecordKind::iteration) take(record.iteration);
  }
  void summary(const TraceSummary& /*summary*/, const TraceLine& /*line*/) override {}

  std::uint64_t last() const { return last_; }
  const IterationTable& table() const { return table_; }
  std::uint32_t usual_groups() const {
    const auto most = std::ranges::max_element(groups_, {}, [](const auto& entry) { return entry.second; });
    return most == groups_.end() ? 0 : most->first;
  }

 private:
  static constexpr std::size_t most_waiting = 64;  // iterations that are not over

  void take(const Bubble& bubble) {
    if (bubble.iteration == 0 || !table_.is_kept(bubble.iteration)) return;
    const double length = nanoseconds(bubble.closed - bubble.opened);
    const auto cause = static_cast<std::size_t>(bubble.cause);
    if (IterationSums* const sums = table_.find({headers_, bubble.iteration})) {
      if (sums->watched > 0) sums->by_cause[cause] += length;
      return;
    }
    if (waiting_.size() >= most_waiting) waiting_.erase(waiting_.begin());
    waiting_[bubble.iteration][cause] += length;
  }

  void take(const Iteration& iteration) {
    const double length = nanoseconds(iteration.ended - iteration.started);
    if (length <= 0) return;
    IterationSums sums;
    sums.length = length;
    sums.ranks = 1;
    if (iteration.idle_known && !iteration.dark) {
      sums.watched = length;
      sums.idle = nanoseconds(iteration.idle);
      sums.uncertain = nanoseconds(iteration.uncertain);
      if (const auto idle = waiting_.find(iteration.number); idle != waiting_.end()) sums.by_cause = idle->second;
    }
    waiting_.erase(iteration.number);
    table_.add({headers_, iteration.number}, sums);
    last_ = iteration.number;
    if (groups_.size() < most_waiting || groups_.contains(iteration.groups)) ++groups_[iteration.groups];
  }

  std::pair<std::int64_t, std::int64_t> process_{};
  std::uint32_t headers_ = 0;
  IterationTable table_;
  std::map<std::uint64_t, IdleByCause> waiting_;
  std::map<std::uint32_t, std::uint64_t> groups_;  // how many iterations have so many
  std::uint64_t last_ = 0;                         // the number of its last iteration
};

bool knows_all_stages(const RunSummary& run) {
  return std::ranges::all_of(run.ranks, [](const RankSummary& rank) { return rank.unsure || rank.stage; });
}

// How much of a rank's run is not in its trace.
struct Loss {
  bool of_iterations = false, of_bubbles = false;
  std::string note;
};

Loss loss_of(const FileTotals& file, std::size_t read, std::uint64_t last) {
  Loss loss;
  if (file.rank.unsure) return loss;
  const bool complete = file.rank.complete;
  const std::uint64_t all = file.rank.totals.iterations, dropped = file.rank.totals.dropped_records;
  const std::uint64_t lines = file.damage.unreadable.lines + file.damage.too_long.lines + file.missing_bubbles.lines;
  if (!file.limited && dropped + lines == 0 && file.damage.error == 0) return loss;
  loss.of_bubbles = true;
  loss.of_iterations = !complete || read < all;
  const std::string name = "rank " + file.rank.name + ": ";
  if (file.limited && complete && !loss.of_iterations)
    loss.note = name + "the trace has reached WEFT_TRACE_LIMIT: changes by cause are unknown";
  else if (file.limited)
    loss.note = name + "only iterations 1 to " + std::to_string(last) + " of " +
                (complete ? std::to_string(all) : "an unknown number") +
                " are in the trace (WEFT_TRACE_LIMIT): how the runs differ is unknown";
  else
    loss.note = name + "records were dropped, or lines are lost or cannot be read: changes " +
                (loss.of_iterations ? "of all numbers" : "by cause") + " are unknown";
  return loss;
}

void apply(const Loss& loss, IterationNumbers& numbers) {
  if (loss.of_iterations) forget_how_far(numbers);
  if (loss.of_bubbles) forget_how_far_by_cause(numbers);
}

}  // namespace

ComparedRun read_compared_run(const std::string& directory, ReadProgress* progress) {
  ComparedRun run;
  run.place = directory;
  std::vector<std::string> notes;
  const std::vector<FileTotals> files = newest_run({directory}, notes, progress);
  run.summary = summarize(files, notes);
  for (const FileTotals& file : files)
    if (file.limited) std::erase(run.summary.notes, note_on_limit(file.rank));
  const bool by_stage = knows_all_stages(run.summary);
  IterationTable all;
  std::map<std::int32_t, IterationTable> stages;
  std::map<std::int32_t, Loss> losses;
  Loss any;
  for (std::size_t index = 0; index < files.size(); ++index) {
    const RankSummary& rank = run.summary.ranks[index];
    IterationReader reader;
    if (!rank.unsure) read_trace(files[index].path, reader, progress);
    run.ranks.push_back(reader.table().numbers());
    const Loss loss = loss_of(files[index], run.ranks.back().all, reader.last());
    apply(loss, run.ranks.back());
    for (Loss* const sum : {&any, by_stage && rank.stage ? &losses[rank.stage->stage] : &any}) {
      sum->of_iterations = sum->of_iterations || loss.of_iterations;
      sum->of_bubbles = sum->of_bubbles || loss.of_bubbles;
    }
    if (!loss.note.empty()) run.losses.push_back(loss.note);
    run.groups.push_back(reader.usual_groups());
    all.add(reader.table());
    if (by_stage && !rank.unsure) stages[rank.stage->stage].add(reader.table());
  }
  run.all = all.numbers();
  apply(any, run.all);
  for (const auto& [stage, table] : stages) apply(losses[stage], run.stages[stage] = table.numbers());
  if (!run.all.length) throw std::runtime_error(printable(directory) + ": no iteration was found, nothing to compare");
  return run;
}

}  // namespace weft
