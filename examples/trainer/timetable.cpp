// See timetable.h.
#include "timetable.h"

namespace trainer {

Timetable::Timetable(const Pipeline& pipeline) : pipeline_(pipeline) {
  for (int rank = 0; rank < pipeline.ranks; ++rank) {
    int computed = 0;
    for (const Instruction& i : make_program(pipeline, rank)) {
      if (i.kind == Instruction::Kind::forward || i.kind == Instruction::Kind::backward) ++computed;
      for (const Transfer& t : i.sends) before_send_[tensor(rank, t, true)] = computed;
      for (const Transfer& t : i.receives) before_receive_[tensor(rank, t, false)] = computed;
    }
    computed_.push_back(computed);
  }
}

int Timetable::other_end_computed(int rank, const Transfer& transfer, bool is_send) const {
  return (is_send ? before_receive_ : before_send_).at(tensor(rank, transfer, is_send));
}

Timetable::Tensor Timetable::tensor(int rank, const Transfer& transfer, bool is_send) const {
  const int own = transfer.chunk * pipeline_.ranks + rank;
  const int previous = transfer.direction == Direction::forward ? own - 1 : own + 1;
  return {transfer.direction, transfer.microbatch, is_send ? own : previous};
}

}  // namespace trainer
