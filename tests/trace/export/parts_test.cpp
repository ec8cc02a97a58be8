// The parts that the exports share: rows, ranges, one clock for all ranks, files that come whole, and which lines
// count.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <random>

#include "tests/trace/export/written_run.h"
#include "trace/export/clocks.h"
#include "trace/export/exported_run.h"
#include "trace/export/lanes.h"
#include "trace/export/messages.h"
#include "trace/export/number_ranges.h"
#include "trace/export/output.h"

namespace weft {
namespace {

using test::WrittenRun;
namespace fs = std::filesystem;

TimePoint at(long time) {
  return TimePoint{Duration{time}};
}

TEST(Lanes, NoTwoSlicesOfARowOverlap) {
  std::mt19937 random(1);
  Lanes lanes;
  std::map<std::size_t, TimePoint> ends;
  for (int k = 0; k < 5000; ++k) {
    const long begin = 10 * k - static_cast<long>(random() % 100), end = begin + static_cast<long>(random() % 200);
    const std::optional<std::size_t> lane = lanes.place(at(begin), at(end));
    ASSERT_TRUE(lane);
    const auto known = ends.find(*lane);
    if (known != ends.end()) {
      EXPECT_GE(at(begin), known->second);
    }
    ends[*lane] = at(end);
  }
}

TEST(Lanes, UsesOneRowForSlicesThatFollowEachOther) {
  Lanes lanes;
  EXPECT_EQ(lanes.place(at(0), at(10)), 0u);
  EXPECT_EQ(lanes.place(at(10), at(20)), 0u);
  EXPECT_EQ(lanes.place(at(19), at(30)), 1u);
  EXPECT_EQ(lanes.place(at(20), at(20)), 0u);
}

TEST(NumberRanges, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_number_range("7")->first, 7);
  EXPECT_EQ(parse_number_range("7")->last, 7);
  EXPECT_EQ(parse_number_range("100-110")->last, 110);
  const auto ranks = parse_number_ranges("0,4-7");
  ASSERT_TRUE(ranks);
  EXPECT_TRUE((*ranks)[1].contains(7));
  EXPECT_FALSE((*ranks)[1].contains(8));
}

TEST(NumberRanges, RefusesTheRest) {
  for (const char* text : {"", "a", "-1", "3-", "-", "5-3", "1,", ",1", "1,,2", "1 - 2", "0x1", "99999999999999999999"})
    EXPECT_FALSE(parse_number_ranges(text)) << text;
}

TraceHeader header_on(const char* boot, const char* host, long started, long wall_clock, long offset = 0) {
  TraceHeader header;
  header.boot = std::string_view(boot);
  header.host = std::string_view(host);
  header.started = at(started);
  header.wall_clock = Duration{wall_clock};
  header.clock_offset = Duration{offset};
  return header;
}

TEST(CommonClock, RanksOfOneBootShareAClockWhateverTheirWallClocksSay) {
  const CommonClock clock = common_clock({header_on("b", "x", 1000, 5'000'000), header_on("b", "y", 3000, 9'000'000)});
  EXPECT_EQ(clock.shifts, (std::vector<Duration>{Duration{0}, Duration{0}}));
  EXPECT_EQ(clock.note, "");
}

TEST(CommonClock, TakesOffTheOffsetOfATimeNamespace) {
  const CommonClock clock = common_clock({header_on("b", "x", 1000, 0), header_on("b", "x", 1700, 0, 700)});
  EXPECT_EQ(clock.shifts, (std::vector<Duration>{Duration{0}, Duration{-700}}));
}

TEST(CommonClock, PutsHostsBesideEachOtherByTheirWallClocksAndSaysSo) {
  const CommonClock clock = common_clock({header_on("b", "x", 1000, 500'000), header_on("c", "y", 70'000, 500'300)});
  EXPECT_EQ(clock.shifts[1], Duration{1000 - 70'000 + 300});
  EXPECT_NE(clock.note.find("2 clocks"), std::string::npos);
}

TEST(CommonClock, TheHostStandsForABootThatIsNotKnown) {
  EXPECT_EQ(common_clock({header_on("", "x", 1000, 1), header_on("", "x", 3000, 2)}).note, "");
  EXPECT_NE(common_clock({header_on("", "x", 1000, 1), header_on("", "y", 3000, 2)}).note, "");
}

TEST(CommonClock, AWallClockThatIsNotSetIsNotBelieved) {
  const CommonClock clock =
      common_clock({header_on("b", "x", 1000, 1'700'000'000'000'000'000), header_on("c", "y", 5000, 12)});
  EXPECT_EQ(clock.shifts[1], Duration{-4000});
  EXPECT_NE(clock.note.find("is not set"), std::string::npos);
}

TEST(CommonClock, NoNumberOverflows) {
  const long most = latest_time;
  const CommonClock clock = common_clock({header_on("b", "x", most, most, -most), header_on("c", "y", 0, most, most),
                                          header_on("d", "z", most, most, most)});
  for (const Duration shift : clock.shifts) EXPECT_LT(std::abs(shift.count()), (1L << 62));
}

TEST(OutputFile, IsThereOnlyWhenItIsWhole) {
  const test::TemporaryDirectory folder;
  test::TemporaryDirectory other;
  std::ofstream(folder / "file") << "old";
  {
    OutputFile file(folder / "file");
    file.write("new");
    EXPECT_EQ(test::read_file(folder / "file"), "old");
  }
  EXPECT_EQ(test::read_file(folder / "file"), "old") << "given up";
  OutputFile file(folder / "file");
  file.write("new");
  file.finish();
  EXPECT_EQ(test::read_file(folder / "file"), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1)
      << "nothing else is left";
}

std::string reason_to_fail(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST(OutputFile, SaysWhyItCannotBeWritten) {
  const test::TemporaryDirectory folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(reason_to_fail([&] { OutputFile file(folder / "none/file"); }),
            folder / "none/file cannot be written: No such file or directory");
  EXPECT_EQ(reason_to_fail([&] { OutputFile file(folder / "fifo"); }),
            folder / "fifo cannot be written: it is no regular file");
  EXPECT_EQ(reason_to_fail([&] { OutputFile file(folder.path()); }),
            folder.path() + " cannot be written: it is no regular file");
}

TEST(OutputFolder, ComesWithAllItsFilesOrNotAtAll) {
  const test::TemporaryDirectory folder;
  {
    OutputFolder given_up(folder / "out");
    std::ofstream(given_up / "a") << "a";
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  OutputFolder out(folder / "out/");
  std::ofstream(out / "a") << "a";
  EXPECT_FALSE(fs::exists(folder / "out"));
  out.finish();
  EXPECT_EQ(test::read_file(folder / "out/a"), "a");
  EXPECT_EQ(reason_to_fail([&] { OutputFolder again(folder / "out"); }),
            folder / "out cannot be written: the folder is not empty");
}

ExportedRun run_of(const WrittenRun& written, ExportWanted wanted = {}) {
  wanted.directories = {written.traces.path()};
  return find_exported_run(wanted, nullptr);
}

std::string notes_of(const ExportedRun& run) {
  std::string all;
  for (const std::string& note : run.notes) all += note + "\n";
  return all;
}

TEST(ExportedRun, NamesTheFirstLineThatCannotBeTrueAndLeavesItOut) {
  WrittenRun written;
  written.write(0, test::header_line(0, 2) + test::bubble_line(1, 2000, 1000) + "rubbish\n" +
                       test::bubble_line(2, 3000, 3100) + "{\"type\": \"bub");
  const ExportedRun run = run_of(written);
  EXPECT_EQ(run.ranks[0].name, "0 ?");
  EXPECT_NE(notes_of(run).find("such lines are left out: " + written.path_of(0) + ":2"), std::string::npos)
      << notes_of(run);
  EXPECT_NE(notes_of(run).find("1 line not readable: " + written.path_of(0) + ":3"), std::string::npos);
  EXPECT_NE(notes_of(run).find("no summary was written"), std::string::npos);
  struct Counter : RecordTaker {
    void take(const Record&) override { ++records; }
    int records = 0;
  } counter;
  read_rank(run.ranks[0], counter, nullptr);
  EXPECT_EQ(counter.records, 1);
}

TEST(ExportedRun, HasOneNoteForAllRanksThatShareIt) {
  WrittenRun written;
  for (int rank = 0; rank < 20; ++rank) written.write(rank, test::header_line(rank, 20));
  const ExportedRun run = run_of(written);
  EXPECT_EQ(run.notes.size(), 2u) << notes_of(run);
  EXPECT_NE(notes_of(run).find("rank 0, 1, 2, 3, 4, 5, 6, 7 and 12 more: no summary was written"), std::string::npos);
}

TEST(ExportedRun, TakesVersion1AsWeftSummaryDoes) {
  ExportWanted wanted;
  wanted.directories = {WEFT_TEST_RUN};
  const ExportedRun run = find_exported_run(wanted, nullptr);
  EXPECT_EQ(run.ranks.size(), 3u);
  EXPECT_NE(notes_of(run).find("the trace has no groups"), std::string::npos);
}

TEST(ExportedRun, SaysWhichRankLacksTheIterations) {
  WrittenRun written;
  written.write(0, test::header_line(0, 2) + test::iteration_line(7, 1000, 2000, 0));
  const ExportedRun run = run_of(written, {{}, {}, NumberRange{7, 9}});
  EXPECT_EQ(run.ranks.size(), 1u);
  EXPECT_NE(notes_of(run).find("rank 1: none of the iterations 7-9"), std::string::npos);
  EXPECT_EQ(reason_to_fail([&] {
              run_of(written, {{}, {}, NumberRange{70, 90}});
            }),
            "no rank has any of the iterations 70-90");
  EXPECT_EQ(reason_to_fail([&] {
              run_of(written, {{}, {{5, 9}}, {}});
            }),
            "none of the wanted ranks has a trace here; the last one is rank 1");
}

TEST(ExportedRun, SaysThatHostsHaveClocksOfTheirOwn) {
  WrittenRun written;
  std::string header = test::header_line(1, 2);
  header.replace(header.find("\"b1\""), 4, "\"b2\"");
  written.write(1, header + test::communicator_line(1));
  EXPECT_NE(notes_of(run_of(written)).find("2 clocks"), std::string::npos);
}

TEST(SendBegins, KeepsNoMoreThanItMay) {
  const WrittenRun written;
  const ExportedRun run = run_of(written);
  SendBegins all, none(0);
  all.read(run, nullptr);
  none.read(run, nullptr);
  EXPECT_FALSE(all.is_full());
  EXPECT_TRUE(none.is_full());
}

}  // namespace
}  // namespace weft
