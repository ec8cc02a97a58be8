// Activity records made compact.
#include "runner/validate/truth_lines.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft {
namespace {

constexpr std::uint64_t us = 1000;

cupti::KernelActivity kernel(const char* name, std::uint32_t stream, std::uint64_t start, std::uint64_t end) {
  cupti::KernelActivity record{};
  record.kind = cupti::concurrent_kernel;
  record.name = name;
  record.device = 1;
  record.stream = stream;
  record.start = start;
  record.end = end;
  return record;
}

bool add(TruthLines& lines, const cupti::KernelActivity& record) {
  return lines.add(reinterpret_cast<const cupti::Activity&>(record));
}

TEST(TruthLines, KernelsInARowBecomeOne) {
  TruthLines lines;
  EXPECT_TRUE(add(lines, kernel("gemm", 4, 100 * us, 120 * us)));
  EXPECT_TRUE(add(lines, kernel("gemm", 4, 121 * us, 130 * us)));
  EXPECT_TRUE(add(lines, kernel("gemm", 4, 140 * us, 150 * us)));  // as long a gap as idle time may be
  EXPECT_TRUE(add(lines, kernel("gemm", 5, 131 * us, 132 * us)));  // another stream
  EXPECT_EQ(lines.take(),
            "{\"type\": \"work\", \"rows\": [[\"k\",1,0,4,100000,130000,29000,2],[\"k\",1,0,4,140000,150000,10000,1],"
            "[\"k\",1,0,5,131000,132000,1000,1]]}\n");
  EXPECT_EQ(lines.take(), "");
}

TEST(TruthLines, StreamsOfTwoContextsAreToldApart) {
  TruthLines lines;
  cupti::KernelActivity other = kernel("gemm", 4, 121 * us, 130 * us);
  other.context = 3;
  EXPECT_TRUE(add(lines, kernel("gemm", 4, 100 * us, 120 * us)));
  EXPECT_TRUE(add(lines, other));
  EXPECT_EQ(lines.taken(), 2u);
  EXPECT_EQ(
      lines.take(),
      "{\"type\": \"work\", \"rows\": [[\"k\",1,0,4,100000,120000,20000,1],[\"k\",1,3,4,121000,130000,9000,1]]}\n");
  EXPECT_EQ(lines.taken(), 0u);
}

TEST(TruthLines, KernelsOfNcclStayApart) {
  TruthLines lines;
  EXPECT_TRUE(add(lines, kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 4, 100 * us, 120 * us)));
  EXPECT_TRUE(add(lines, kernel("ncclDevKernel_SendRecv", 4, 121 * us, 130 * us)));
  EXPECT_EQ(
      lines.take(),
      "{\"type\": \"work\", \"rows\": [[\"n\",1,0,4,100000,120000,20000,1],[\"n\",1,0,4,121000,130000,9000,1]]}\n");
}

TEST(TruthLines, ARecordThatComesLateIsARowOfItsOwn) {
  TruthLines lines;
  EXPECT_TRUE(add(lines, kernel("a", 4, 200 * us, 210 * us)));
  EXPECT_TRUE(add(lines, kernel("a", 4, 100 * us, 110 * us)));
  EXPECT_EQ(
      lines.take(),
      "{\"type\": \"work\", \"rows\": [[\"k\",1,0,4,200000,210000,10000,1],[\"k\",1,0,4,100000,110000,10000,1]]}\n");
}

TEST(TruthLines, RecordsWithoutTimesAreNotTaken) {
  TruthLines lines;
  EXPECT_FALSE(add(lines, kernel("a", 4, 0, 0)));
  EXPECT_FALSE(add(lines, kernel("a", 4, 20, 10)));
  EXPECT_EQ(lines.take(), "");
}

TEST(TruthLines, CopiesToTheHostAreToldApartFromThoseWithinTheDevice) {
  TruthLines lines;
  cupti::CopyActivity copy{};
  copy.kind = cupti::memory_copy;
  copy.copy_kind = 2;  // device to host
  copy.start = 100 * us;
  copy.end = 110 * us;
  EXPECT_TRUE(lines.add(reinterpret_cast<const cupti::Activity&>(copy)));
  copy.copy_kind = cupti::copy_device_to_device;
  EXPECT_TRUE(lines.add(reinterpret_cast<const cupti::Activity&>(copy)));
  cupti::SetActivity set{};
  set.kind = cupti::memory_set;
  set.stream = 1;
  set.start = 100 * us;
  set.end = 110 * us;
  EXPECT_TRUE(lines.add(reinterpret_cast<const cupti::Activity&>(set)));
  EXPECT_EQ(lines.take(),
            "{\"type\": \"work\", \"rows\": [[\"c\",0,0,0,100000,110000,10000,1],[\"k\",0,0,0,100000,110000,10000,1],"
            "[\"k\",0,0,1,100000,110000,10000,1]]}\n");
}

TEST(TruthLines, RecordsOfOtherKindsSayNothing) {
  TruthLines lines;
  const cupti::Activity other{38};
  EXPECT_TRUE(lines.add(other));
  EXPECT_EQ(lines.take(), "");
}

TEST(TruthLines, ALineHasABoundedLength) {
  TruthLines lines;
  for (std::uint64_t i = 0; i < 1000; ++i) add(lines, kernel("nccl_Kernel", 4, (1 + i) * us, (1 + i) * us + 1));
  const std::string text = lines.take();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

TEST(TruthLines, NcclsKernelsAreKnownByTheirNames) {
  for (const char* name : {"ncclDevKernel_SendRecv", "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE",
                           "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "ncclSymDevKernel_AllReduce"})
    EXPECT_TRUE(is_nccl_kernel(name)) << name;
  for (const char* name : {"gemm", "_Z4gemmPf", "my_ncclDevKernel", "ncclear", ""})
    EXPECT_FALSE(is_nccl_kernel(name)) << name;
  EXPECT_FALSE(is_nccl_kernel(nullptr));
}

TEST(TruthLines, TheOtherLinesAreJson) {
  TruthHeader header;
  header.rank = 3;
  header.host = "a\"b";
  header.process = 7;
  header.start_id = 9;
  header.cupti = 130001;
  header.library = "libcupti.so.13";
  header.started = TimePoint(Duration(11));
  EXPECT_EQ(TruthLines::header(header),
            "{\"type\": \"header\", \"format\": \"weft-truth\", \"version\": 1, \"rank\": 3, \"host\": \"a\\\"b\", "
            "\"process\": 7, \"start_id\": 9, \"cupti\": 130001, \"library\": \"libcupti.so.13\", \"started\": 11}\n");
  EXPECT_EQ(TruthLines::off("no\n"), "{\"type\": \"off\", \"reason\": \"no\\u000a\"}\n");
  EXPECT_EQ(TruthLines::fill_stream(0, 2, 5), "{\"type\": \"fill\", \"cupti\": 0, \"context\": 2, \"stream\": 5}\n");
  EXPECT_EQ(
      TruthLines::counts("end", {1, 2, 3, 4, 5}),
      "{\"type\": \"end\", \"records\": 1, \"dropped\": 2, \"untimed\": 3, \"unreadable\": 4, \"unwritten\": 5}\n");
}

}  // namespace
}  // namespace weft
