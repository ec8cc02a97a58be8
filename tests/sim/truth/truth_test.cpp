// The ground truth against logs written by hand.
#include "truth/truth.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace simgpu {
namespace {

const std::string header =
    R"({"type":"header","format":"simgpu-log","version":1,"pid":7,"device":1,"sms":132,"time":1})"
    "\n";

std::string kernel(const std::string& name, std::int64_t start, std::int64_t end, const std::string& thread = "trainer",
                   bool spin = false) {
  return R"({"type":"kernel","name":")" + name + R"(","stream":1,"priority":0,"launched":0,"start":)" +
         std::to_string(start) + R"(,"end":)" + std::to_string(end) + R"(,"blocks":4,"sms":4,"spin":)" +
         (spin ? "true" : "false") + R"(,"effect":"none","graph":false,"thread":")" + thread + "\"}\n";
}

std::string copy(std::int64_t start, std::int64_t end, const std::string& thread = "trainer") {
  return R"({"type":"copy","kind":"h2d","start":)" + std::to_string(start) + R"(,"end":)" + std::to_string(end) +
         R"(,"thread":")" + thread + "\"}\n";
}

TruthLog read_text(const std::string& text, Times times = Times::modelled) {
  const std::string path = testing::TempDir() + "gpu1." + std::to_string(::getpid()) + ".jsonl";
  std::ofstream(path, std::ios::binary) << text;
  try {
    TruthLog log = read_truth_log(path, times);
    std::remove(path.c_str());
    return log;
  } catch (...) {
    std::remove(path.c_str());
    throw;
  }
}

TEST(Intervals, Union) {
  EXPECT_EQ(united({{5, 7}, {1, 3}, {3, 4}, {6, 9}, {2, 2}}), (Intervals{{1, 4}, {5, 9}}));
  EXPECT_EQ(united({{1, 10}, {2, 3}}), (Intervals{{1, 10}}));
  EXPECT_EQ(united({}), Intervals{});
}

TEST(Intervals, IntersectionAndDifference) {
  const Intervals left{{0, 10}, {20, 30}}, right{{5, 25}, {27, 28}};
  EXPECT_EQ(intersection(left, right), (Intervals{{5, 10}, {20, 25}, {27, 28}}));
  EXPECT_EQ(difference(left, right), (Intervals{{0, 5}, {25, 27}, {28, 30}}));
  EXPECT_EQ(difference({{0, 1}, {2, 3}, {4, 5}}, {{0, 5}}), Intervals{});
  EXPECT_EQ(difference(left, {}), left);
  EXPECT_EQ(length(left), 20);
}

// For every pair of small sets: point by point the same as with sets of numbers.
TEST(Intervals, AgreeWithSetsOfPoints) {
  constexpr unsigned points = 6;
  const auto intervals_of = [](unsigned bits) {
    Intervals any;
    for (unsigned i = 0; i < points; ++i)
      if (bits >> i & 1) any.push_back({i, i + 1});
    return united(any);
  };
  for (unsigned left = 0; left < 1u << points; ++left)
    for (unsigned right = 0; right < 1u << points; ++right) {
      EXPECT_EQ(united(intersection(intervals_of(left), intervals_of(right))), intervals_of(left & right));
      EXPECT_EQ(united(difference(intervals_of(left), intervals_of(right))), intervals_of(left & ~right));
    }
}

TEST(Truth, IdleIsCommunicationWithoutCompute) {
  const TruthLog log = read_text(header + kernel("forward", 100, 200) + kernel("ncclDevKernel_SendRecv", 150, 400) +
                                 kernel("backward", 410, 500));
  EXPECT_EQ(log.process, 7);
  EXPECT_EQ(log.device, 1);
  const Truth truth = truth_of(log, {0, 600});
  EXPECT_EQ(truth.idle, (Intervals{{200, 400}}));
  EXPECT_EQ(truth.any_idle, 100 + 10 + 100);
  EXPECT_EQ(truth.compute, 190);
  EXPECT_EQ(truth.fill, 0);
}

// The receive stands behind a copy of another stream in their hardware queue, or behind nothing else.
TEST(Truth, ByWaitsCommunicationBeginsWhenItIsDue) {
  const std::string receive =
      R"({"type":"kernel","name":"ncclDevKernel_SendRecv","stream":2,"due":200,"start":260,"end":400,)"
      R"("start_told":265,"end_told":410,"thread":"trainer"})"
      "\n";
  const std::string text = header + kernel("forward", 100, 220) + receive + copy(180, 260);
  EXPECT_EQ(truth_of(read_text(text), {0, 600}).idle, (Intervals{{260, 400}}));
  EXPECT_EQ(truth_of(read_text(text), {0, 600}, 0, Idle::behind_communication).idle, (Intervals{{220, 400}}));
  EXPECT_EQ(truth_of(read_text(text, Times::told), {0, 600}, 0, Idle::behind_communication).idle,
            (Intervals{{220, 410}}));
}

TEST(Truth, AReceiveThatWasPostedEarlyIsIdleOnlyOnceComputeEnds) {
  const TruthLog log =
      read_text(header + kernel("ncclDevKernel_SendRecv", 0, 300) + kernel("a", 0, 100) + kernel("b", 90, 250));
  EXPECT_EQ(truth_of(log, {0, 300}).idle, (Intervals{{250, 300}}));
}

TEST(Truth, FillIsToldByItsThreadAndCostsTheMainJobNothingInTheAccount) {
  const TruthLog log = read_text(header + kernel("compute", 0, 100) + kernel("spinner", 50, 500, "trainer", true) +
                                 kernel("gemm", 150, 250, "weft-dispatch") + kernel("gemm", 480, 520, "weft-dispatch") +
                                 copy(300, 320, "weft-dispatch") + kernel("compute", 500, 600));
  const Truth truth = truth_of(log, {0, 600});
  EXPECT_EQ(truth.idle, (Intervals{{100, 500}}));
  EXPECT_EQ(truth.fill, 100 + 40 + 20);
  EXPECT_EQ(truth.fill_beside_compute, 20);
  EXPECT_EQ(truth.fill_in_idle, 140);
  EXPECT_EQ(log.fill_kernels, 2u);
}

// A simulated GPU that gets no processor time ends a kernel later than its model does.
TEST(Truth, TimesAsToldAreThoseOfKernelsThatHaveThem) {
  const std::string late =
      R"({"type":"kernel","name":"a","start":100,"end":200,"start_told":110,"end_told":290,"thread":"trainer"})"
      "\n";
  const std::string text = header + late + kernel("ncclDevKernel_SendRecv", 0, 400);
  EXPECT_EQ(truth_of(read_text(text), {0, 400}).idle, (Intervals{{0, 100}, {200, 400}}));
  EXPECT_EQ(truth_of(read_text(text, Times::told), {0, 400}).idle, (Intervals{{0, 110}, {290, 400}}));
}

TEST(Truth, TheWindowCuts) {
  const TruthLog log = read_text(header + kernel("ncclDevKernel_AllReduce", 100, 500));
  EXPECT_EQ(truth_of(log, {200, 300}).idle, (Intervals{{200, 300}}));
  EXPECT_EQ(truth_of(log, {600, 700}).any_idle, 100);
  EXPECT_EQ(communication_window(log), (Interval{100, 500}));
  EXPECT_EQ(communication_window(read_text(header)), std::nullopt);
}

TEST(Truth, CopiesAreNoComputeButNotNothing) {
  const TruthLog log = read_text(header + copy(100, 200) + kernel("ncclDevKernel_SendRecv", 150, 300));
  const Truth truth = truth_of(log, {0, 300});
  EXPECT_EQ(truth.idle, (Intervals{{150, 300}}));
  EXPECT_EQ(truth.any_idle, 100);
}

TEST(Truth, ShortGapsCanBeLeftOut) {
  const TruthLog log =
      read_text(header + kernel("ncclDevKernel_SendRecv", 0, 300) + kernel("a", 0, 100) + kernel("b", 101, 200));
  EXPECT_EQ(truth_of(log, {0, 300}).idle, (Intervals{{100, 101}, {200, 300}}));
  EXPECT_EQ(truth_of(log, {0, 300}, 10).idle, (Intervals{{200, 300}}));
}

TEST(Truth, HazardsOfTheFillAreCounted) {
  const TruthLog log =
      read_text(header + R"({"type":"hazard","what":"cuMemAlloc","thread":"trainer","stall_ns":5})"
                         "\n"
                         R"({"type":"hazard","what":"cuMemAlloc","thread":"weft-dispatch","stall_ns":5})"
                         "\n");
  EXPECT_EQ(log.fill_hazards, 1u);
}

TEST(Truth, DamagedLogs) {
  const TruthLog log = read_text(header + "nonsense\n" + kernel("a", 1, 2) + R"({"type":"kernel","name":"b","st)");
  EXPECT_EQ(log.unreadable_lines, 1u);
  EXPECT_EQ(log.compute, (Intervals{{1, 2}}));
  EXPECT_THROW(read_text(""), std::runtime_error);
  EXPECT_THROW(read_text("{\"type\":\"header\",\"format\":\"weft-trace\"}\n"), std::runtime_error);
  EXPECT_THROW(read_text("[]\n"), std::runtime_error);
  EXPECT_THROW(read_truth_log("/nonexistent/log"), std::runtime_error);
}

}  // namespace
}  // namespace simgpu
