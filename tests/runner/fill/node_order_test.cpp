// The order of nodes.
#include "runner/fill/node_order.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using Edges = std::vector<std::pair<std::size_t, std::size_t>>;

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
