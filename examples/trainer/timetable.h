// Who has to have computed how much before an exchange can begin, read off the programs of all ranks. Pure; for ranks
// that sleep instead of computing (sleeper.cpp), which must not post a receive before its data is there.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "schedule.h"

namespace trainer {

class Timetable {
 public:
  explicit Timetable(const Pipeline& pipeline);

  // How many forwards and backwards the rank does in an iteration.
  int computed(int rank) const { return computed_[static_cast<std::size_t>(rank)]; }
  // For a transfer as `rank` has it in its program: how many of those the *other* end has done before its exchange.
  int other_end_computed(int rank, const Transfer& transfer, bool is_send) const;

 private:
  // One tensor on its way: direction, microbatch and the stage that it comes from.
  using Tensor = std::tuple<Direction, int, int>;
  Tensor tensor(int rank, const Transfer& transfer, bool is_send) const;

  Pipeline pipeline_;
  std::vector<int> computed_;
  std::map<Tensor, int> before_send_, before_receive_;
};

}  // namespace trainer
