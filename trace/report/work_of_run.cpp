// The work of the stages of a run, iteration by iteration, to find its frontier; see frontier.h.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "trace/report/frontier.h"
#include "trace/report/reported_run.h"

namespace weft::report {
namespace {

// The ranks of a stage, one after the other.
class StageWork {
 public:
  void add(const IterationKey& key, const std::string& rank, Duration least, Duration most) {
    const auto [known, is_first] = leaders_.try_emplace(key, Leader{rank, least, most, {}, 0});
    Leader& leader = known->second;
    ++leader.ranks;
    if (is_first) return;
    if (least > leader.least) {
      leader.others_most = std::max(leader.others_most, leader.most);
      leader = {rank, least, most, leader.others_most, leader.ranks};
    } else {
      leader.others_most = std::max(leader.others_most, most);
    }
  }

  // Once: of thousands of ranks there is no room for all of it twice.
  UnitOfWork take(const std::string& name) {
    UnitOfWork unit{name, {}};
    for (const auto& [key, leader] : leaders_) {
      const bool is_sure = leader.ranks > 1 && leader.least >= leader.others_most;
      unit.work[key] = {leader.least, std::max(leader.most, leader.others_most), leader.ranks,
                        is_sure ? leader.rank : ""};
    }
    leaders_.clear();
    return unit;
  }

 private:
  // The one with the most work, without uncertain time.
  struct Leader {
    std::string rank;
    Duration least{}, most{}, others_most{};
    std::size_t ranks = 0;
  };
  std::map<IterationKey, Leader> leaders_;
};

// Of all pipelines; nothing: not all ranks have a stage.
std::optional<std::int32_t> stages_of(const ReportedRun& run) {
  std::set<std::int32_t> stages;
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    if (!run.counts(trace)) continue;
    if (!run.rank(trace).stage) return std::nullopt;
    stages.insert(run.rank(trace).stage->stages);
  }
  return stages.size() == 1 ? std::optional(*stages.begin()) : std::nullopt;
}

// "stage 2 and 3"; of those from which nobody can be compared.
std::string absent_stages(const std::map<std::int64_t, StageWork>& stages, std::int32_t count) {
  constexpr std::size_t most = 8;
  std::vector<std::string> absent;
  for (std::int32_t stage = 0; stage < count; ++stage)
    if (!stages.contains(stage)) absent.push_back(std::to_string(stage));
  std::string text = absent.size() == 1 ? "stage " : "stages ";
  for (std::size_t place = 0; place < std::min(absent.size(), most); ++place)
    text += (place == 0 ? "" : ", ") + absent[place];
  return absent.size() > most ? text + " and " + std::to_string(absent.size() - most) + " more" : text;
}

}  // namespace

Frontier find_frontier(const ReportedRun& run) {
  const std::optional<std::int32_t> stages = stages_of(run);
  const std::size_t ranks = run.traces.size() + missing_ranks(run.summary());
  std::map<std::int64_t, StageWork> work;
  std::map<IterationKey, Duration> lengths;
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    if (!run.counts(trace)) continue;
    StageWork& own = work[stages ? run.rank(trace).stage->stage : static_cast<std::int64_t>(trace)];
    for (const auto& [key, iteration] : run.traces[trace].series.iterations()) {
      if (!iteration.is_measured) continue;
      const Duration length = iteration.ended - iteration.started, most = length - iteration.idle;
      own.add(key, run.rank(trace).name, most - iteration.uncertain, most);
      lengths[key] = std::max(lengths[key], length);
    }
  }
  if (stages && !work.empty() && work.size() < static_cast<std::size_t>(*stages)) {
    Frontier frontier;
    frontier.missing = "no rank of " + absent_stages(work, *stages) + " can be compared";
    return frontier;
  }
  std::vector<UnitOfWork> units;
  for (auto& [number, own] : work)
    units.push_back(own.take(stages ? "stage " + std::to_string(number)
                                    : "rank " + run.rank(static_cast<std::size_t>(number)).name));
  return find_frontier(units, lengths, ranks);
}

}  // namespace weft::report
