// Two passes over the files, those of `weft summary`; see the header.
#include "trace/report/reported_run.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "trace/names/slot_places.h"

namespace weft::report {
namespace {

// Of each file, made when a thread begins to read it.
class SeriesOfFiles {
 public:
  explicit SeriesOfFiles(std::optional<std::uint64_t> iteration) : iteration_(iteration) {}
  TraceSink* make(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return &*series_.insert_or_assign(path, std::make_unique<RankSeries>(iteration_)).first->second;
  }
  RankSeries take(const std::string& path) {
    const auto found = series_.find(path);
    if (found == series_.end()) return RankSeries();
    RankSeries series = std::move(*found->second);
    series_.erase(found);
    series.finish();
    return series;
  }

 private:
  std::optional<std::uint64_t> iteration_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<RankSeries>> series_;
};

ReportedTrace reported(const FileTotals& file, SeriesOfFiles& series) {
  ReportedTrace trace{file.path,        file.process,
                      file.rank.header, std::max<std::size_t>(file.segments.size(), 1),
                      file.limited,     series.take(file.path)};
  trace.header.started = file.started;
  trace.header.wall_clock = file.begin;
  return trace;
}

}  // namespace

bool ReportedRun::has_first_part_only() const {
  for (std::size_t trace = 0; trace < traces.size(); ++trace)
    if (counts(trace) && traces[trace].is_limited) return true;
  return false;
}

TimePoint ReportedRun::aligned(std::size_t trace, TimePoint time) const {
  const RunClocks& clocks = named.summary.clocks;
  const TraceClock& own = clocks.hosts().traces[trace];
  const TimePoint outside = time - own.offset;
  return outside + clocks.clocks()[own.clock].to_first->at(outside).ahead;
}

ReportedRun read_run(const std::vector<std::string>& directories, ReadProgress* progress,
                     std::optional<std::uint64_t> iteration) {
  ReportedRun run;
  run.directories = directories;
  SeriesOfFiles series(iteration);
  std::vector<std::string> notes;
  const std::vector<FileTotals> files =
      newest_run(directories, notes, progress, [&](const std::string& path) { return series.make(path); });
  for (const FileTotals& file : files) run.traces.push_back(reported(file, series));
  run.named = summarize_with_names(files, notes, progress);
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace)
    for (const auto& [number, communicator] : run.named.places[trace]->iterations().communicators())
      run.members.add(trace, communicator);
  return run;
}

}  // namespace weft::report
