// Units cut at several lengths.
#include "runner/policy/cuts.h"

#include <gtest/gtest.h>

#include <array>

namespace weft {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Lengths = std::vector<nanoseconds>;
using Ranges = std::vector<SliceRange>;

Ranges from(const Cuts& cuts, std::size_t node) {
  Ranges ranges;
  for (const std::uint32_t slice : cuts.from(node)) ranges.push_back(cuts.slices()[slice]);
  return ranges;
}

Ranges cut(const Lengths& lengths, nanoseconds cap) {
  return Cuts(lengths, std::array{cap}).slices();
}

TEST(Cuts, NothingFromNothing) {
  EXPECT_EQ(cut({}, 300us), Ranges{});
}

TEST(Cuts, TakeNodesWhileTheyFit) {
  EXPECT_EQ(cut({100us, 100us, 100us, 100us}, 300us), (Ranges{{0, 3}, {3, 1}}));
  EXPECT_EQ(cut({150us, 150us, 1us}, 300us), (Ranges{{0, 2}, {2, 1}})) << "exactly the cap fits";
  EXPECT_EQ(cut({100us, 900us, 100us, 100us}, 300us), (Ranges{{0, 1}, {1, 1}, {2, 2}}))
      << "a long one is one of its own";
}

TEST(Cuts, NoneReachesAcrossAFence) {
  const Lengths lengths(6, 50us);
  const std::array<std::size_t, 2> fences{1, 5};
  const Cuts cuts(lengths, std::array<nanoseconds, 2>{100us, 300us}, fences);
  EXPECT_EQ(from(cuts, 0), (Ranges{{0, 1}}));
  EXPECT_EQ(from(cuts, 1), (Ranges{{1, 2}, {1, 4}}));
  EXPECT_EQ(from(cuts, 3), (Ranges{{3, 2}}));
  EXPECT_EQ(from(cuts, 5), (Ranges{{5, 1}}));
}

TEST(Cuts, LongerSlicesAreMadeOfWholeShorterOnes) {
  const Cuts cuts(Lengths(7, 50us), std::array<nanoseconds, 3>{50us, 100us, 300us});
  EXPECT_EQ(cuts.nodes(), 7U);
  EXPECT_EQ(from(cuts, 0), (Ranges{{0, 1}, {0, 2}, {0, 6}}));
  EXPECT_EQ(from(cuts, 1), (Ranges{{1, 1}}));
  EXPECT_EQ(from(cuts, 2), (Ranges{{2, 1}, {2, 2}}));
  EXPECT_EQ(from(cuts, 6), (Ranges{{6, 1}})) << "once, though each length ends with it";
}

TEST(Cuts, FromWhereverASliceEndsAnotherOneBegins) {
  Lengths lengths;
  for (int node = 0; node < 1000; ++node) lengths.push_back(std::chrono::microseconds(1 + node * 37 % 400));
  const std::array<nanoseconds, 3> caps{50us, 100us, 300us};
  const Cuts cuts(lengths, caps);
  for (const SliceRange& range : cuts.slices()) {
    nanoseconds sum{0};
    for (std::size_t node = range.first; node < range.first + range.count; ++node) sum += lengths[node];
    EXPECT_TRUE(range.count == 1 || sum <= caps.back());
    const std::size_t next = range.first + range.count;
    if (next == lengths.size()) continue;
    ASSERT_FALSE(cuts.from(next).empty()) << next;
    EXPECT_EQ(cuts.slices()[cuts.from(next).front()].first, next);
  }
  std::size_t next = 0;
  while (next < lengths.size()) next += cuts.slices()[cuts.from(next).front()].count;
  EXPECT_EQ(next, lengths.size());
}

}  // namespace
}  // namespace weft
