// The totals that a rank keeps while it runs are those that `weft summary` finds in its trace, with its summary line
// and without: the same code adds up the same records.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "tests/runner/policy/virtual_device.h"
#include "tests/trace/temporary_directory.h"
#include "trace/read/file_totals.h"
#include "trace/totals.h"
#include "trace/write/lines.h"
#include "weft/version.h"

namespace weft::testing {
namespace {

using namespace std::chrono_literals;

// With bubbles that are filled, some of no length that is usual, and an end of filling.
VirtualDevice filled_run() {
  SessionOptions options;
  options.fills = true;
  options.slowdown_budget = 0.5;
  return VirtualDevice(options);
}

void run(VirtualDevice& device) {
  for (int microbatch = 0; microbatch < 300; ++microbatch) device.microbatch(1ms, microbatch % 7 == 0 ? 9ms : 6ms);
  device.session.end_filling(device.time, "the test \"says\" so");
  for (int microbatch = 0; microbatch < 6; ++microbatch) device.microbatch(1ms, 6ms);
}

RankSummary offline(const VirtualDevice& device, const TraceSummary* summary) {
  std::string text;
  TraceHeader header;
  header.version = WEFT_TRACE_VERSION;
  append_header(text, header);
  for (const Record& record : device.records) append_record(text, record);
  if (summary != nullptr) append_summary(text, *summary);
  const test::TemporaryDirectory directory;
  std::ofstream(directory / "rank0.1.jsonl") << text;
  const FileTotals totals = add_up_file(directory / "rank0.1.jsonl");
  EXPECT_FALSE(totals.rank.unsure) << totals.doubts.text("trace");
  EXPECT_EQ(totals.damage.unreadable.lines, 0U);
  return totals.rank;
}

std::string line_of(const TraceSummary& summary) {
  std::string text;
  append_summary(text, summary);
  return text;
}

TEST(Totals, OfTheRecordsAreThoseOfTheRun) {
  VirtualDevice device = filled_run();
  run(device);
  TraceSummary live = device.session.summary(0);
  ASSERT_GT(live.iterations, 90U);
  ASSERT_GT(live.fill_units, 100U);
  ASSERT_TRUE(live.filling_stopped);
  ASSERT_TRUE(live.slowdown);
  const RankSummary rank = offline(device, nullptr);
  EXPECT_FALSE(rank.complete);
  // No record tells why a bubble stayed empty, how long the thread did not sleep, when groups were issued, and the
  // slowdown of the longest rhythm.
  live.unfilled = {};
  live.spun = {};
  live.slowdown = rank.totals.slowdown;
  EXPECT_LE(rank.window, live.window_end - live.window_begin);
  ASSERT_TRUE(live.startup);
  EXPECT_GT(live.startup->idle, Duration::zero());
  EXPECT_LT(live.startup->length, (live.window_end - live.window_begin) / 10);
  live.startup->length -= live.window_end - live.window_begin - rank.window;
  live.window_begin = rank.totals.window_begin;
  live.window_end = rank.totals.window_end;
  EXPECT_EQ(line_of(rank.totals), line_of(live));
}

TEST(Totals, OfACompleteTraceAreThoseOfTheRun) {
  VirtualDevice device = filled_run();
  run(device);
  TraceSummary live = device.session.summary(3);
  const RankSummary rank = offline(device, &live);
  EXPECT_TRUE(rank.complete);
  EXPECT_EQ(rank.window, live.window_end - live.window_begin);
  EXPECT_GT(rank.forecasts, 200U);
  live.window_begin = rank.totals.window_begin;
  live.window_end = rank.totals.window_end;
  EXPECT_EQ(line_of(rank.totals), line_of(live));
}

TEST(Totals, OfTwoPartsAreTheirSumOfEveryCount) {
  TraceSummary part;
  part.iterations = 1;
  part.bubbles = 2;
  part.idle = 3ns;
  part.filled = 4ns;
  part.slices = 5;
  part.fill_units = 6;
  part.fill_units_wrong = 7;
  part.unfilled = {8, 9, 10, 11, 12};
  part.dropped_records = 13;
  part.records_left_out = 14;
  part.filling_stopped = true;
  part.reason = "first";
  part.slowdown = SlowdownRecord{.estimate = 0.25, .control = 4};
  TraceSummary sum;
  add_up(sum, part);
  EXPECT_EQ(line_of(sum), line_of(part));
  part.reason = "second";
  part.slowdown->estimate = 0.5;
  add_up(sum, part);
  EXPECT_EQ(sum.iterations, 2U);
  EXPECT_EQ(sum.idle, Duration(6ns));
  EXPECT_EQ(sum.records_left_out, 28U);
  EXPECT_EQ(sum.unfilled, (std::array<std::uint64_t, unfilled_reasons>{16, 18, 20, 22, 24}));
  EXPECT_EQ(sum.reason, "first");
  EXPECT_EQ(sum.slowdown->estimate, 0.5);
}

TEST(Totals, OfAPartWhoseIdleTimeIsNotKnownHaveTheRestOfIt) {
  TraceSummary sum, part;
  sum.idle = 3ns;
  part.idle = 4ns;
  part.idle_known = false;
  part.iterations = 5;
  add_up(sum, part);
  EXPECT_EQ(sum.idle, Duration(3ns));
  EXPECT_EQ(sum.iterations, 5U);
}

TEST(Totals, TheStartupOfTwoPartsIsKnownWhereItIsOfBoth) {
  TraceSummary sum, part;
  sum.startup.emplace();
  part.startup = StartupRecord{.length = 7ns, .idle = 3ns, .uncertain = 2ns, .filled = 1ns};
  add_up(sum, part);
  add_up(sum, part);
  ASSERT_TRUE(sum.startup);
  EXPECT_EQ(sum.startup->length, Duration(14ns));
  EXPECT_EQ(sum.startup->idle, Duration(6ns));
  EXPECT_EQ(sum.startup->uncertain, Duration(4ns));
  EXPECT_EQ(sum.startup->filled, Duration(2ns));
  part.startup->idle_known = false;
  add_up(sum, part);
  EXPECT_EQ(sum.startup->idle, Duration(6ns));
  add_up(sum, TraceSummary{});
  EXPECT_FALSE(sum.startup);
}

SliceRecord slice_of(std::uint32_t job) {
  SliceRecord slice;
  slice.job = job;
  slice.alone = 1ms;
  slice.unit_done = true;
  slice.correct = 1;
  return slice;
}

JobRecord ready(std::uint32_t job, const std::string& name) {
  JobRecord record;
  record.job = job;
  record.name = name;
  return record;
}

// Jobs of a queue have one number, one after the other.
TEST(Totals, OfJobsWithOneNumberAreKeptApart) {
  Totals totals;
  for (const char* const name : {"a#1", "b#2"}) {
    totals.add(Record(0, TimePoint{}, ready(0, name)));
    totals.add(Record(0, TimePoint{}, slice_of(0)));
    totals.add(Record(0, TimePoint{}, slice_of(1)));
  }
  totals.add(Record(0, TimePoint{}, slice_of(0)));
  std::map<std::string, std::uint64_t> units;
  for (const JobTotals& job : totals.summary().jobs) units[std::string(job.name)] += job.units;
  EXPECT_EQ(units, (std::map<std::string, std::uint64_t>{{"a#1", 1}, {"b#2", 2}, {"", 2}}));
}

TEST(Totals, OfMoreJobsThanThereIsRoomForAreTogether) {
  Totals totals;
  for (std::size_t job = 0; job < most_job_totals + 10; ++job) {
    totals.add(Record(0, TimePoint{}, ready(0, "job#" + std::to_string(job))));
    totals.add(Record(0, TimePoint{}, slice_of(0)));
  }
  ASSERT_EQ(totals.summary().jobs.size(), most_job_totals);
  const JobTotals& last = *(totals.summary().jobs.end() - 1);
  EXPECT_EQ(std::string_view(last.name), further_jobs);
  EXPECT_EQ(last.units, 11U);
  TraceSummary sum = totals.summary();
  add_up(sum, totals.summary());
  std::uint64_t units = 0;
  for (const JobTotals& job : sum.jobs) units += job.units;
  EXPECT_EQ(units, 2 * (most_job_totals + 10)) << "none is lost";
}

TEST(Totals, StayAtTheLargestNumber) {
  TraceSummary sum, part;
  part.idle = Duration::max() - 1ns;
  part.bubbles = ~std::uint64_t{1};
  add_up(sum, part);
  add_up(sum, part);
  EXPECT_EQ(sum.idle, Duration::max());
  EXPECT_EQ(sum.bubbles, ~std::uint64_t{0});
}

}  // namespace
}  // namespace weft::testing
