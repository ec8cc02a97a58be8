// See the header.
#include "trace/compare/compared_run.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "trace/read/printable.h"
#include "trace/read/reader.h"
#include "trace/read/runs.h"

namespace weft {
namespace {

double nanoseconds(Duration duration) {
  return static_cast<double>(duration.count());
}

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

  const IterationTable& table() const { return table_; }
  bool is_limited() const { return limited_; }
  std::uint32_t usual_groups() const {
    const auto most = std::ranges::max_element(groups_, {}, [](const auto& entry) { return entry.second; });
    return most == groups_.end() ? 0 : most->first;
  }

 private:
  static constexpr std::size_t most_waiting = 64;  // iterations that are not over

  void take(const Bubble& bubble) {
    if (bubble.iteration == 0) return;
    const double length = nanoseconds(bubble.closed - bubble.opened);
    const auto cause = static_cast<std::size_t>(bubble.cause);
    if (IterationSums* const sums = table_.find({headers_, bubble.iteration})) {
      if (sums->watched > 0) sums->idle[cause] += length;
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
      sums.uncertain = nanoseconds(iteration.uncertain);
      if (const auto idle = waiting_.find(iteration.number); idle != waiting_.end()) sums.idle = idle->second;
    }
    waiting_.erase(iteration.number);
    if (!table_.add({headers_, iteration.number}, sums)) limited_ = true;
    if (groups_.size() < most_waiting || groups_.contains(iteration.groups)) ++groups_[iteration.groups];
  }

  std::pair<std::int64_t, std::int64_t> process_{};
  std::uint32_t headers_ = 0;
  IterationTable table_;
  std::map<std::uint64_t, IdleByCause> waiting_;
  std::map<std::uint32_t, std::uint64_t> groups_;  // how many iterations have so many
  bool limited_ = false;
};

bool knows_all_stages(const RunSummary& run) {
  return std::ranges::all_of(run.ranks, [](const RankSummary& rank) { return rank.unsure || rank.stage; });
}

// False: there are too many for it.
bool add_all(IterationTable& sum, const IterationTable& part) {
  bool has_room = true;
  for (const auto& [key, sums] : part.iterations()) has_room = sum.add(key, sums) && has_room;
  return has_room;
}

}  // namespace

ComparedRun read_compared_run(const std::string& directory, ReadProgress* progress) {
  ComparedRun run;
  run.place = directory;
  std::vector<std::string> notes;
  const std::vector<FileTotals> files = newest_run({directory}, notes, progress);
  run.summary = summarize(files, notes);
  const bool by_stage = knows_all_stages(run.summary);
  IterationTable all;
  std::map<std::int32_t, IterationTable> stages;
  for (std::size_t index = 0; index < files.size(); ++index) {
    const RankSummary& rank = run.summary.ranks[index];
    IterationReader reader;
    if (!rank.unsure) read_trace(files[index].path, reader, progress);
    run.ranks.push_back(reader.table().numbers());
    run.groups.push_back(reader.usual_groups());
    run.limited = run.limited || reader.is_limited();
    if (!add_all(all, reader.table())) run.limited = true;
    if (by_stage && !rank.unsure) add_all(stages[rank.stage->stage], reader.table());
  }
  run.all = all.numbers();
  for (const auto& [stage, table] : stages) run.stages[stage] = table.numbers();
  if (!run.all.length) throw std::runtime_error(printable(directory) + ": no iteration was found, nothing to compare");
  return run;
}

}  // namespace weft
