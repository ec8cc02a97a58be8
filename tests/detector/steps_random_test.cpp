// Programs of optimizer steps that are drawn at random: numbers of calls and microbatches, collectives within them,
// skipped steps, evaluation. After a while every step is found, and ranks count them alike.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <string>

#include "steps.h"

namespace weft::testing {
namespace {

struct Drawn {
  int calls, microbatches, more, buckets, skip_every, evaluate_every, evaluations;
  bool tensor_parallel, sharded, tied_embedding, experts;
  enum class Loss { none, all_ranks, last_stage } loss;
};

Drawn draw(unsigned seed) {
  std::minstd_rand random(seed);
  random.discard(5);
  const auto from = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  const auto one_in = [&](int n) { return from(1, n) == 1; };
  Drawn d{};
  d.calls = from(1, 4);
  d.microbatches = from(2, 6);
  d.more = from(1, 3);
  d.buckets = from(1, 4);
  d.skip_every = one_in(3) ? from(5, 10) : 0;
  d.evaluate_every = one_in(3) ? from(6, 13) : 0;
  d.evaluations = from(1, 3);
  d.tensor_parallel = one_in(3);
  d.sharded = one_in(2);
  d.tied_embedding = one_in(2);
  d.experts = one_in(4);
  d.loss = static_cast<Drawn::Loss>(from(0, 2));
  return d;
}

void call(Rank& rank, const Drawn& d, int microbatches) {
  rank.microbatches(microbatches, [&] {
    for (int layer = 0; d.tensor_parallel && layer < 3; ++layer) rank.sum(tensor, 1'000'000);
    if (d.experts) rank.all_to_all();
  });
  if (d.loss == Drawn::Loss::all_ranks) rank.sum(data, loss);
  if (d.loss == Drawn::Loss::last_stage && !rank.is_first()) rank.sum(embedding, loss);
}

bool is_last_of(int every, int step) {
  return every != 0 && step % every == every - 1;
}

void step(Rank& rank, const Drawn& d, int number) {
  for (int i = 0; i < d.calls; ++i) call(rank, d, d.microbatches + number % d.more);
  // A step that leaves nothing behind cannot be seen, and one of several calls that is skipped looks like one of more.
  const bool may_skip = d.calls == 1 && d.loss == Drawn::Loss::all_ranks;
  if (!may_skip || !is_last_of(d.skip_every, number)) {
    for (int i = 0; i < d.buckets; ++i) rank.sum(data, gradients + 4 * static_cast<std::uint64_t>(i), scattered);
    if (d.tied_embedding && rank.is_first()) rank.sum(embedding, 2 * gradients);
    if (d.sharded) rank.sum(data, weights, gathered);
  }
  rank.step_ended();
  for (int i = 0; is_last_of(d.evaluate_every, number) && i < d.evaluations; ++i) {
    rank.forward(6);
    rank.sum(data, loss, broadcast);
  }
}

TEST(StepsAtRandom, AreFoundAndCountedAlike) {
  constexpr int steps = 100;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Drawn drawn = draw(seed);
    std::array<std::map<std::size_t, std::uint64_t>, 2> found;
    for (std::size_t r = 0; r < 2; ++r) {
      Rank rank(static_cast<int>(r));
      rank.sum(data, 1'000'000);
      for (int i = 0; i < steps; ++i) step(rank, drawn, i);
      std::size_t wrong = 0;
      found[r] = steps_among(rank, wrong);
      EXPECT_LE(wrong, 10U);
      for (std::size_t i = 60; i + 1 < steps; ++i) EXPECT_TRUE(found[r].contains(i)) << "rank " << r << " step " << i;
    }
    for (std::size_t i = 60; i + 1 < steps; ++i) {
      const std::uint64_t one = found[0][i], other = found[1][i];
      EXPECT_LE(std::max(one, other) - std::min(one, other), 1U) << i;  // the period may be found one later
    }
  }
}

}  // namespace
}  // namespace weft::testing
