// Whether the host acts, from made-up counters.
#include "runner/core/host_watch.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

std::uint32_t launches = 0;
bool known = true;

TEST(HostWatch, StillIsAHostThatNeitherCallsNorLaunchesBetweenTwoLooks) {
  ShimServices shim;
  shim.launches_on = [](int, std::uint32_t* found) { return *found = launches, known; };
  HostWatch host(shim, 0);
  EXPECT_EQ(host.look(false), std::nullopt) << "there is no look before";
  EXPECT_EQ(host.look(true), std::nullopt);
  EXPECT_EQ(host.look(false), EventKind::host_still);
  EXPECT_EQ(host.look(false), std::nullopt);
  ++launches;
  EXPECT_EQ(host.look(false), EventKind::host_acts);
  EXPECT_EQ(host.look(false), EventKind::host_still);
  EXPECT_EQ(host.look(true), EventKind::host_acts);
  EXPECT_EQ(host.look(false), EventKind::host_still);
  known = false;
  EXPECT_EQ(host.look(false), EventKind::host_acts) << "it launches where nobody counts";
  EXPECT_EQ(host.look(false), std::nullopt);
}

TEST(HostWatch, WithoutCountersNothingIsSaid) {
  const ShimServices shim;
  HostWatch host(shim, 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(host.look(false), std::nullopt);
}

}  // namespace
}  // namespace weft
