// See run.h.
#include "runner/model/run.h"

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "runner/policy/seconds.h"
#include "trace/totals.h"

namespace weft::model {
namespace {

// With all that a trace has.
pipeline::WorldOptions traced(pipeline::WorldOptions world, const TraceOf& trace_of) {
  world.tells_operations = trace_of != nullptr;
  return world;
}

class Run final : public pipeline::Watcher {
 public:
  Run(const RunOptions& options, const Progress& progress, const TraceOf& trace_of)
      : options_(options), progress_(progress), trace_of_(trace_of), world_(traced(options.world, trace_of), *this) {
    for (const JobOptions& job : options.jobs) {
      jobs_.emplace_back(job.kernels, options.slices, job.terms, job.memory, job.arrives, job.variant);
      for (const VariantOptions& variant : job.smaller)
        jobs_.back().add_variant(variant.name, variant.kernels, options.slices, variant.memory);
      arrivals_.push_back(jobs_.back().arrives());
    }
    if (!std::ranges::is_sorted(arrivals_))
      throw std::invalid_argument("the jobs are not in the order of their arrivals");
  }

  RunResult result(const MakePolicy& make_policy) {
    for (int rank = 0; rank < world_.ranks(); ++rank) {
      RankTrace* const trace = trace_of_ ? trace_of_(rank) : nullptr;
      if (trace != nullptr) tell_communicators(rank, *trace);
      ranks_.emplace_back(rank, world_, jobs_, options_.job_policy, options_.dispatcher, trace, room_of(rank));
      ranks_.back().follow(make_policy(world_, rank, ranks_.back().records()), arrivals_);
    }
    world_.run();
    RunResult result;
    result.ranks = world_.ranks();
    result.most_activations.resize(static_cast<std::size_t>(world_.places()));
    const Duration all_time = world_.totals(0).iteration_ends.back().time_since_epoch();
    for (int rank = 0; rank < world_.ranks(); ++rank) {
      add(result, of(rank));
      std::uint64_t& most = result.most_activations[place_of(rank)];
      most = std::max(most, world_.totals(rank).most_activations);
      const std::optional<TraceSummary> summary = of(rank).summary();
      if (summary) result.spun_share += seconds(summary->spun) / seconds(all_time) / world_.ranks();
      if (rank == 0 && summary && summary->slowdown && summary->slowdown->control > 0)
        result.reported = summary->slowdown;
      if (trace_of_ && summary) trace_of_(rank)->finish(*summary);
    }
    for (std::uint32_t job = 0; job < jobs_.size(); ++job) result.jobs.push_back(result_of(job));
    const std::vector<TimePoint>& ends = world_.totals(0).iteration_ends;
    const auto warm_up = static_cast<std::size_t>(options_.warm_up);
    result.iterations = static_cast<int>(ends.size() - warm_up);
    const auto since = [&](std::size_t first) { return ends.back() - (first == 0 ? TimePoint{} : ends[first - 1]); };
    result.length = since(warm_up);
    result.late = since((warm_up + ends.size()) / 2);
    return result;
  }

  void saw(int rank, const Event& event) override { of(rank).saw(event); }
  void woken(int rank, TimePoint now) override { of(rank).woken(now); }
  void shared(int rank, TimePoint now) override { of(rank).shared(now); }
  void computed(int rank, const pipeline::Span& span) override {
    const std::size_t iterations = world_.totals(rank).iteration_ends.size();
    of(rank).computed(span, iterations >= static_cast<std::size_t>(options_.warm_up));
    if (rank != 0 || iterations == told_) return;
    told_ = iterations;
    if (progress_) progress_(static_cast<int>(iterations));
  }

 private:
  Rank& of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  std::size_t place_of(int rank) const { return static_cast<std::size_t>(rank % world_.places()); }
  std::uint64_t room_of(int rank) const {
    return options_.room.empty() ? Executor::no_limit : options_.room[place_of(rank)];
  }

  void tell_communicators(int rank, RankTrace& trace) const {
    for (const pipeline::Membership& of : world_.communicators(rank))
      trace.push(Record(0, TimePoint{},
                        CommunicatorRecord{of.communicator, of.rank, of.ranks, CommunicatorEvent::opened, of.id}));
  }

  JobResult result_of(std::uint32_t job) const {
    JobResult result;
    const auto has_room = [job](const Rank& rank) { return rank.executor().has_room(job); };
    result.arrived = arrivals_[job];
    if (std::any_of(ranks_.begin(), ranks_.end(), has_room)) result.ended = TimePoint{};
    for (const Rank& rank : ranks_) {
      if (!has_room(rank)) continue;
      const std::optional<TimePoint> began = rank.executor().began(job), done = rank.executor().done(job);
      result.units += rank.executor().standing(job).done;
      result.filled += rank.executor().standing(job).filled;
      add_variant(result.variant, rank.executor().variant(job));
      if (began) result.began = std::min(result.began.value_or(*began), *began);
      result.ended = result.ended && done ? std::optional(std::max(*result.ended, *done)) : std::nullopt;
    }
    return result;
  }

  static void add(RunResult& sum, Rank& rank) {
    const RankRecords& records = rank.records();
    sum.gaps.add(rank.gaps());
    sum.left_out.add(rank.left_out());
    sum.beside += rank.beside();
    sum.true_idle += records.agreement.true_time();
    sum.reported_idle += records.agreement.reported();
    sum.both_idle += records.agreement.both();
    sum.forecast += records.forecast;
    sum.as_forecast += records.as_forecast;
    if (!records.why_stopped.empty() && ++sum.stopped == 1) sum.why_stopped = records.why_stopped.c_str();
    sum.looks += rank.looks();
    sum.decisions += rank.decisions();
  }

  const RunOptions& options_;
  const Progress& progress_;
  const TraceOf& trace_of_;
  std::deque<Job> jobs_;
  std::vector<TimePoint> arrivals_;
  pipeline::World world_;
  std::deque<Rank> ranks_;
  std::size_t told_ = 0;
};

}  // namespace

RunResult run(const RunOptions& options, const MakePolicy& make_policy, const Progress& progress,
              const TraceOf& trace_of) {
  return Run(options, progress, trace_of).result(make_policy);
}

}  // namespace weft::model
