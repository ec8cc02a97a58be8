// The systems that Weft is compared with, as far as their decisions are known. docs/bench.md has their parameters with
// where each comes from, and what they publish.
//
// Made by policies.cpp. Pure.
#pragma once

#include "runner/model/baselines/detector_policy.h"
#include "runner/model/baselines/slot_lengths.h"

namespace weft::model {

// Weft until its planner went by expected cost: nothing is launched that would end less than a guard before the
// forecast end, nor in bubbles that are forecast to be short.
class FirstPlanner final : public DetectorPolicy {
 public:
  using DetectorPolicy::DetectorPolicy;
  Decision decide(TimePoint now, const FillView& view) override;
  std::optional<TimePoint> next_decision() const override { return next_; }

 private:
  std::optional<TimePoint> next_;
};

// A plan from the first iterations, for the longest two bubbles of an iteration only: that between the last and the
// first microbatch, and that between forward and backward passes.
class PipeFill final : public DetectorPolicy {
 public:
  static constexpr std::size_t profiled_iterations = 3, planned_bubbles = 2;
  static constexpr double planned_part = 0.68;  // of a bubble

  using DetectorPolicy::DetectorPolicy;
  Decision decide(TimePoint now, const FillView& view) override;
  std::optional<TimePoint> next_decision() const override { return std::nullopt; }

 private:
  void closed(const Bubble& bubble) override { lengths_.add(bubble); }
  SlotLengths lengths_{profiled_iterations};
};

// A manager that looks every 10 ms starts a task where a bubble has just opened; the task goes on, step by step, while
// the shortest length that was profiled leaves room for a step and a reserve.
class FreeRide final : public DetectorPolicy {
 public:
  static constexpr std::size_t profiled_iterations = 3;
  static constexpr Duration tick{10'000'000};        // of the manager
  static constexpr Duration after_step{10'000'000};  // a task sleeps
  static constexpr double reserve = 1.2;             // times the step, rounded up to ticks

  using DetectorPolicy::DetectorPolicy;
  Decision decide(TimePoint now, const FillView& view) override;
  std::optional<TimePoint> next_decision() const override { return next_; }

 private:
  void closed(const Bubble& bubble) override { lengths_.add(bubble); }
  void finished_one(TimePoint time) override { rested_ = time + after_step; }

  SlotLengths lengths_{profiled_iterations};
  TimePoint rested_{};
  std::optional<TimePoint> next_;
};

// Schedulers that let the other job run when the first one has nothing outstanding: a receive that waits is.
class Gating final : public Policy {
 public:
  static constexpr Duration poll{100'000};

  Gating(const pipeline::World& world, int rank) : world_(world), rank_(rank) {}
  void look(TimePoint, std::span<const Event>, std::span<const SliceRecord>, const FillView&) override {}
  Decision decide(TimePoint now, const FillView& view) override;
  void launched() override {}
  TimePoint next_look(TimePoint now, std::uint32_t) const override { return now + poll; }
  std::optional<TimePoint> next_decision() const override { return next_; }

 private:
  const pipeline::World& world_;
  const int rank_;
  std::vector<std::pair<StreamId, Answer>> answers_;
  std::optional<TimePoint> next_;
};

}  // namespace weft::model
