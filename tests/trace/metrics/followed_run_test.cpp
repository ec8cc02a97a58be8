// Traces that grow, break off, are replaced, come later, belong to others; and the folder of the texts.
#include "trace/metrics/followed_run.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/trace/export/written_run.h"
#include "trace/metrics/metrics_folder.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

class Follower {
 public:
  explicit Follower(const std::string& directory, std::optional<HostIdentity> host = std::nullopt)
      : run_({directory}, "run", std::move(host), [](std::int64_t) { return true; }) {}

  std::vector<FollowedRun::Rank> look() {
    run_.look([] { return false; });
    std::vector<FollowedRun::Rank> ranks = run_.ranks();
    for (const std::string& note : run_.take_notes()) notes += note + "\n";
    return ranks;
  }
  std::uint64_t bubbles() {
    std::uint64_t all = 0;
    for (const FollowedRun::Rank& rank : look())
      for (const std::uint64_t count : rank.metrics->sums().bubbles) all += count;
    return all;
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const FollowedRun::Rank& rank : look()) all.push_back(rank.labels.rank);
    return all;
  }
  std::string notes;

 private:
  FollowedRun run_;
};

class FollowedRunTest : public testing::Test {
 protected:
  void append(const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary | std::ios::app) << text;
  }
  // Of another process, which starts so many seconds after the others.
  static std::string later_header(int rank, int ranks, int process, int seconds) {
    std::string line = header_line(rank, ranks);
    const auto replace = [&](const std::string& from, const std::string& to) {
      line.replace(line.find(from), from.size(), to);
    };
    replace("\"process\": " + std::to_string(100 + rank), "\"process\": " + std::to_string(process));
    replace("\"start_id\": 7", "\"start_id\": " + std::to_string(process));
    replace("1700000000000000000", std::to_string(1'700'000'000 + seconds) + "000000000");
    return line;
  }

  TemporaryDirectory folder;
};

TEST_F(FollowedRunTest, GoesOnWhereALineBreaksOff) {
  Follower follower(folder.path());
  EXPECT_TRUE(follower.look().empty());
  append("rank0.100.jsonl", header_line(0, 1) + bubble_line(1, 1000, 2000));
  EXPECT_EQ(follower.bubbles(), 1U);
  const std::string line = bubble_line(2, 3000, 4000);
  append("rank0.100.jsonl", line.substr(0, 50));
  EXPECT_EQ(follower.bubbles(), 1U);
  append("rank0.100.jsonl", line.substr(50, 20));
  EXPECT_EQ(follower.bubbles(), 1U);
  append("rank0.100.jsonl", line.substr(70));
  EXPECT_EQ(follower.bubbles(), 2U);
  EXPECT_EQ(follower.look().front().skipped.unreadable, 0U);
  EXPECT_EQ(follower.notes, "");
}

TEST_F(FollowedRunTest, AHeaderThatIsNotThereYetIsNoFault) {
  Follower follower(folder.path());
  append("rank0.100.jsonl", "");
  append("rank1.101.jsonl", header_line(1, 2).substr(0, 40));
  EXPECT_TRUE(follower.look().empty());
  append("rank1.101.jsonl", header_line(1, 2).substr(40));
  EXPECT_EQ(follower.names(), std::vector<std::string>{"1"});
}

TEST_F(FollowedRunTest, PassesOverALineWithoutEnd) {
  Follower follower(folder.path());
  append("rank0.100.jsonl", header_line(0, 1));
  for (int piece = 0; piece < 40; ++piece) {
    append("rank0.100.jsonl", std::string(100'000, 'x'));
    EXPECT_EQ(follower.bubbles(), 0U);
  }
  append("rank0.100.jsonl", "\n" + bubble_line(1, 1000, 2000));
  EXPECT_EQ(follower.bubbles(), 1U);
  EXPECT_EQ(follower.look().front().skipped.too_long, 1U);
}

TEST_F(FollowedRunTest, CountsOnInASecondSegment) {
  Follower follower(folder.path());
  append("rank0.100.jsonl", header_line(0, 1) + bubble_line(1, 1000, 2000) + summary_line(1000, 3000));
  EXPECT_TRUE(follower.look().front().metrics->has_summary());
  append("rank0.100.jsonl", header_line(0, 1) + bubble_line(1, 5000, 6000) + bubble_line(2, 7000, 8000));
  EXPECT_EQ(follower.bubbles(), 3U);
  EXPECT_FALSE(follower.look().front().metrics->has_summary());
  EXPECT_EQ(follower.look().front().metrics->sums().window, std::chrono::microseconds(2000 + 3000));
}

TEST_F(FollowedRunTest, ReadsAReplacedFileFromItsBegin) {
  Follower follower(folder.path());
  append("rank0.100.jsonl", header_line(0, 1) + bubble_line(1, 1000, 2000) + bubble_line(2, 2000, 3000));
  EXPECT_EQ(follower.bubbles(), 2U);
  append("other", later_header(0, 1, 200, 60) + bubble_line(1, 1000, 2000));
  fs::rename(folder / "other", folder / "rank0.100.jsonl");
  EXPECT_EQ(follower.bubbles(), 1U);
  EXPECT_NE(follower.notes.find("rank0.100.jsonl was replaced"), std::string::npos);
  // The same inode, cut and written anew, longer than before.
  std::ofstream(folder / "rank0.100.jsonl", std::ios::binary)
      << later_header(0, 1, 201, 90) << bubble_line(1, 1000, 2000) << bubble_line(2, 2000, 3000)
      << bubble_line(3, 3000, 4000);
  EXPECT_EQ(follower.bubbles(), 3U);
  fs::remove(folder / "rank0.100.jsonl");
  EXPECT_TRUE(follower.look().empty());
}

TEST_F(FollowedRunTest, RanksComeLaterAndAJobThatStartsAgainTakesThePlace) {
  Follower follower(folder.path());
  append("rank0.100.jsonl", header_line(0, 2) + bubble_line(1, 1000, 2000));
  EXPECT_EQ(follower.names(), std::vector<std::string>{"0"});
  append("rank1.101.jsonl", header_line(1, 2) + bubble_line(1, 1000, 2000));
  EXPECT_EQ(follower.names(), (std::vector<std::string>{"0", "1"}));
  append("rank1.301.jsonl", later_header(1, 2, 301, 100));
  EXPECT_EQ(follower.names(), std::vector<std::string>{"1"});
  EXPECT_EQ(follower.bubbles(), 0U);
  append("rank0.300.jsonl", later_header(0, 2, 300, 101) + bubble_line(1, 1000, 2000));
  EXPECT_EQ(follower.names(), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(follower.bubbles(), 1U);
  EXPECT_NE(follower.notes.find("traces of earlier runs that are left out: 2"), std::string::npos);
}

TEST_F(FollowedRunTest, ProcessesThatTakeOneRankHaveNamesOfTheirOwn) {
  append("rank0.100.jsonl", header_line(0, 2));
  append("rank0.200.jsonl", later_header(0, 2, 200, 0));
  Follower follower(folder.path());
  EXPECT_EQ(follower.names(), (std::vector<std::string>{"0 (100)", "0 (200)"}));
}

TEST_F(FollowedRunTest, TakesTheRanksOfThisHost) {
  std::string other = header_line(1, 3);
  other.replace(other.find("\"b1\""), 4, "\"b2\"");
  append("rank0.100.jsonl", header_line(0, 3));
  append("rank1.101.jsonl", other);
  append("rank2.102.jsonl", R"({"type": "header", "format": "weft-trace", "version": 1, "rank": 2, "ranks": 3, )"
                            R"("process": 102, "wall_clock": 1700000000000000000})"
                            "\n");
  EXPECT_EQ(Follower(folder.path()).names(), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(Follower(folder.path(), HostIdentity{"node-b", "b1"}).names(), (std::vector<std::string>{"0", "2"}))
      << "a container may have another name; an old trace tells neither";
  EXPECT_EQ(Follower(folder.path(), HostIdentity{"node-a", ""}).names(), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(Follower(folder.path(), HostIdentity{"node-b", ""}).names(), std::vector<std::string>{"2"});
}

TEST_F(FollowedRunTest, LeavesOutAndNamesFilesOfAnotherFormat) {
  append("rank0.100.jsonl", header_line(0, 2));
  append("rank1.101.jsonl", R"({"type": "header", "format": "weft-trace", "version": 99})"
                            "\n");
  fs::create_directory(folder / "rank2.102.jsonl");
  Follower follower(folder.path());
  EXPECT_EQ(follower.names(), std::vector<std::string>{"0"});
  EXPECT_NE(follower.notes.find("rank1.101.jsonl:1: has version 99"), std::string::npos);
  EXPECT_NE(follower.notes.find("rank2.102.jsonl is not a regular file; it is left out"), std::string::npos);
  const std::string said = follower.notes;
  follower.look();
  EXPECT_EQ(follower.notes, said) << "once";
}

TEST(Follower, WaitsForAFolder) {
  const TemporaryDirectory above;
  Follower follower(above / "later");
  EXPECT_TRUE(follower.look().empty());
  EXPECT_NE(follower.notes.find("later does not exist"), std::string::npos);
  fs::create_directory(above / "later");
  std::ofstream(above / "later/rank0.100.jsonl") << header_line(0, 1);
  EXPECT_EQ(follower.names(), std::vector<std::string>{"0"});
}

std::vector<std::string> names_in(const TemporaryDirectory& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}
using Names = std::vector<std::string>;

TEST(MetricsFolder, HasAFileForEachRankUntilItsEnd) {
  const TemporaryDirectory out;
  {
    MetricsFolder folder(out.path(), "weft-7");
    folder.write({{"0", "zero\n"}, {"1 (node-a:12)", "one\n"}});
    EXPECT_EQ(names_in(out),
              (Names{"weft-weft-7-rank0.prom", "weft-weft-7-rank1__node_a_12_.prom", "weft-weft-7.lock"}));
    EXPECT_EQ(read_file(out / "weft-weft-7-rank0.prom"), "zero\n");
    EXPECT_EQ(fs::status(out / "weft-weft-7-rank0.prom").permissions() & fs::perms::others_read,
              fs::perms::others_read);
    folder.write({{"0", "again\n"}});
    EXPECT_EQ(read_file(out / "weft-weft-7-rank0.prom"), "again\n");
    EXPECT_EQ(names_in(out), (Names{"weft-weft-7-rank0.prom", "weft-weft-7.lock"}));
  }
  EXPECT_EQ(names_in(out), Names{});
}

TEST(MetricsFolder, OthersCannotReadLessForTheUmask) {
  const TemporaryDirectory out;
  const mode_t before = ::umask(077);
  {
    MetricsFolder folder(out.path(), "a");
    folder.write({{"0", ""}});
    EXPECT_EQ(fs::status(out / "weft-a-rank0.prom").permissions(), fs::perms{0644});
  }
  ::umask(before);
}

TEST(MetricsFolder, RemovesWhatAKilledOneOfTheSameRunHasLeft) {
  const TemporaryDirectory out;
  for (const char* name : {"weft-a-rank0.prom", "weft-a-rank1.prom.tmp", "weft-a-b-rank0.prom", "weft-ab-rank0.prom",
                           "weft-a-rank0-rank1.prom", "other.prom", "weft-a-rank0.txt"})
    std::ofstream(out / name) << "x";
  const MetricsFolder folder(out.path(), "a");
  EXPECT_EQ(names_in(out), (Names{"other.prom", "weft-a-b-rank0.prom", "weft-a-rank0-rank1.prom", "weft-a-rank0.txt",
                                  "weft-a.lock", "weft-ab-rank0.prom"}));
}

TEST(MetricsFolder, TwoCannotWriteTheSameRun) {
  const TemporaryDirectory out;
  const MetricsFolder folder(out.path(), "a");
  EXPECT_THROW(MetricsFolder(out.path(), "a"), std::runtime_error);
  EXPECT_NO_THROW(MetricsFolder(out.path(), "b"));
}

TEST(MetricsFolder, AFileThatCannotBeWrittenLeavesTheOldOne) {
  const TemporaryDirectory out;
  MetricsFolder folder(out.path(), "a");
  folder.write({{"0", "old\n"}});
  fs::create_directory(out / "weft-a-rank0.prom.tmp");
  EXPECT_THROW(folder.write({{"0", "new\n"}}), std::runtime_error);
  EXPECT_EQ(read_file(out / "weft-a-rank0.prom"), "old\n");
}

}  // namespace
}  // namespace weft::test
