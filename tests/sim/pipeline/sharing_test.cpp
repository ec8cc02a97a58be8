// Kernels that share a GPU with the pieces of a pipeline, against numbers by hand: two stages, one microbatch, forward
// passes of 10 ms and backward passes of 20. The first stage computes from 1 to 11 ms and from 41 to 61, the second
// from 11 to 41.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "sim/pipeline/world.h"

namespace weft::pipeline {
namespace {

constexpr Duration ms{1'000'000};

TimePoint at(Duration time) {
  return TimePoint{time};
}

struct Kernel {
  int rank;
  Duration from, alone;
};

class Filler : public Watcher {
 public:
  void saw(int, const Event&) override {}
  void woken(int, TimePoint) override {}
  void computed(int rank, const Span& span) override {
    if (span.ended > span.reached) spans[rank].push_back(span);
  }
  void shared(int rank, TimePoint now) override { kernel_ends[rank].push_back(now); }

  std::map<int, std::vector<Span>> spans;
  std::map<int, std::vector<TimePoint>> kernel_ends;
};

WorldOptions two_stages(const Sharing& sharing) {
  WorldOptions options;
  options.schedule = {Schedule::gpipe, 2, 1};
  options.iterations = 1;
  options.message_bytes = options.gradient_bytes = 0;
  options.latency = options.host_call = options.optimizer = Duration{0};
  options.sharing = sharing;
  return options;
}

Filler run(const WorldOptions& options, const std::vector<Kernel>& kernels) {
  Filler filler;
  World world(options, filler);
  for (const Kernel& kernel : kernels) world.share_gpu(kernel.rank, at(kernel.from), kernel.alone);
  world.run();
  return filler;
}

constexpr Sharing beside{Sharing::Kind::beside, 0.75, 0.25, 1};
constexpr Sharing behind{Sharing::Kind::behind};

TEST(Sharing, WithoutKernelsNothingChanges) {
  for (const Sharing& sharing : {beside, behind}) {
    Filler filler = run(two_stages(sharing), {});
    ASSERT_EQ(filler.spans[0].size(), 2U);
    EXPECT_EQ(filler.spans[0][1].began, at(41 * ms));
    EXPECT_EQ(filler.spans[0][1].ended, at(61 * ms));
  }
}

// 4 ms at a quarter of the speed are 16, in which the piece does 12.
TEST(Sharing, BesideAPieceBothAreSlower) {
  Filler filler = run(two_stages(beside), {{1, 25 * ms, 4 * ms}});
  EXPECT_EQ(filler.kernel_ends[1], std::vector{at(41 * ms)});
  EXPECT_EQ(filler.spans[1][1].ended, at(45 * ms));
  EXPECT_EQ(filler.spans[1][1].filled_beside, 4 * ms);
  EXPECT_EQ(filler.spans[1][1].filled_before, Duration{0});
  EXPECT_EQ(filler.spans[0][1].began, at(45 * ms)) << "and the other stage waits for it";
  EXPECT_EQ(filler.spans[0][1].ended, at(65 * ms));
}

// Half of it before the piece, the other half beside its first 8 ms.
TEST(Sharing, AKernelThatRunsWhenAPieceBeginsIsSlowerFromThenOn) {
  Filler filler = run(two_stages(beside), {{0, 39 * ms, 4 * ms}});
  EXPECT_EQ(filler.kernel_ends[0], std::vector{at(49 * ms)});
  EXPECT_EQ(filler.spans[0][1].ended, at(63 * ms));
  EXPECT_EQ(filler.spans[0][1].filled_before, 2 * ms);
  EXPECT_EQ(filler.spans[0][1].filled_beside, 2 * ms);
}

// The piece ends after 8 ms, 2 of the 5 are done; the rest is alone.
TEST(Sharing, AKernelThatOutlastsThePieceIsFasterFromThenOn) {
  Filler filler = run(two_stages(beside), {{0, 5 * ms, 5 * ms}});
  EXPECT_EQ(filler.spans[0][0].ended, at(13 * ms));
  EXPECT_EQ(filler.kernel_ends[0], std::vector{at(16 * ms)});
}

TEST(Sharing, KernelsRunOneAfterTheOtherAndTheirPartOfTheIdleGpuIsTheirs) {
  Sharing half = beside;
  half.kernel_alone_rate = 0.5;
  Filler filler = run(two_stages(half), {{0, 15 * ms, 2 * ms}, {0, 16 * ms, 1 * ms}, {0, 30 * ms, 1 * ms}});
  EXPECT_EQ(filler.kernel_ends[0], (std::vector{at(19 * ms), at(21 * ms), at(32 * ms)}));
  EXPECT_EQ(filler.spans[0][1].filled_before, 4 * ms);
  EXPECT_EQ(filler.spans[0][1].ended, at(61 * ms));
}

TEST(Sharing, BehindAPieceAKernelWaitsAndIsWaitedFor) {
  Filler filler = run(two_stages(behind), {{1, 25 * ms, 4 * ms}, {0, 39 * ms, 4 * ms}});
  EXPECT_EQ(filler.spans[1][1].ended, at(41 * ms));
  EXPECT_EQ(filler.kernel_ends[1], std::vector{at(45 * ms)});
  EXPECT_EQ(filler.spans[0][1].reached, at(41 * ms));
  EXPECT_EQ(filler.spans[0][1].began, at(43 * ms));
  EXPECT_EQ(filler.spans[0][1].ended, at(63 * ms));
  EXPECT_EQ(filler.spans[0][1].filled_before, 2 * ms);
  EXPECT_EQ(filler.spans[0][1].filled_beside, 2 * ms);
}

// The backward pass of the second stage has 4 kernels of 5 ms from 21 ms on.
TEST(Sharing, BetweenTwoKernelsOfAPieceTheGpuIsFreeForOneThatWaits) {
  WorldOptions options = two_stages(behind);
  options.kernels_of_piece = 4;
  Filler filler = run(options, {{1, 27 * ms, 1 * ms}, {1, 27 * ms, 2 * ms}});
  EXPECT_EQ(filler.kernel_ends[1], (std::vector{at(32 * ms), at(39 * ms)}));
  EXPECT_EQ(filler.spans[0].back().ended, at(64 * ms));
}

}  // namespace
}  // namespace weft::pipeline
