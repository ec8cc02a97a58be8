// A pipeline in virtual time, or several that sum up their gradients: all events of all ranks, with fill work beside
// them.
//
// Each rank's events come out as its shim would note them and its words would tell them, at the time at which they
// happen. Whoever watches may take a rank's GPU for a while (fill work), and what that delays is passed on to the other
// ranks by their messages. Used by `weft simulate`, the benchmark of policies and tests. No clock; equal options give
// equal events, with fill and without, on any number of threads: the length of each piece depends on the seed and its
// number alone.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "sim/pipeline/communicators.h"
#include "sim/pipeline/replica.h"

namespace weft::pipeline {

class World {
 public:
  // The watcher outlives the world.
  World(const WorldOptions& options, Watcher& watcher);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void run();  // to the end of the last iteration
  int ranks() const { return static_cast<int>(programs_.of_place.size() * replicas_.size()); }
  int places() const { return static_cast<int>(programs_.of_place.size()); }  // of a pipeline
  std::size_t groups_in_iteration(int rank) const { return of(rank).groups_in_iteration(rank); }
  std::vector<Membership> communicators(int rank) const {
    return communicators_of(programs_, static_cast<int>(replicas_.size()), rank);
  }
  const RankTotals& totals(int rank) const { return of(rank).totals(rank); }

  // For the watcher, at any of its calls, of the rank that it is about.
  TimePoint now(int rank) const { return of(rank).now(); }
  void wake(int rank, TimePoint time) { of(rank).wake(rank, time); }  // each call once; not when all hosts have ended
  // Fill work has the GPU to itself: what computes now goes on afterwards, what comes next begins then.
  void take_gpu(int rank, TimePoint from, TimePoint until) { of(rank).take_gpu(rank, from, until); }
  // A kernel that takes so long on the idle GPU has it with the pieces, as of WorldOptions::sharing, when those that
  // came before it have ended, and not before this time. Watcher::shared() tells its end. Not with Sharing::alone.
  void share_gpu(int rank, TimePoint from, Duration alone) { of(rank).share_gpu(rank, from, alone); }
  const Sharing& sharing() const { return options_.sharing; }
  bool tells_operations() const { return options_.tells_operations; }
  // All streams of the rank, as they would answer now.
  void ask(int rank, std::vector<std::pair<StreamId, Answer>>& answers) const { of(rank).ask(rank, answers); }

 private:
  std::size_t index_of(int rank) const { return static_cast<std::size_t>(rank) / programs_.of_place.size(); }
  Replica& of(int rank) { return replicas_[index_of(rank)]; }
  const Replica& of(int rank) const { return replicas_[index_of(rank)]; }
  std::vector<Replica::Time> limits() const;
  void run_each(const std::vector<Replica::Time>& limits);
  bool end_sums();

  const WorldOptions options_;
  const Programs programs_;
  std::deque<Replica> replicas_;
};

}  // namespace weft::pipeline
