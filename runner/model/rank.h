// One rank in virtual time: the events of a pipeline's world reach its policy when a dispatcher thread would see them,
// and the slices that the policy wants run on its GPU.
//
// Used by the model of a run. Pure, one thread at a time. As in the training process, calls come with their own times
// and words with the middle of the time since the look before (core/event_source). Looks at which nothing has happened
// and nothing is to be decided change nothing, so only their times are gone through.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "runner/model/dispatcher_times.h"
#include "runner/model/executor.h"
#include "runner/model/policy.h"
#include "runner/model/rank_records.h"
#include "sim/pipeline/world.h"

namespace weft::model {

// Gaps between pieces of the main job, by length: shorter than 0.5 ms, than 1 ms, than 5 ms, longer.
struct Gaps {
  struct Class {
    Duration idle{}, filled{};
    std::uint64_t count = 0;
  };
  static constexpr std::array<Duration, 3> bounds{Duration{500'000}, Duration{1'000'000}, Duration{5'000'000}};
  std::array<Class, bounds.size() + 1> classes{};

  void add(Duration gap, Duration filled);
  void add(const Gaps& other);
};

class Rank {
 public:
  // Without a policy it only counts gaps. `room`: bytes for the jobs, see Executor. World, jobs, times and sink outlive
  // the rank.
  Rank(int number, pipeline::World& world, const std::deque<Job>& jobs, JobPolicy policy, const DispatcherTimes& times,
       RecordSink* sink, std::uint64_t room)
      : number_(number),
        world_(world),
        times_(times),
        executor_(jobs, policy, gpu_of(world, number), room),
        records_(sink) {}
  // Before the world runs. At these times jobs arrive.
  void follow(std::unique_ptr<Policy> policy, std::span<const TimePoint> arrivals);
  RankRecords& records() { return records_; }
  std::optional<TraceSummary> summary() { return policy_ == nullptr ? std::nullopt : policy_->summary(); }

  // As of pipeline::Watcher.
  void saw(const Event& event);
  void woken(TimePoint now);
  void computed(const pipeline::Span& span, bool counts);
  void shared(TimePoint now);

  const Executor& executor() const { return executor_; }
  const Gaps& gaps() const { return gaps_; }
  const Gaps& left_out() const { return left_out_; }  // of iterations without fill
  Duration beside() const { return beside_; }         // fill work while pieces ran or were held up
  std::uint64_t looks() const { return looks_; }
  std::uint64_t decisions() const { return decisions_; }

 private:
  static bool is_word(const Event& event);
  static SliceGpu gpu_of(pipeline::World& world, int number);
  void look(TimePoint now);
  bool launch_one(TimePoint time);
  void record_variants();
  void wake_at(TimePoint time);
  bool sleeps_at(TimePoint time) const;

  const int number_;
  pipeline::World& world_;
  const DispatcherTimes& times_;
  Executor executor_;
  RankRecords records_;
  std::unique_ptr<Policy> policy_;
  std::vector<Event> events_;  // since the last look
  std::vector<SliceRecord> finished_;
  TimePoint last_look_{};
  TimePoint wakes_ = TimePoint::max();
  TimePoint last_piece_{};
  Gaps gaps_, left_out_;
  Duration beside_{};
  std::uint64_t looks_ = 0, decisions_ = 0;
};

}  // namespace weft::model
