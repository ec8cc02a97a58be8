// Link times: the formula, slow links, and what is understood of SIMGPU_FAULTS.
#include "link_model.h"

#include <gtest/gtest.h>

namespace simgpu::nccl {
namespace {

TEST(LinkModel, LatencyPlusBytesOverBandwidth) {
  const LinkModel model(nanoseconds(10'000), 1e9, 1 << 20, 1, {});
  EXPECT_EQ(model.transfer(0, 1, 0), nanoseconds(10'000));
  EXPECT_EQ(model.transfer(0, 1, 1'000'000), nanoseconds(1'010'000));
  EXPECT_EQ(model.ring({0, 1, 2}, 4, 3000), nanoseconds(43'000));
}

TEST(LinkModel, TimeScaleStretchesEverything) {
  const LinkModel model(nanoseconds(10'000), 1e9, 1 << 20, 10, {});
  EXPECT_EQ(model.latency(), nanoseconds(100'000));
  EXPECT_EQ(model.transfer(0, 1, 1000), nanoseconds(110'000));
}

TEST(LinkModel, SlowLinkHasADirection) {
  const LinkModel model(nanoseconds(10'000), 1e9, 1 << 20, 1, {{1, 2, 5}});
  EXPECT_EQ(model.transfer(1, 2, 0), nanoseconds(50'000));
  EXPECT_EQ(model.transfer(2, 1, 0), nanoseconds(10'000));
  EXPECT_EQ(model.ring({0, 1, 2}, 1, 0), nanoseconds(50'000));
  EXPECT_EQ(model.ring({0, 1}, 1, 0), nanoseconds(10'000));
}

TEST(LinkModel, FifoIsAPowerOfTwo) {
  EXPECT_EQ(LinkModel(nanoseconds(0), 1e9, 5000, 1, {}).fifo_bytes(), 8192u);
  EXPECT_EQ(LinkModel(nanoseconds(0), 1e9, 1, 1, {}).fifo_bytes(), 4096u);
}

TEST(LinkModel, ParsesItsOwnFaultsOnly) {
  const auto links = parse_slow_links("alloc@3,link=0>1:2.5,jitter=5%,link=3>2:10");
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].source, 0);
  EXPECT_EQ(links[0].destination, 1);
  EXPECT_EQ(links[0].factor, 2.5);
  EXPECT_EQ(links[1].source, 3);
  EXPECT_TRUE(parse_slow_links("link=0>1").empty());
  EXPECT_TRUE(parse_slow_links("link=0>1:0").empty());
  EXPECT_TRUE(parse_slow_links("link=0>1:2x").empty());
  EXPECT_TRUE(parse_slow_links("").empty());
}

}  // namespace
}  // namespace simgpu::nccl
