// The parts that the exports share: rows, ranges, files that come whole, and which lines count.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <random>

#include "tests/trace/export/written_run.h"
#include "trace/export/exported_run.h"
#include "trace/export/lanes.h"
#include "trace/export/messages.h"
#include "trace/export/names.h"
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

TEST(OutputFolder, AnEmptyOneThatIsThereIsFilled) {
  const test::TemporaryDirectory folder;
  fs::create_directory(folder / "there");
  const fs::path before = fs::current_path();
  fs::current_path(folder / "there");
  {
    OutputFolder out(".");
    std::ofstream(out / "a") << "a";
    out.finish();
  }
  fs::current_path(before);
  EXPECT_EQ(test::read_file(folder / "there/a"), "a");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "there"), fs::directory_iterator()), 1);
}

TEST(OutputFile, FollowsALinkAndIsNoTrace) {
  const test::TemporaryDirectory folder;
  std::ofstream(folder / "rank0.5.jsonl") << "trace";
  std::ofstream(folder / "old") << "old";
  fs::create_symlink(folder / "old", folder / "link");
  fs::create_symlink(folder / "rank0.5.jsonl", folder / "innocent");
  OutputFile file(folder / "link");
  file.write("new");
  file.finish();
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(test::read_file(folder / "old"), "new");
  for (const char* name : {"rank0.5.jsonl", "innocent", "rank9.9.jsonl"})
    EXPECT_NE(reason_to_fail([&] { OutputFile trace(folder / name); }).find("it has the name of a trace"),
              std::string::npos);
  EXPECT_EQ(resolved_output(folder / "new/"), resolved_output(folder / "./new"));
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
            "no rank has any of the iterations 70-90: there are 1 to 7");
  EXPECT_EQ(reason_to_fail([&] {
              run_of(written, {{}, {{5, 9}}, {}});
            }),
            "none of the wanted ranks has a trace here; the last one is rank 1");
}

// docs/names.md: as `weft summary` calls it.
TEST(ExportedRun, BubblesHaveTheNamesOfTheirSlots) {
  const WrittenRun written;
  const ExportedRun run = run_of(written);
  const EventNames names = event_names(run);
  struct Taker : RecordTaker {
    void take(const Record& record) override {
      if (record.kind == RecordKind::bubble) bubble = record.bubble;
    }
    Bubble bubble{};
  } taker;
  read_rank(run.ranks[1], taker, nullptr);
  // Two ranks and one microbatch: that it is an activation nobody can tell.
  EXPECT_EQ(names.bubble(run.ranks[1], taker.bubble), "receive from rank 0, 1st of the iteration");
  EXPECT_EQ(names.rank(run.ranks[1]), "rank 1 · node-a · GPU 0");
  taker.bubble.slot.ordinal = 9;
  EXPECT_EQ(names.bubble(run.ranks[1], taker.bubble), plain_names(run).bubble(run.ranks[1], taker.bubble));
}

std::string kinds_of(const ExportedRank& rank) {
  struct Taker : RecordTaker {
    void header(const TraceHeader&, std::size_t segment) override { kinds += std::to_string(segment) + ":"; }
    void take(const Record& record) override {
      kinds += " " + std::to_string(record.time.time_since_epoch().count() / 1000);
    }
    std::string kinds;
  } taker;
  read_rank(rank, taker, nullptr);
  return taker.kinds;
}

TEST(ExportedRun, IterationsGoByTheirNumbersInEachSegment) {
  WrittenRun written;
  std::string second = test::header_line(0, 2);
  second.replace(second.find("1000000"), 7, "5000000");
  const auto part = [](long from) {
    std::string lines;
    for (int k = 1; k <= 3; ++k)
      lines += test::bubble_line(k, from + 1000 * k, from + 1000 * k + 500) +
               test::iteration_line(k, from + 1000 * k, from + 1000 * k + 1000, 500);
    return lines;
  };
  written.write(0, test::header_line(0, 2) + test::communicator_line(0) + part(0) + test::summary_line(1000, 4000) +
                       second + part(5000) + test::summary_line(6000, 9000));
  const ExportedRun run = run_of(written, {{}, {{0, 0}}, NumberRange{2, 2}});
  EXPECT_EQ(kinds_of(run.ranks[0]), "0: 1000 2500 30001: 7500 8000")
      << "the communicator is of all of the run, the iterations beside the wanted one have no record";
  ASSERT_EQ(run.ranks[0].segments.size(), 2u);
  EXPECT_EQ(run.ranks[0].segments[1].window.begin, at(7'000'000));
  EXPECT_EQ(run.begin, at(1'000'000)) << "the first header counts";
  EXPECT_NE(notes_of(run).find("counts from 1 again"), std::string::npos);
}

TEST(ExportedRun, NamesRanksThatAreNotThere) {
  WrittenRun written;
  written.write(0, test::header_line(0, 4, R"(, "caution": "one queue")") + test::summary_line(1000, 2000));
  written.write(1, test::header_line(1, 4) + test::summary_line(1000, 2000));
  const std::string notes = notes_of(run_of(written, {{}, {{0, 0}, {1, 20}, {30, 30}}, {}}));
  EXPECT_NE(notes.find("the job has 4 ranks; 2 left no trace here"), std::string::npos) << notes;
  EXPECT_NE(notes.find("of the wanted ranks these left no trace here: 2-20, 30"), std::string::npos) << notes;
  EXPECT_NE(notes.find("rank 0: one queue"), std::string::npos) << notes;
}

TEST(ExportedRun, SaysWhereRanksDisagreeAboutGroups) {
  WrittenRun written;
  std::string other = test::group_line(1, "receive", 0, 1, 1050, 1450);
  other.replace(other.find("65536"), 5, "65537");
  written.write(1, test::header_line(1, 2) + test::communicator_line(1) + other + test::summary_line(1000, 2000));
  EXPECT_NE(notes_of(run_of(written)).find("ranks disagree about"), std::string::npos) << notes_of(run_of(written));
}

TEST(ExportedRun, PeersThatAreNotExportedKeepTheirNames) {
  const WrittenRun written;
  const ExportedRun run = run_of(written, {{}, {{1, 1}}, {}});
  const ExportedRank& rank = run.ranks.at(0);
  const std::optional<std::size_t> peer = run.members.member(rank.communicators.at(1), 0);
  ASSERT_TRUE(peer);
  EXPECT_EQ(run.traces[*peer].rank, 0);
}

TEST(ExportedRun, SaysThatGroupsEndBeforeTheOtherRecords) {
  WrittenRun written;
  std::string summary = test::summary_line(1000, 2000);
  summary.insert(summary.rfind('}'), R"(, "records_left_out": 12)");
  written.write(1, test::header_line(1, 2) + test::communicator_line(1) + summary);
  EXPECT_NE(notes_of(run_of(written)).find("rank 1: 12 records are not there, as groups end at half"),
            std::string::npos)
      << notes_of(run_of(written));
}

TEST(ExportedRun, SaysThatHostsHaveClocksOfTheirOwn) {
  WrittenRun written;
  std::string header = test::header_line(1, 2);
  header.replace(header.find("\"b1\""), 4, "\"b2\"");
  written.write(1, header + test::communicator_line(1));
  const std::string notes = notes_of(run_of(written));
  EXPECT_NE(notes.find("clocks: host node-a (boot b2): its traces have no groups"), std::string::npos) << notes;
  EXPECT_NE(notes.find("put beside host node-a (boot b1) by wall clocks"), std::string::npos) << notes;
}

// More messages than there is room for: those that are kept are spread over all ranks and all of the run.
TEST(SendBegins, KeepsASampleOfTheWholeRun) {
  constexpr int messages = 1000;
  constexpr std::size_t most = 100;
  WrittenRun written;
  std::string lines = test::header_line(0, 2) + test::communicator_line(0);
  for (int k = 1; k <= messages; ++k) lines += test::group_line(k, "send", 1, k, 1000 + k, 1001 + k);
  written.write(0, lines);
  const ExportedRun run = run_of(written);
  SendBegins all, some(most);
  all.read(run, nullptr);
  some.read(run, nullptr);
  EXPECT_FALSE(all.is_sample());
  EXPECT_TRUE(some.is_sample());
  struct Taker : RecordTaker {
    Taker(const ExportedRank& sender, const SendBegins& kept) : rank(sender), begins(kept) {}
    void take(const Record& record) override {
      if (record.kind != RecordKind::group) return;
      for (const std::uint64_t message : messages_of(rank, record.group).sent)
        if (begins.find(message)) ++(record.group.id <= messages / 2 ? early : late);
    }
    const ExportedRank& rank;
    const SendBegins& begins;
    std::size_t early = 0, late = 0;
  } taker(run.ranks[0], some);
  read_rank(run.ranks[0], taker, nullptr);
  EXPECT_GT(taker.early, most / 8);
  EXPECT_GT(taker.late, most / 8);
  EXPECT_LE(taker.early + taker.late, most);
}

}  // namespace
}  // namespace weft
