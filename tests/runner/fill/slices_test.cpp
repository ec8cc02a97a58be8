// Cutting units and ordering nodes.
#include "runner/fill/slices.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::chrono_literals;
using Lengths = std::vector<std::chrono::nanoseconds>;
using Ranges = std::vector<SliceRange>;
using Edges = std::vector<std::pair<std::size_t, std::size_t>>;

TEST(Cut, NothingFromNothing) {
  EXPECT_EQ(cut(Lengths{}, 300us), Ranges{});
}

TEST(Cut, TakesNodesWhileTheyFit) {
  EXPECT_EQ(cut(Lengths{100us, 100us, 100us, 100us}, 300us), (Ranges{{0, 3}, {3, 1}}));
}

TEST(Cut, ExactlyTheCapFits) {
  EXPECT_EQ(cut(Lengths{150us, 150us, 1us}, 300us), (Ranges{{0, 2}, {2, 1}}));
}

TEST(Cut, ALongNodeIsASliceOfItsOwn) {
  EXPECT_EQ(cut(Lengths{100us, 900us, 100us, 100us}, 300us), (Ranges{{0, 1}, {1, 1}, {2, 2}}));
}

TEST(Cut, EveryNodeIsInExactlyOneSliceInOrder) {
  Lengths lengths;
  for (int node = 0; node < 1000; ++node) lengths.push_back(std::chrono::microseconds(1 + node * 37 % 400));
  std::size_t next = 0;
  for (const SliceRange& range : cut(lengths, 300us)) {
    EXPECT_EQ(range.first, next);
    EXPECT_GT(range.count, 0U);
    std::chrono::nanoseconds sum{0};
    for (std::size_t node = range.first; node < range.first + range.count; ++node) sum += lengths[node];
    EXPECT_TRUE(sum <= 300us || range.count == 1);
    next += range.count;
  }
  EXPECT_EQ(next, lengths.size());
}

TEST(TopologicalOrder, KeepsTheGivenOrderWhereItMay) {
  EXPECT_EQ(topological_order(3, Edges{}), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(topological_order(4, Edges{{3, 0}, {0, 2}}), (std::vector<std::size_t>{1, 3, 0, 2}));
}

TEST(TopologicalOrder, RefusesCyclesAndUnknownNodes) {
  EXPECT_FALSE(topological_order(2, Edges{{0, 1}, {1, 0}}));
  EXPECT_FALSE(topological_order(2, Edges{{0, 2}}));
}

}  // namespace
}  // namespace weft
