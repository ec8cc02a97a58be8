// The systems that Weft is compared with, as far as their decisions are known. docs/bench.md has their parameters with
// where each comes from, and what they publish.
//
// Made by policies.cpp. Pure.
#pragma once

#include <cmath>

#include "runner/model/baselines/detector_policy.h"
#include "runner/model/baselines/slot_lengths.h"

namespace weft::model {

// Weft until its planner went by expected cost: nothing is launched that would end less than a guard before the
// forecast end, nor in bubbles that are forecast to be short.
class FirstPlanner final : public DetectorPolicy {
 public:
  static constexpr double usual_guard = 300e-6;  // seconds

  FirstPlanner(const pipeline::World& world, int rank, double guard)
      : DetectorPolicy(world, rank), guard_(std::llround(guard * 1e9)) {}
  Decision decide(TimePoint now, const FillView& view) override;
  std::optional<TimePoint> next_decision() const override { return next_; }

 private:
  const Duration guard_;
  std::optional<TimePoint> next_;
};

// A plan from the first iterations, for the longest two bubbles of an iteration only: that between the last and the
// first microbatch, and that between forward and backward passes.
class PipeFill final : public DetectorPolicy {
 public:
  static constexpr std::size_t profiled_iterations = 3, planned_bubbles = 2;
  static constexpr double usual_part = 0.68;  // of a bubble, that is planned with

  PipeFill(const pipeline::World& world, int rank, double part) : DetectorPolicy(world, rank), part_(part) {}
  Decision decide(TimePoint now, const FillView& view) override;
  std::optional<TimePoint> next_decision() const override { return std::nullopt; }

 private:
  void closed(const Bubble& bubble) override { lengths_.add(bubble); }
  const double part_;
  SlotLengths lengths_{profiled_iterations};
};

// A manager that looks every 10 ms starts a task where a bubble has just opened; the task goes on, step by step, while
// the shortest length that was profiled leaves room for a step and a reserve.
class FreeRide final : public DetectorPolicy {
 public:
  static constexpr std::size_t profiled_iterations = 3;
  static constexpr Duration tick{10'000'000};        // of the manager
  static constexpr Duration after_step{10'000'000};  // a task sleeps
  static constexpr double usual_reserve = 1.2;       // times the step, rounded up to ticks

  FreeRide(const pipeline::World& world, int rank, double reserve) : DetectorPolicy(world, rank), reserve_(reserve) {}
  Decision decide(TimePoint now, const FillView& view) override;
  std::optional<TimePoint> next_decision() const override { return next_; }

 private:
  void closed(const Bubble& bubble) override { lengths_.add(bubble); }
  void finished_one(TimePoint time) override { rested_ = time + after_step; }

  const double reserve_;
  SlotLengths lengths_{profiled_iterations};
  TimePoint rested_{};
  std::optional<TimePoint> next_;
};

// Schedulers that let the other job run when the first one has nothing outstanding: a receive that waits is.
class Gating final : public Policy {
 public:
  static constexpr double usual_poll = 100e-6;  // seconds

  Gating(const pipeline::World& world, int rank, double poll)
      : world_(world), rank_(rank), poll_(std::llround(poll * 1e9)) {}
  void look(TimePoint, std::span<const Event>, std::span<const SliceRecord>, const FillView&) override {}
  Decision decide(TimePoint now, const FillView& view) override;
  void launched(Duration) override {}
  TimePoint next_look(TimePoint now, std::uint32_t) const override { return now + poll_; }
  std::optional<TimePoint> next_decision() const override { return next_; }

 private:
  const pipeline::World& world_;
  const int rank_;
  const Duration poll_;
  std::vector<std::pair<StreamId, Answer>> answers_;
  std::optional<TimePoint> next_;
};

// Fill work is always there, and the GPU alone decides when it runs: see Mps and LowPriority.
class AlwaysOn final : public Policy {
 public:
  AlwaysOn(const pipeline::World&, int, double) {}
  void look(TimePoint, std::span<const Event>, std::span<const SliceRecord>, const FillView&) override {}
  Decision decide(TimePoint now, const FillView& view) override;
  void launched(Duration) override {}
  TimePoint next_look(TimePoint now, std::uint32_t) const override { return now + Duration{50'000}; }
  std::optional<TimePoint> next_decision() const override { return std::nullopt; }
};

// Another process under MPS. Its kernels run beside pieces of the training, and both get on slower.
struct Mps {
  static constexpr double published_slowdown = 0.487;  // of a training beside six side tasks, by FreeRide
  static constexpr double usual_part = 1;              // of the threads that it may use (active thread percentage)

  // The kernel has whatever the piece loses, and no more than its part, which it has on the idle GPU.
  static pipeline::Sharing sharing(double part);
};

// A stream of the lowest priority. A kernel begins where no piece of the training runs, and is not taken off again.
struct LowPriority {
  static constexpr double usual_kernels = 1;  // of a piece: between two of them a kernel of the fill work may begin

  static constexpr pipeline::Sharing sharing{.kind = pipeline::Sharing::Kind::behind};
};

}  // namespace weft::model
