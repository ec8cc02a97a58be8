// Names of messages in rings, where each rank has several chunks of the model: by plans of all ranks, as
// torch.distributed.pipelining makes them, and by random orders.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/trace/names/scheduled_run.h"

namespace weft {
namespace {

using pipeline::Orders;
using pipeline::Piece;
using pipeline::Work;
using testing::NamedRun;
using testing::RankRun;
using testing::RunStyle;
using testing::Score;

constexpr std::array<std::uint32_t, 3> turns_missed{0, 02222'2222, 0214'2105};

// Which microbatch goes through which chunk of a rank.
struct Pass {
  int microbatch, chunk;
};
using Passes = std::vector<Pass>;

// Rounds of so many microbatches through one chunk after the other.
Passes passes_of(const std::vector<int>& rounds, int chunks, bool forward, bool reversed = false) {
  Passes passes;
  int first = 0;
  for (const int round : rounds) {
    for (int step = 0; step < chunks; ++step)
      for (int i = 0; i < round; ++i)
        passes.push_back({first + (reversed ? round - 1 - i : i), forward ? step : chunks - 1 - step});
    first += round;
  }
  return passes;
}

std::vector<int> even_rounds(int microbatches, int round) {
  std::vector<int> rounds(static_cast<std::size_t>(microbatches / round), round);
  if (microbatches % round > 0) rounds.push_back(microbatches % round);
  return rounds;
}

// The passes of a rank, of both directions: `ahead` forward passes, then `burst` of each in turn.
std::vector<Piece> in_turns(const Passes& forward, const Passes& backward, int rank, int ranks, int ahead, int burst) {
  std::vector<Piece> pieces;
  auto next_forward = forward.begin();
  auto next_backward = backward.begin();
  const auto add = [&](auto& next, const Passes& passes, Work work, int count) {
    for (int i = 0; i < count && next != passes.end(); ++i, ++next)
      pieces.push_back({work, next->chunk * ranks + rank, next->microbatch});
  };
  add(next_forward, forward, Work::forward, ahead);
  while (next_backward != backward.end() || next_forward != forward.end()) {
    add(next_forward, forward, Work::forward, burst);
    add(next_backward, backward, Work::backward, burst);
  }
  return pieces;
}

struct Ring {
  int ranks = 4, chunks = 2;
  Passes forward, backward;
  std::vector<int> ahead{};  // of each rank
  int burst = 1;
};

Orders orders_of(const Ring& ring) {
  Orders orders;
  const int stages = ring.ranks * ring.chunks;
  for (int stage = 0; stage < stages; ++stage) {
    orders.rank_of_stage.push_back(stage % ring.ranks);
    orders.followers.push_back(stage + 1 < stages ? std::vector{stage + 1} : std::vector<int>{});
    orders.sources.push_back(stage > 0 ? std::vector{stage - 1} : std::vector<int>{});
    orders.offloads.push_back(false);
  }
  for (int rank = 0; rank < ring.ranks; ++rank)
    orders.of_rank.push_back(in_turns(ring.forward, ring.backward, rank, ring.ranks,
                                      ring.ahead[static_cast<std::size_t>(rank)], ring.burst));
  return orders;
}

// As interleaved 1F1B (2 ahead of the next rank) and interleaved zero-bubble (1) have it.
std::vector<int> warm_ups(int ranks, int chunks, int round, int ahead_per_rank) {
  std::vector<int> ahead;
  for (int rank = 0; rank < ranks; ++rank) ahead.push_back(ahead_per_rank * (ranks - 1 - rank) + (chunks - 1) * round);
  return ahead;
}

Score score_of(const Ring& ring, int microbatches, const RunStyle& style) {
  const std::vector<RankRun> run = testing::run_of(orders_of(ring), style);
  return NamedRun(run, ring.ranks).score(run, microbatches);
}

TEST(Rings, WithReceivesByAPlanOfAllRanksHaveNamesFromTwoRoundsOn) {
  for (const int ranks : {3, 4, 5, 8})
    for (const int chunks : {2, 3, 4})
      for (const int rounds : {1, 2, 3, 4})
        for (const int ahead : {1, 2})
          for (const std::uint32_t uneven : turns_missed)
            for (const bool paired : {false, true})
              for (const int parts : {1, 2}) {
                const int microbatches = rounds * ranks;
                SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(microbatches) + " microbatches, " +
                             std::to_string(chunks) + " chunks, " + std::to_string(ahead) +
                             " ahead of the next rank, " + std::to_string(uneven) + " uneven" +
                             (paired ? ", paired" : ""));
                const std::vector<int> all = even_rounds(microbatches, ranks);
                const Ring ring{ranks, chunks, passes_of(all, chunks, true), passes_of(all, chunks, false),
                                warm_ups(ranks, chunks, ranks, ahead)};
                const RunStyle style{.paired = paired, .planned = true, .uneven = uneven, .parts = parts};
                const Score score = score_of(ring, microbatches, style);
                EXPECT_EQ(score.wrong, 0U);
                if (rounds > 1) {
                  EXPECT_EQ(score.less, 0U);
                }
              }
}

// One round: the order in which the backward passes take the chunks does not show.
TEST(Rings, WithReceivesByAPlanHaveNoNamesInOneRound) {
  const std::vector<int> round{4}, halves{2, 2};
  for (const std::vector<int>& backward : {round, halves}) {
    const Ring ring{4, 2, passes_of(round, 2, true), passes_of(backward, 2, false), warm_ups(4, 2, 4, 2)};
    const Score score = score_of(ring, 4, {.planned = true, .uneven = turns_missed[1]});
    EXPECT_EQ(score.right + score.wrong, 0U);
  }
}

// Another rank's messages are passed on later, as by programs that send what they have and then take the next.
TEST(Rings, WhoseRanksSendBeforeTheyReceiveHaveNoNames) {
  const std::vector<int> rounds{4, 4};
  const Ring ring{4, 2, passes_of(rounds, 2, true), passes_of(rounds, 2, false), warm_ups(4, 2, 4, 2)};
  std::vector<RankRun> run = testing::run_of(orders_of(ring), {.planned = true});
  const Score as_planned = NamedRun(run, 4).score(run, 8);
  EXPECT_EQ(as_planned.less + as_planned.wrong, 0U);
  GroupRecord* received = nullptr;
  for (Record& record : run[1].records) {
    if (record.kind != RecordKind::group) continue;
    const Operation kind = record.group.operations.begin()->kind;
    if (received != nullptr && kind == Operation::send) std::swap(received->operations, record.group.operations);
    received = kind == Operation::receive ? &record.group : nullptr;
  }
  const Score late = NamedRun(run, 4).score(run, 8);
  EXPECT_EQ(late.right + late.wrong, 0U);
}

// As PyTorch's looped schedule, whose backward passes take the microbatches from the last to the first one.
TEST(Rings, WhoseForwardPassesAllComeFirstHaveNoNames) {
  for (const bool planned : {false, true})
    for (const bool reversed : {false, true})
      for (const int microbatches : {3, 4, 6, 8}) {
        const Ring ring{4, 2, passes_of({microbatches}, 2, true), passes_of({microbatches}, 2, false, reversed),
                        std::vector<int>(4, 2 * microbatches)};
        const Score score = score_of(ring, microbatches, {.planned = planned});
        EXPECT_EQ(score.right + score.wrong, 0U) << microbatches << " microbatches" << (reversed ? ", reversed" : "");
      }
}

// Each tensor of a message is a group of its own: twice as many microbatches would send as often, but in another order.
TEST(Rings, WhoseTensorsAreGroupsOfTheirOwnHaveNoNames) {
  for (const bool planned : {false, true})
    for (const std::uint32_t uneven : turns_missed)
      for (const int ahead : {0, 1, 2, 3})
        for (const int ranks : {3, 4, 6})
          for (const int rounds : {1, 2, 4}) {
            const std::vector<int> all = even_rounds(rounds * ranks, ranks);
            const Ring ring{ranks, 2, passes_of(all, 2, true), passes_of(all, 2, false), warm_ups(ranks, 2, ranks, 2)};
            const RunStyle style{.ahead = ahead, .planned = planned, .uneven = uneven, .parts = 2, .apart = true};
            const Score score = score_of(ring, rounds * ranks, style);
            EXPECT_EQ(score.wrong + score.right, 0U) << ranks << " ranks, " << rounds << " rounds, " << ahead;
          }
}

// Orders that somebody might think of, or not.
class RandomRing {
 public:
  explicit RandomRing(std::uint32_t seed) : random_(seed) {
    ring_.ranks = 3 + up_to(3);
    ring_.chunks = 2 + up_to(2);
    microbatches_ = 1 + up_to(12);
    const std::vector<int> forward = rounds();
    ring_.forward = passes_of(forward, ring_.chunks, true);
    ring_.backward =
        passes_of(up_to(3) > 0 ? forward : even_rounds(microbatches_, 1 + up_to(microbatches_)), ring_.chunks, false);
    ring_.burst = up_to(6) == 0 ? 2 : 1;
    const int per_rank = up_to(4), all = ring_.chunks * microbatches_;
    const int last = up_to(2) == 0 ? (ring_.chunks - 1) * forward[0] + up_to(3) - 1 : up_to(all + 1);
    for (int rank = 0; rank < ring_.ranks; ++rank)
      ring_.ahead.push_back(std::clamp(per_rank * (ring_.ranks - 1 - rank) + last, 0, all));
    style_.planned = up_to(4) > 0;
    style_.uneven = up_to(2) == 0 ? 0 : static_cast<std::uint32_t>(random_()) % (1U << 24);
    style_.paired = up_to(2) == 0;
    style_.ahead = up_to(4);
    style_.iterations = 2;
  }

  const Ring& ring() const { return ring_; }
  const RunStyle& style() const { return style_; }
  int microbatches() const { return microbatches_; }
  std::string text() const {
    std::string text = std::to_string(ring_.ranks) + " ranks, " + std::to_string(ring_.burst) + " in turn, ahead";
    for (const int ahead : ring_.ahead) text += " " + std::to_string(ahead);
    for (const Passes& passes : {ring_.forward, ring_.backward}) {
      text += "; passes";
      for (const Pass& pass : passes) text += " " + std::to_string(pass.chunk) + "." + std::to_string(pass.microbatch);
    }
    return text +
           (style_.planned ? "; planned, uneven " + std::to_string(style_.uneven)
                           : "; posted ahead by " + std::to_string(style_.ahead)) +
           (style_.paired ? ", paired" : "") + (lacks_traces_ ? ", without some traces" : "");
  }
  // Traces of the first and of the last rank, and of some between them.
  bool leaves_trace(int rank) const {
    return rank == 0 || rank == ring_.ranks - 1 || !lacks_traces_ || (style_.uneven >> rank) % 2 == 0;
  }

 private:
  int up_to(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  std::vector<int> rounds() {
    if (up_to(2) == 0) return even_rounds(microbatches_, up_to(2) == 0 ? ring_.ranks : 1 + up_to(microbatches_));
    std::vector<int> rounds;
    for (int left = microbatches_; left > 0; left -= rounds.back()) rounds.push_back(1 + up_to(left));
    return rounds;
  }

  std::mt19937 random_;
  Ring ring_;
  RunStyle style_;
  int microbatches_ = 0;
  bool lacks_traces_ = random_() % 4 == 0;
};

TEST(Rings, OfRandomOrdersHaveNoWrongNames) {
  int named = 0, possible = 0;
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    const RandomRing random(seed);
    const Orders orders = orders_of(random.ring());
    if (!testing::is_possible(orders)) continue;
    ++possible;
    std::vector<RankRun> there;
    for (RankRun& rank : testing::run_of(orders, random.style()))
      if (random.leaves_trace(static_cast<int>(rank.rank))) there.push_back(std::move(rank));
    const Score score = NamedRun(there, random.ring().ranks).score(there, random.microbatches());
    EXPECT_EQ(score.wrong, 0U) << "seed " << seed << ": " << random.text();
    named += score.right > 0 ? 1 : 0;
  }
  EXPECT_GT(named, possible / 20);
  EXPECT_GT(possible, 1000);
}

}  // namespace
}  // namespace weft
