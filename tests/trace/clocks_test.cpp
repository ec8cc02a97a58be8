// The clocks that a trace says its times are of.
#include "trace/write/clocks.h"

#include <gtest/gtest.h>

#include "tests/trace/temporary_directory.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

TEST(Clocks, TheOffsetOfATimeNamespace) {
  EXPECT_EQ(clock_offset_in("monotonic           0         0\nboottime            0         0\n"), Duration(0));
  EXPECT_EQ(clock_offset_in("monotonic      172800         5\nboottime       604800         0\n"), Duration(48h + 5ns));
  EXPECT_EQ(clock_offset_in("monotonic          -1 500000000\n"), Duration(-500ms));
  for (const char* text : {"", "boottime 1 1\n", "monotonic\n", "monotonic 1\n", "monotonic x 1\n",
                           "monotonic 99999999999999 0\n", "monotonic 99999999999999999999 0\n"})
    EXPECT_EQ(clock_offset_in(text), std::nullopt) << text;
}

TEST(Clocks, TheBootIsTheKernels) {
  const std::string known = test::read_file("/proc/sys/kernel/random/boot_id");
  EXPECT_EQ(boot_id() + (known.empty() ? "" : "\n"), known);
}

TEST(Clocks, APairLiesBetweenTwoReadings) {
  const TimePoint before{std::chrono::steady_clock::now().time_since_epoch()};
  const ClockRecord pair = clock_pair();
  const TimePoint after{std::chrono::steady_clock::now().time_since_epoch()};
  EXPECT_GE(pair.monotonic, before);
  EXPECT_LE(pair.monotonic + pair.width / 2, after);
  EXPECT_GE(pair.width, Duration{});
  const Duration wall_clock = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_LT(wall_clock - pair.wall_clock, 1s);
  EXPECT_GE(wall_clock - pair.wall_clock, -1s);
}

}  // namespace
}  // namespace weft
