// The log of cupti_truth is read by the same code as the simulator's log, and means the same.
#include "truth_log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "truth/truth.h"

namespace {

using measures::TruthLog;
namespace fs = std::filesystem;

class TruthLogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "truth-log-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  void kernel(const char* name, std::uint32_t correlation, std::int64_t start, std::int64_t end,
              std::uint32_t device = 0) {
    TruthLog::Work work;
    work.name = log_.name(name);
    work.correlation = correlation;
    work.device = device;
    work.start = start;
    work.end = end;
    log_.add(work);
  }
  void copy(TruthLog::Kind kind, std::int64_t start, std::int64_t end) {
    TruthLog::Work work;
    work.kind = kind;
    work.start = start;
    work.end = end;
    log_.add(work);
  }
  simgpu::TruthLog written(int device = 0) {
    EXPECT_TRUE(log_.write(directory_.string(), 41));
    return simgpu::read_truth_log((directory_ / ("gpu" + std::to_string(device) + ".41.jsonl")).string());
  }

  fs::path directory_;
  TruthLog log_;
};

constexpr char receive[] = "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE";

TEST_F(TruthLogTest, FillIsToldByItsThreadEvenWhenThatIsKnownLater) {
  kernel(receive, 1, 100, 900);
  kernel("_Z4gemmPf", 2, 50, 200);
  kernel("_Z7productPf", 3, 300, 600);
  log_.call(3, "weft-dispatch");
  const simgpu::TruthLog read = written();
  EXPECT_EQ(read.process, 41);
  EXPECT_EQ(read.communication, (simgpu::Intervals{{100, 900}}));
  EXPECT_EQ(read.compute, (simgpu::Intervals{{50, 200}}));
  EXPECT_EQ(read.fill, (simgpu::Intervals{{300, 600}}));
  EXPECT_EQ(read.unreadable_lines, 0U);
  EXPECT_EQ(simgpu::truth_of(read, {0, 1000}).idle, (simgpu::Intervals{{200, 900}}));
}

TEST_F(TruthLogTest, CopiesWithinTheDeviceAndSetsAreComputeTheOthersAreNot) {
  copy(TruthLog::Kind::host_to_device, 0, 10);
  copy(TruthLog::Kind::device_to_host, 20, 30);
  copy(TruthLog::Kind::within_device, 40, 50);
  copy(TruthLog::Kind::set, 60, 70);
  const simgpu::TruthLog read = written();
  EXPECT_EQ(read.copies, (simgpu::Intervals{{0, 10}, {20, 30}}));
  EXPECT_EQ(read.compute, (simgpu::Intervals{{40, 50}, {60, 70}}));
}

TEST_F(TruthLogTest, EachDeviceHasItsOwnFile) {
  kernel("one", 1, 0, 10, 0);
  kernel("two", 2, 20, 30, 3);
  EXPECT_EQ(written(0).compute, (simgpu::Intervals{{0, 10}}));
  EXPECT_EQ(written(3).device, 3);
}

TEST_F(TruthLogTest, AnOddNameBreaksNoLine) {
  kernel("quote\" back\\slash\nline", 1, 0, 10);
  const simgpu::TruthLog read = written();
  EXPECT_EQ(read.unreadable_lines, 0U);
  EXPECT_EQ(read.compute, (simgpu::Intervals{{0, 10}}));
}

TEST_F(TruthLogTest, AFolderThatIsNotThereIsReported) {
  kernel("one", 1, 0, 10);
  EXPECT_FALSE(log_.write((directory_ / "missing").string(), 41));
}

TEST(KernelNames, MangledNamesLoseTheirParameters) {
  EXPECT_EQ(measures::plain_kernel_name(receive), "ncclDevKernel_SendRecv");
  EXPECT_EQ(measures::plain_kernel_name("plain_c_name"), "plain_c_name");
}

}  // namespace
