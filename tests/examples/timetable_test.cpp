// Which end of a transfer has to have computed how much: known schedules, and what holds for all of them.
#include "timetable.h"

#include <gtest/gtest.h>

namespace trainer {
namespace {

constexpr Direction forward_pass = Direction::forward, backward_pass = Direction::backward;

TEST(Timetable, CountsWhatARankComputes) {
  EXPECT_EQ(Timetable({ScheduleKind::gpipe, 3, 5, 1}).computed(1), 10);
  EXPECT_EQ(Timetable({ScheduleKind::one_f_one_b, 4, 8, 1}).computed(3), 16);
  EXPECT_EQ(Timetable({ScheduleKind::interleaved, 2, 4, 3}).computed(0), 24);
}

TEST(Timetable, KnowsGpipe) {
  const Timetable timetable({ScheduleKind::gpipe, 3, 4, 1});
  // The middle rank takes microbatch 2 when it has done two; its predecessor has done three then.
  EXPECT_EQ(timetable.other_end_computed(0, {forward_pass, 2, 0, 1}, true), 2);
  EXPECT_EQ(timetable.other_end_computed(1, {forward_pass, 2, 0, 0}, false), 3);
  // The last rank sends the gradient of microbatch 0 after four forwards and one backward.
  EXPECT_EQ(timetable.other_end_computed(1, {backward_pass, 0, 0, 2}, false), 5);
  EXPECT_EQ(timetable.other_end_computed(2, {backward_pass, 0, 0, 1}, true), 4);
}

TEST(Timetable, KnowsTheSteadyStateOfOneForwardOneBackward) {
  const Timetable timetable({ScheduleKind::one_f_one_b, 2, 4, 1});
  // Rank 0: forward 0, then forward 1, send it and get gradient 0, backward 0, ...
  EXPECT_EQ(timetable.other_end_computed(1, {forward_pass, 0, 0, 0}, false), 1);
  EXPECT_EQ(timetable.other_end_computed(1, {forward_pass, 1, 0, 0}, false), 2);
  EXPECT_EQ(timetable.other_end_computed(1, {backward_pass, 0, 0, 0}, true), 2);
  EXPECT_EQ(timetable.other_end_computed(1, {backward_pass, 1, 0, 0}, true), 4);
}

TEST(Timetable, FindsTheOtherEndOfEveryTransfer) {
  for (const ScheduleKind kind : {ScheduleKind::gpipe, ScheduleKind::one_f_one_b, ScheduleKind::interleaved}) {
    const Pipeline pipeline{kind, 4, 8, kind == ScheduleKind::interleaved ? 2 : 1};
    const Timetable timetable(pipeline);
    int transfers = 0;
    for (int rank = 0; rank < pipeline.ranks; ++rank) {
      for (const Instruction& i : make_program(pipeline, rank)) {
        for (const Transfer& t : i.receives) {
          const int computed = timetable.other_end_computed(rank, t, false);
          EXPECT_GT(computed, 0) << "a tensor is sent before anything was computed";
          EXPECT_LE(computed, timetable.computed(t.peer));
          ++transfers;
        }
        for (const Transfer& t : i.sends) {
          EXPECT_LT(timetable.other_end_computed(rank, t, true), timetable.computed(t.peer))
              << "a tensor is received when nothing is left to compute";
          --transfers;
        }
      }
    }
    EXPECT_EQ(transfers, 0);
  }
}

}  // namespace
}  // namespace trainer
