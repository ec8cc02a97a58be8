// How much host memory is available: texts of /proc and /sys as kernels write them.
#include "runner/fill/host_memory.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

TEST(HostMemory, OfTheMachine) {
  EXPECT_EQ(
      available_on_machine("MemTotal:       24684096 kB\nMemFree:        19841964 kB\nMemAvailable:   22515584 kB\n"),
      22515584 * std::uint64_t{1024});
  EXPECT_EQ(available_on_machine("MemTotal:       24684096 kB\n"), std::nullopt);
  EXPECT_EQ(available_on_machine(""), std::nullopt);
}

TEST(HostMemory, OfAGroup) {
  EXPECT_EQ(available_in_group({"1000\n", "400\n", ""}), 600U);
  EXPECT_EQ(available_in_group({"1000\n", "1200\n", ""}), 0U);
  EXPECT_EQ(available_in_group({"max\n", "400\n", ""}), std::nullopt);
  EXPECT_EQ(available_in_group({"", "", ""}), std::nullopt);
}

// A data set that was read fills a group to its limit, and is no reason to refuse anything.
TEST(HostMemory, PagesOfFilesCountAsAvailable) {
  EXPECT_EQ(available_in_group({"1000\n", "990\n", "anon 100\ninactive_file 500\nactive_file 300\n"}), 810U);
  EXPECT_EQ(available_in_group({"1000\n", "990\n",
                                "inactive_file 1\nactive_file 1\ntotal_inactive_file 500\ntotal_active_file 300\n"}),
            810U);
}

TEST(HostMemory, GroupsAreThoseOfTheProcessAndAllAbove) {
  using Folders = std::vector<std::string>;
  EXPECT_EQ(memory_group_folders("0::/job/rank3\n"),
            (Folders{"/sys/fs/cgroup/job/rank3", "/sys/fs/cgroup/job", "/sys/fs/cgroup"}));
  EXPECT_EQ(memory_group_folders("0::/\n"), (Folders{"/sys/fs/cgroup"}));
  EXPECT_EQ(memory_group_folders("9:name=systemd:/\n4:cpu,memory:/a\n1:memoryless:/b\n"),
            (Folders{"/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory"}));
  EXPECT_EQ(memory_group_folders("nonsense\n"), Folders{});
}

TEST(HostMemory, IsToldHere) {
  const auto available = available_host_memory();
  ASSERT_TRUE(available);
  EXPECT_GT(*available, 0U);
}

TEST(HostMemory, ACopyMayTakeAQuarter) {
  EXPECT_TRUE(copy_is_small(16 * gibibyte, 0, 64 * gibibyte));
  EXPECT_FALSE(copy_is_small(16 * gibibyte + 1, 0, 64 * gibibyte));
  EXPECT_TRUE(copy_is_small(16 * gibibyte, 10 * gibibyte, 54 * gibibyte)) << "its own part is not missing";
}

// Eight ranks that all begin at the same time, each with a share that would be its own right.
TEST(HostMemory, CopiesOfAllRanksTogetherNeverTakeItAll) {
  constexpr std::uint64_t ranks = 8, piece = gibibyte / 4;
  for (std::uint64_t bytes = gibibyte; bytes <= 16 * gibibyte; bytes += gibibyte) {
    std::uint64_t taken = 0;
    while (taken < bytes && copy_is_small(bytes, taken, 64 * gibibyte - ranks * taken)) taken += piece;
    EXPECT_LT(ranks * taken, 56 * gibibyte) << bytes;
  }
}

}  // namespace
}  // namespace weft
