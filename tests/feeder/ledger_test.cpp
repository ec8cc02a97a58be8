// Shards that are claimed, lost, given back and finished, by several owners that share a folder.
#include "feeder/ledger.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <set>

#include "tests/feeder/files.h"

namespace weft {
namespace {

using testing::fault_of;
using testing::Files;
namespace fs = std::filesystem;

struct Ledgers : Files {
  const std::string results = path("r.npy");

  static void make_values(const std::string& path, void*) { std::ofstream(path) << "values"; }
  LedgerPlan plan(const std::string& job = "a", std::uint64_t records = 10, std::uint64_t shard = 4) const {
    return {"{\"job\": \"" + job + "\", \"input\": \"b\"}", records, shard};
  }
  Ledger open() { return Ledger(results, plan(), &make_values, nullptr); }
  using Records = std::vector<std::uint64_t>;

  static std::optional<std::uint64_t> claim(Ledger& ledger, Records& records) {
    return ledger.claim(Ledger::From::anywhere, records);
  }
  std::vector<std::string> names(const char* place) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(results + ".weft/" + place))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  // As if another process had it, which renews it no more.
  void leave_running(const std::string& shard, const std::string& owner, int seconds_ago) const {
    const std::string name = results + ".weft/running/" + shard + "." + owner;
    fs::rename(results + ".weft/todo/" + shard, name);
    fs::last_write_time(name, fs::file_time_type::clock::now() - std::chrono::seconds(seconds_ago));
  }
};

TEST_F(Ledgers, EachShardIsClaimedOnceInOrder) {
  Ledger ledger = open();
  Records records;
  EXPECT_EQ(claim(ledger, records), 0U);
  EXPECT_EQ(records, (Records{0, 1, 2, 3}));
  EXPECT_EQ(claim(ledger, records), 1U);
  EXPECT_EQ(claim(ledger, records), 2U);
  EXPECT_EQ(records, (Records{8, 9}));
  EXPECT_FALSE(claim(ledger, records));
  EXPECT_FALSE(ledger.is_complete());
}

TEST_F(Ledgers, IsCompleteWhenAllRecordsAreMarked) {
  Ledger ledger = open();
  Records records;
  while (claim(ledger, records)) ledger.mark(records);
  EXPECT_TRUE(ledger.is_complete());
  EXPECT_EQ(ledger.count_marked(), 10U);
  EXPECT_EQ(names("done"), (std::vector<std::string>{"0", "1", "2"}));
  ledger.publish(ledger.values());
  EXPECT_EQ(read(results), "values");
}

TEST_F(Ledgers, MarkedRecordsAreNotDoneAgain) {
  Records records;
  {
    Ledger ledger = open();
    claim(ledger, records);
    ledger.mark({1, 3});
  }
  EXPECT_EQ(names("todo"), (std::vector<std::string>{"0", "1", "2"}));
  Ledger ledger = open();
  claim(ledger, records);
  EXPECT_EQ(records, (Records{0, 2}));
}

TEST_F(Ledgers, ResultsOfSomethingElseAreRefused) {
  open();
  EXPECT_EQ(fault_of([&] { Ledger(results, plan("other"), &make_values, nullptr); }),
            results +
                ": has results of another kind: their job was \"a\" and is now \"other\"; give the results "
                "another name, or take away " +
                results + ".weft");
  EXPECT_NE(
      fault_of([&] { Ledger(results, plan("a", 11), &make_values, nullptr); }).find("records was 10 and is now 11"),
      std::string::npos);
  write("x.npy", "mine");
  EXPECT_NE(fault_of([&] { Ledger(path("x.npy"), plan(), &make_values, nullptr); }).find("is there already"),
            std::string::npos);
  EXPECT_EQ(read(path("x.npy")), "mine");
}

TEST_F(Ledgers, ADamagedFolderIsRefused) {
  open();
  fs::resize_file(results + ".weft/marks", 7);
  EXPECT_EQ(fault_of([&] { open(); }), results + ".weft/marks: is damaged");
  std::ofstream(results + ".weft/plan.json") << "{";
  EXPECT_EQ(fault_of([&] { open(); }), results + ".weft/plan.json: cannot be read");
}

TEST_F(Ledgers, AFolderThatCannotBeMadeLeavesNothing) {
  const auto fails = [](const std::string& path, void*) { throw FileError(path, "no room"); };
  EXPECT_NE(fault_of([&] { Ledger(results, plan(), fails, nullptr); }).find("no room"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(Ledgers, AShardIsTakenFromAnOwnerThatDoesNotRenewIt) {
  Ledger ledger = open();
  leave_running("0", "elsewhere-1-1-5-5", 30);
  leave_running("1", "elsewhere-1-1-5-6", 90);
  Records records;
  EXPECT_EQ(claim(ledger, records), 2U);
  EXPECT_EQ(claim(ledger, records), 1U);
  EXPECT_FALSE(claim(ledger, records));
  EXPECT_FALSE(ledger.claim(Ledger::From::dead, records));
}

TEST_F(Ledgers, AShardIsTakenAtOnceFromAProcessThatHasEnded) {
  Ledger ledger = open();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // own_name() was made before the fork, so it is built from the parent's.
    const std::string own = Ledger::own_name();
    const std::string place = own.substr(0, own.rfind('-', own.rfind('-') - 1));
    const std::string name = place + "-" + std::to_string(::getpid()) + "-1";
    [[maybe_unused]] const ssize_t written = ::write(ends[1], name.data(), name.size());
    ::_exit(0);
  }
  char name[512] = {};
  ASSERT_GT(::read(ends[0], name, sizeof name - 1), 0);
  ::waitpid(child, nullptr, 0);
  leave_running("1", name, 0);
  leave_running("2", Ledger::own_name(), 0);
  EXPECT_TRUE(Ledger::has_ended(name));
  EXPECT_FALSE(Ledger::has_ended(Ledger::own_name()));
  EXPECT_FALSE(Ledger::has_ended("elsewhere-1-1-99999999-1"));
  Records records;
  EXPECT_EQ(ledger.claim(Ledger::From::dead, records), 1U);
  EXPECT_FALSE(ledger.claim(Ledger::From::dead, records));
}

TEST_F(Ledgers, AnOwnerHearsThatItHasLostAShard) {
  Ledger ledger = open();
  Records records;
  claim(ledger, records);
  EXPECT_TRUE(ledger.renew(0));
  const std::string own = results + ".weft/running/0." + Ledger::own_name();
  fs::rename(own, results + ".weft/running/0.somebody");
  EXPECT_FALSE(ledger.renew(0));
  EXPECT_FALSE(ledger.holds(0));
  ledger.mark({0, 1, 2, 3});
  EXPECT_EQ(ledger.count_marked(), 0U);
}

// Forty processes at once: each shard has one owner at a time, and in the end all are done.
TEST_F(Ledgers, ManyClaimantsShareTheWork) {
  const LedgerPlan many = plan("a", 400, 2);
  { Ledger(results, many, &make_values, nullptr); }
  std::vector<pid_t> children;
  for (int child = 0; child < 40; ++child) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      Ledger ledger(results, many, &make_values, nullptr);
      Records records;
      const int claims = ::open((folder / "claims").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      while (const auto shard = ledger.claim(Ledger::From::anywhere, records)) {
        const std::string line = std::to_string(*shard) + "\n";
        if (::write(claims, line.data(), line.size()) < 0) ::_exit(1);
        ledger.mark(records);
      }
      ::_exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  Ledger ledger(results, many, &make_values, nullptr);
  EXPECT_TRUE(ledger.is_complete());
  EXPECT_EQ(ledger.count_marked(), 400U);
  std::ifstream claims(folder / "claims");
  std::multiset<std::string> all{std::istream_iterator<std::string>(claims), {}};
  EXPECT_EQ(all.size(), 200U);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 200U);
}

}  // namespace
}  // namespace weft
