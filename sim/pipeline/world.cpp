// See world.h. The pipelines run on their own from one sum of gradients to the next: so what one of them works with
// stays in the caches, and several threads run several of them.
#include "sim/pipeline/world.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

namespace weft::pipeline {

World::World(const WorldOptions& options, Watcher& watcher)
    : options_(options), programs_(programs_of(kinds_of(options.schedule, options.kinds), options.program)) {
  for (int replica = 0; replica < options.replicas; ++replica)
    replicas_.emplace_back(options_, programs_, replica * static_cast<int>(programs_.of_place.size()), watcher);
}

void World::run() {
  const auto is_over = [](const Replica& replica) { return replica.next_time() == Replica::never; };
  do {
    run_each(limits());
  } while (end_sums() || !std::all_of(replicas_.begin(), replicas_.end(), is_over));
}

// A sum ends when all pipelines were there, so not before those that were, nor before the next event of those that were
// not. To that time nothing can happen to a pipeline that waits for it. The one whose next event is the earliest of all
// always gets on.
std::vector<Replica::Time> World::limits() const {
  std::vector<Replica::Time> limits(replicas_.size(), Replica::never);
  for (std::size_t sum = 0; sum < replicas_.front().sums(); ++sum) {
    Replica::Time earliest_end = 0;
    for (const Replica& replica : replicas_)
      earliest_end = std::max(earliest_end, replica.arrived(sum).value_or(replica.next_time()));
    for (std::size_t i = 0; i < replicas_.size(); ++i)
      if (replicas_[i].arrived(sum)) limits[i] = std::min(limits[i], earliest_end);
  }
  return limits;
}

void World::run_each(const std::vector<Replica::Time>& limits) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < replicas_.size(); i = next++) replicas_[i].run(limits[i]);
  };
  const std::size_t threads = std::min<std::size_t>(std::max(1, options_.threads), replicas_.size());
  std::vector<std::jthread> others;
  while (others.size() + 1 < threads) others.emplace_back(work);
  work();
}

// True: one has ended.
bool World::end_sums() {
  bool any = false;
  for (std::size_t sum = 0; sum < replicas_.front().sums(); ++sum) {
    Replica::Time last = 0;
    const bool all = std::all_of(replicas_.begin(), replicas_.end(), [&](const Replica& replica) {
      last = std::max(last, replica.arrived(sum).value_or(0));
      return replica.arrived(sum).has_value();
    });
    if (!all) continue;
    // A ring moves each byte twice. The last sum is of numbers.
    const bool whole = sum + 1 == replicas_.front().sums();
    const double bytes = whole ? 0 : 2 * static_cast<double>(options_.gradient_bytes);
    const Replica::Time end = last + options_.latency.count() + std::llround(bytes / options_.bandwidth * 1e9);
    for (Replica& replica : replicas_) replica.end_sum(sum, end);
    any = true;
  }
  return any;
}

}  // namespace weft::pipeline
