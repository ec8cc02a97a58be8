// See simulation.h.
#include "runner/model/simulation.h"

#include <algorithm>
#include <stdexcept>

#include "runner/model/policies.h"
#include "runner/policy/seconds.h"

namespace weft::model {
namespace {

double part_of(Duration part, Duration whole) {
  return whole > Duration{} ? seconds(part) / seconds(whole) : 0;
}

Gaps::Class sum_of(const Gaps& gaps) {
  Gaps::Class sum;
  for (const Gaps::Class& each : gaps.classes) {
    sum.idle += each.idle;
    sum.filled += each.filled;
    sum.count += each.count;
  }
  return sum;
}

}  // namespace

pipeline::Schedule schedule_of(const std::string& name) {
  const auto& names = pipeline::schedule_names;
  const auto known = std::find(names.begin(), names.end(), name);
  if (known == names.end()) throw std::invalid_argument("there is no schedule " + name);
  return static_cast<pipeline::Schedule>(known - names.begin());
}

std::vector<std::vector<int>> branching(int stages) {
  std::vector<std::vector<int>> followers(static_cast<std::size_t>(stages));
  for (int stage = 0; stage + 1 < stages; ++stage) followers[static_cast<std::size_t>(stage)] = {stage + 1};
  if (stages >= 4) {
    followers[0] = {1, 2};
    followers[1] = {3};
  }
  return followers;
}

RunResult without_fill(const RunOptions& options, const Progress& progress) {
  return run(
      options, [](const pipeline::World&, int, RecordSink&) { return nullptr; }, progress);
}

Simulation simulate(const SimulationOptions& options, const Progress& progress, const TraceOf& trace_of) {
  return simulate(without_fill(options.run, progress), options, progress, trace_of);
}

Simulation simulate(const RunResult& without, const SimulationOptions& options, const Progress& progress,
                    const TraceOf& trace_of) {
  const MakePolicy policy = policy_of(options);
  RunOptions filled = run_options_of(options);
  Simulation result;
  result.stages = memory_of(options.memory, without, options.run.jobs);
  if (options.memory.gpu != 0)
    for (const StageMemory& stage : result.stages) filled.room.push_back(stage.free);
  const RunResult with = run(filled, policy, progress, trace_of);
  result.iterations = without.iterations + options.run.warm_up;
  result.ranks = without.ranks;
  const double all_time = seconds(without.length) * without.ranks;
  result.iteration_seconds = seconds(without.length) / without.iterations;
  result.idle_share = seconds(sum_of(without.gaps).idle) / all_time;
  result.slowdown = seconds(with.length) / seconds(without.length) - 1;
  result.late_slowdown = seconds(with.late) / seconds(without.late) - 1;
  const Gaps::Class may = sum_of(with.gaps), left_out = sum_of(with.left_out);
  result.conversion = part_of(may.filled + with.beside, may.idle);
  result.conversion_of_all = part_of(may.filled + left_out.filled + with.beside, may.idle + left_out.idle);
  for (std::size_t i = 0; i < with.gaps.classes.size(); ++i) {
    result.conversion_of_class[i] = part_of(with.gaps.classes[i].filled, with.gaps.classes[i].idle);
    result.share_of_class[i] = part_of(with.gaps.classes[i].idle, may.idle);
  }
  result.gpu_equivalents = seconds(may.filled + left_out.filled + with.beside) / seconds(with.length);
  result.utilisation_gain = result.gpu_equivalents / (without.ranks * (1 - result.idle_share));
  result.coverage = part_of(with.both_idle, with.true_idle);
  result.precision = part_of(with.both_idle, with.reported_idle);
  result.as_forecast =
      with.forecast == 0 ? 0 : static_cast<double>(with.as_forecast) / static_cast<double>(with.forecast);
  result.spun = with.spun_share;
  result.looks = with.looks;
  result.decisions = with.decisions;
  result.stopped = with.stopped;
  result.why_stopped = with.why_stopped;
  result.reported = with.reported;
  result.jobs = with.jobs;
  return result;
}

}  // namespace weft::model
