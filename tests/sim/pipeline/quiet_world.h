// A world without messages and host times, in which lengths are sums of whole pieces, and a watcher of it.
#pragma once

#include <functional>
#include <vector>

#include "sim/pipeline/world.h"

namespace weft::pipeline {

inline constexpr Duration ten{10'000'000};

class Nobody : public Watcher {
 public:
  void saw(int, const Event&) override {}
  void woken(int rank, TimePoint now) override {
    if (wake) wake(rank, now);
  }
  void computed(int rank, const Span& span) override {
    if (took) took(rank, span);
  }
  std::function<void(int, TimePoint)> wake;
  std::function<void(int, const Span&)> took;
};

inline WorldOptions without_messages(Schedule schedule) {
  WorldOptions options;
  options.schedule = {schedule, 4, 8};
  options.iterations = 3;
  options.message_bytes = options.gradient_bytes = 0;
  options.latency = options.host_call = options.optimizer = Duration{0};
  return options;
}

inline Duration length_of_iteration(const World& world, int rank, std::size_t iteration) {
  const std::vector<TimePoint>& ends = world.totals(rank).iteration_ends;
  return ends.at(iteration) - ends.at(iteration - 1);
}

}  // namespace weft::pipeline
