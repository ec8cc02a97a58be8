// Optimizer steps that a detector has to tell from what looks like them: gradient accumulation over several calls with
// a collective each, skipped steps, evaluation, few microbatches. Sequences of groups of a pipeline of two stages, in
// virtual time, one group at a time; both ranks number the iterations alike.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "steps.h"

namespace weft::testing {
namespace {

struct Program {
  const char* name;
  int steps;
  Step step;
  int first = 4;            // the first step, from 0, from which on none is missing
  std::size_t missing = 0;  // after it: where the period is lost and found again
  std::size_t wrong = 0;    // that are no steps, before it
  bool by_period = false;   // it leads at the end, so turns do not count all steps
};

std::ostream& operator<<(std::ostream& out, const Program& program) {
  return out << program.name;
}

std::string name_of_program(const ::testing::TestParamInfo<Program>& info) {
  return info.param.name;
}

class Steps : public ::testing::TestWithParam<Program> {
 protected:
  static void run(Rank& rank) {
    rank.sum(data, 1'000'000);
    rank.sum(data, 500'000);
    for (int i = 0; i < GetParam().steps; ++i) GetParam().step(rank, i);
  }
};

TEST_P(Steps, AreTheIterationsOfAllRanks) {
  const Program& program = GetParam();
  std::array<std::map<std::size_t, std::uint64_t>, 2> found;
  for (int r = 0; r < 2; ++r) {
    SCOPED_TRACE("rank " + std::to_string(r));
    Rank rank(r);
    run(rank);
    std::size_t wrong = 0;
    found[static_cast<std::size_t>(r)] = steps_among(rank, wrong);
    const auto& steps = found[static_cast<std::size_t>(r)];
    EXPECT_LE(wrong, program.wrong);
    // The last one may not be known to be over.
    std::size_t missing = 0;
    for (std::size_t i = static_cast<std::size_t>(program.first); i + 1 < rank.ends.size(); ++i)
      missing += steps.contains(i) ? 0 : 1;
    EXPECT_LE(missing, program.missing);
    ASSERT_FALSE(steps.empty());
    if (!program.by_period) {
      EXPECT_EQ(steps.rbegin()->second, steps.rbegin()->first);
    }
  }
  EXPECT_EQ(found[0], found[1]);
}

// Several calls of forward and backward, each with a collective behind it; then those of the optimizer.
Step calls(int count, int microbatches, std::uint64_t behind_each, std::vector<std::uint64_t> at_the_end) {
  return [=](Rank& r, int) {
    for (int call = 0; call < count; ++call) {
      r.microbatches(microbatches);
      r.sum(data, behind_each);
    }
    for (std::size_t i = 0; i < at_the_end.size(); ++i) r.sum(data, at_the_end[i], scattered + i);
    r.step_ended();
  };
}

const std::vector<std::uint64_t> sharded{weights, weights};

Step calls_with_experts() {
  return [](Rank& r, int) {
    for (int call = 0; call < 2; ++call) {
      for (int i = 0; i < 4; ++i) {
        r.all_to_all();
        r.microbatches(1);
      }
      r.sum(data, loss);
    }
    r.sum(data, weights, scattered);
    r.sum(data, weights, gathered);
    r.step_ended();
  };
}

Step calls_with_other_parallelism() {
  return [](Rank& r, int step) {
    for (int call = 0; call < 2; ++call) {
      r.microbatches(4 + step % 3, [&] {
        for (int layer = 0; layer < 4; ++layer) r.sum(tensor, 1'000'000);
      });
      r.sum(data, loss);
    }
    r.sum(data, weights, scattered);
    if (r.is_first()) r.sum(embedding, 2 * weights);
    r.sum(data, weights, gathered);
    r.step_ended();
  };
}

Step calls_with_gathered_weights() {
  return [](Rank& r, int) {
    for (int call = 0; call < 2; ++call) {
      r.microbatches(4, [&] {
        for (int layer = 0; layer < 4; ++layer) r.sum(data, weights, gathered);
      });
      r.sum(data, loss);
    }
    r.sum(data, weights, scattered);
    r.step_ended();
  };
}

Step calls_with_a_loss_of_the_last_stage() {
  return [](Rank& r, int step) {
    for (int call = 0; call < 2; ++call) {
      r.microbatches(4 + step % 3);
      if (!r.is_first()) r.sum(embedding, loss);
    }
    r.sum(data, weights, scattered);
    r.sum(data, weights, gathered);
    r.step_ended();
  };
}

std::vector<Program> accumulation() {
  return {
      {.name = "two_calls", .steps = 40, .step = calls(2, 4, loss, sharded), .by_period = true},
      {.name = "three_calls", .steps = 40, .step = calls(3, 4, loss, sharded), .wrong = 1, .by_period = true},
      {.name = "eight_calls", .steps = 40, .step = calls(8, 4, loss, sharded), .wrong = 6, .by_period = true},
      {.name = "two_calls_of_two", .steps = 40, .step = calls(2, 2, loss, sharded), .by_period = true},
      {.name = "eight_calls_of_one", .steps = 40, .step = calls(8, 1, loss, sharded), .wrong = 12, .by_period = true},
      {.name = "equal_bytes", .steps = 40, .step = calls(2, 4, weights, {weights, weights}), .by_period = true},
      {.name = "two_of_equal_bytes", .steps = 40, .step = calls(2, 4, weights, {weights}), .by_period = true},
      {.name = "a_norm_and_a_log",  // the period is lost with each log, until bounds lead
       .steps = 60,

       .step =
           [](Rank& r, int step) {
             r.microbatches(4);
             r.sum(data, loss);
             if (step % 10 == 9) r.sum(data, 100 * loss, gathered);
             r.step_ended();
           },
       .missing = 9,
       .wrong = 2,
       .by_period = true},
      {.name = "other_microbatches",
       .steps = 40,
       .step = [](Rank& r, int step) { calls(2, 4 + step % 3, loss, sharded)(r, step); }},
      {.name = "other_calls",
       .steps = 40,
       .step = [](Rank& r, int step) { calls(2 + step % 2, 4, loss, sharded)(r, step); },
       .wrong = 1},
      {.name = "experts", .steps = 40, .step = calls_with_experts(), .by_period = true},
      {.name = "tensor_parallel_and_embedding", .steps = 40, .step = calls_with_other_parallelism()},
      {.name = "gathered_weights", .steps = 40, .step = calls_with_gathered_weights(), .by_period = true},
      {.name = "loss_of_the_last_stage", .steps = 40, .step = calls_with_a_loss_of_the_last_stage()},
  };
}

struct Interrupted {
  int microbatches = 4, more = 1;  // in turn so many more
  int skipped_first = 0, skip_every = 0;
  int evaluate_every = 0, evaluations = 1;
  std::uint64_t evaluated = 4 * loss, signature = broadcast;
  bool loss_first = true;
};

Step interrupted(const Interrupted& o) {
  return [=](Rank& r, int step) {
    r.microbatches(o.microbatches + step % o.more);
    if (o.loss_first) r.sum(data, loss);
    const bool skipped = step < o.skipped_first || (o.skip_every != 0 && step % o.skip_every == o.skip_every - 1);
    if (!skipped) r.sum(data, gradients);
    r.step_ended();
    for (int i = 0; o.evaluate_every != 0 && step % o.evaluate_every == o.evaluate_every - 1 && i < o.evaluations;
         ++i) {
      r.forward(6);
      r.sum(data, o.evaluated, o.signature);
    }
  };
}

// Few microbatches, as many as one, and five collectives.
Step few(int least, int more) {
  return [=](Rank& r, int step) {
    r.microbatches(least + step % more);
    for (std::uint64_t i = 0; i < 5; ++i) r.sum(data, gradients - 4 * i);
    r.step_ended();
  };
}

// All weights are gathered now and then, with what the optimizer keeps of them.
Step with_checkpoints(int more) {
  return [=](Rank& r, int step) {
    r.microbatches(4 + step % more);
    r.sum(data, gradients);
    if (step % 10 == 9) r.sum(data, 6 * gradients, gathered);
    r.step_ended();
  };
}

// Without data parallelism. A norm ends the step, and now and then all weights are gathered.
Step with_gathers_only(int more) {
  return [=](Rank& r, int step) {
    r.microbatches(4 + step % more);
    r.sum(data, loss);
    if (step % 8 == 7)
      for (int i = 0; i < 4; ++i) r.sum(data, 16 * gradients, broadcast);
    r.step_ended();
  };
}

// The weights go to a program that generates text after each fourth step.
Step with_rollouts(int more) {
  return [=](Rank& r, int step) {
    r.microbatches(4 + step % more);
    r.sum(data, gradients);
    r.sum(data, loss);
    if (step % 4 == 3)
      for (int i = 0; i < 4; ++i) r.sum(data, 2 * gradients, broadcast);
    r.step_ended();
  };
}

Step with_checkpoint_every_fourth() {
  return [](Rank& r, int step) {
    r.microbatches(4);
    r.sum(data, gradients);
    if (step % 4 == 3) r.sum(data, 8 * gradients, gathered);
    r.step_ended();
  };
}

std::vector<Program> interruptions() {
  return {
      {.name = "skipped_and_evaluated",
       .steps = 140,
       .step = interrupted({.skip_every = 7, .evaluate_every = 10}),
       .missing = 8},
      {.name = "skipped", .steps = 140, .step = interrupted({.skip_every = 7}), .missing = 8},
      {.name = "evaluated", .steps = 140, .step = interrupted({.evaluate_every = 10}), .missing = 8},
      {.name = "evaluated_other_microbatches",
       .steps = 140,
       .step = interrupted({.more = 3, .skip_every = 7, .evaluate_every = 10})},
      {.name = "first_ones_skipped",
       .steps = 60,
       .step = interrupted({.more = 3, .skipped_first = 5, .skip_every = 9}),
       .missing = 3},
      {.name = "evaluated_with_the_same_loss",
       .steps = 140,
       .step =
           interrupted({.more = 3, .evaluate_every = 10, .evaluations = 20, .evaluated = loss, .signature = summed}),
       .missing = 1,
       .wrong = 20},
      {.name = "evaluated_with_more_bytes",
       .steps = 140,
       .step = interrupted(
           {.more = 3, .evaluate_every = 10, .evaluations = 3, .evaluated = 3 * gradients, .loss_first = false})},
      // While the period leads, a step with one ends ahead of it.
      {.name = "checkpoints", .steps = 140, .step = with_checkpoints(1), .missing = 9, .wrong = 2},
      {.name = "checkpoints_other_microbatches", .steps = 140, .step = with_checkpoints(3)},
      {.name = "gathers_without_gradients", .steps = 140, .step = with_gathers_only(1), .missing = 9, .wrong = 3},
      {.name = "gathers_without_gradients_other_microbatches", .steps = 140, .step = with_gathers_only(3)},
      {.name = "checkpoint_every_fourth",
       .steps = 140,
       .step = with_checkpoint_every_fourth(),
       .missing = 9,
       .wrong = 4},
      {.name = "rollouts", .steps = 140, .step = with_rollouts(1), .missing = 9, .wrong = 3},
      {.name = "rollouts_other_microbatches", .steps = 140, .step = with_rollouts(3), .missing = 40},
      {.name = "one_two_three_microbatches", .steps = 60, .step = few(1, 3), .first = 18},
      {.name = "two_three_microbatches", .steps = 60, .step = few(2, 2), .first = 18},
  };
}

INSTANTIATE_TEST_SUITE_P(Accumulation, Steps, ::testing::ValuesIn(accumulation()), name_of_program);
INSTANTIATE_TEST_SUITE_P(Interruptions, Steps, ::testing::ValuesIn(interruptions()), name_of_program);

// Eight calls and one step: the first calls look like steps, and that is said once it is known.
TEST(StepsNote, PartsThatWereCounted) {
  Rank eight(0), two(0);
  for (int i = 0; i < 10; ++i) {
    calls(8, 4, loss, sharded)(eight, i);
    calls(2, 4, loss, sharded)(two, i);
  }
  ASSERT_EQ(eight.notes.size(), 1U);
  EXPECT_NE(eight.notes[0].find("parts of longer ones"), std::string::npos) << eight.notes[0];
  EXPECT_TRUE(two.notes.empty());
}

// All forward passes, then all backward ones.
void forward_and_backward(Rank& r, int microbatches) {
  r.forward(microbatches);
  for (int i = 0; i < microbatches; ++i) r.is_first() ? r.receive() : r.send();
}

// Without data parallelism and without a norm: the only collective is that of a log, every tenth step.
TEST(StepsNote, StepsThatNoCollectiveEnds) {
  for (const int rank : {0, 1}) {
    Rank logs(rank);
    for (int step = 0; step < 100; ++step) {
      forward_and_backward(logs, 6);
      if (step % 10 == 9) logs.sum(data, loss);
      logs.step_ended();
    }
    ASSERT_EQ(logs.notes.size(), 1U);
    EXPECT_NE(logs.notes[0].find("equal parts"), std::string::npos) << logs.notes[0];
  }
}

TEST(StepsNote, NothingWhereGradientsAreAddedUpOrStepsAreNotInParts) {
  Rank accumulates(0), plain(0), alternates(1);
  for (int step = 0; step < 100; ++step) {
    for (int call = 0; call < 4; ++call) forward_and_backward(accumulates, 6);
    accumulates.sum(data, gradients);
    forward_and_backward(plain, 6);
    plain.sum(data, loss);
    alternates.microbatches(6);
    alternates.sum(data, loss);
  }
  for (const Rank* rank : {&accumulates, &plain, &alternates}) {
    EXPECT_GT(rank->iterations.size(), 90U);
    EXPECT_TRUE(rank->notes.empty());
  }
}

}  // namespace
}  // namespace weft::testing
