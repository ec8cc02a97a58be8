// Shards that are claimed, lost, given back and finished, by several owners that share a folder.
#include "feeder/ledger.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <set>

#include "feeder/owner.h"
#include "feeder/shard_file.h"
#include "tests/feeder/files.h"

namespace weft {
namespace {

using testing::fault_of;
using testing::Files;
using testing::tensor;
namespace fs = std::filesystem;

struct Ledgers : Files {
  const std::string results = path("r.npy");

  static LedgerPlan plan(const std::string& job = "a", std::uint64_t records = 10, std::uint64_t shard = 4) {
    return {"{\"job\": \"" + job + "\", \"input\": \"b\"}", records, shard};
  }
  Ledger open() const { return Ledger(results, plan()); }
  static std::optional<std::uint64_t> claim(Ledger& ledger) { return ledger.claims().claim(Claims::From::anywhere); }
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

// Whoever asks about it just then gets an answer, and no exception.
TEST(Owner, AProcessThatEndsMeanwhileHasEndedOrNot) {
  const std::string own = own_name(), place = own.substr(0, own.rfind('-', own.rfind('-') - 1) + 1);
  for (int i = 0; i < 200; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    const std::string name = place + std::to_string(child) + "-1";
    EXPECT_NO_THROW({
      for (int asks = 0; asks < 20; ++asks) (void)has_ended(name);
    });
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(has_ended(name));
  }
}

TEST_F(Ledgers, EachShardIsClaimedOnceInOrder) {
  Ledger ledger = open();
  EXPECT_EQ(ledger.shards(), 3U);
  EXPECT_EQ(ledger.records_of(0), 4U);
  EXPECT_EQ(ledger.records_of(2), 2U);
  EXPECT_EQ(claim(ledger), 0U);
  EXPECT_EQ(claim(ledger), 1U);
  EXPECT_EQ(claim(ledger), 2U);
  EXPECT_FALSE(claim(ledger));
  EXPECT_FALSE(ledger.claims().claim_last()) << "there is nothing to put together yet";
}

TEST_F(Ledgers, WhenAllIsDoneOnePutsItTogether) {
  Ledger ledger = open();
  for (std::uint64_t shard = 0; shard < 3; ++shard) {
    ASSERT_EQ(claim(ledger), shard);
    EXPECT_TRUE(ledger.claims().finish(shard));
  }
  EXPECT_FALSE(ledger.is_published());
  EXPECT_FALSE(claim(ledger));
  EXPECT_TRUE(ledger.claims().claim_last());
  EXPECT_FALSE(ledger.claims().claim_last());
  std::ofstream(ledger.fresh()) << "all";
  ledger.publish();
  EXPECT_TRUE(ledger.claims().finish(3));
  EXPECT_TRUE(ledger.is_published());
  EXPECT_EQ(read(results), "all");
  EXPECT_EQ(names("done"), std::vector<std::string>{"3"}) << "the shards are not kept";
  fs::remove(results);
  EXPECT_EQ(fault_of([&] { (void)open().is_published(); }),
            results + ": was complete and has been taken away; remove " + results + ".weft, too, to compute it again");
}

// Of another process that has put the same together it is taken; of the user it is left, and nothing is lost.
TEST_F(Ledgers, AFileThatIsThereIsNotReplaced) {
  Ledger ledger = open();
  for (std::uint64_t shard = 0; shard < 3; ++shard) ledger.claims().finish(*claim(ledger));
  std::ofstream(ledger.fresh()) << "all";
  write("r.npy", "mine");
  EXPECT_NE(fault_of([&] { ledger.publish(); }).find("is there already, and is not of these records"),
            std::string::npos);
  EXPECT_EQ(read(results), "mine");
  EXPECT_EQ(names("done").size(), 3U);
  EXPECT_FALSE(ledger.is_published());
  write("r.npy", "all");
  ledger.publish();
  EXPECT_TRUE(ledger.is_published());
}

// A folder likewise: it takes the place of an empty one that its user has made, and of nothing else.
TEST_F(Ledgers, ResultsMayBeAFolder) {
  const std::string folder_name = path("small");
  fs::create_directory(folder_name);
  Ledger ledger(folder_name + "/", plan());
  EXPECT_TRUE(Ledger::exists(folder_name + "/"));
  EXPECT_TRUE(fs::exists(folder_name + ".weft/plan.json"));
  const auto make = [&](const char* content) {
    fs::create_directory(ledger.fresh());
    std::ofstream(ledger.fresh() + "/a.png") << content;
  };
  make("all");
  write("small/mine.png", "mine");
  const auto fault = [&] { return fault_of([&] { ledger.publish(); }); };
  EXPECT_NE(fault().find("is there already, and is not of these records"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_name + "/mine.png"));
  fs::remove_all(folder_name);
  write("small", "a file");
  EXPECT_NE(fault().find("is there already, and is not of these records"), std::string::npos);
  fs::remove(folder_name);
  fs::create_directory(folder_name);
  ledger.publish();
  EXPECT_EQ(read(path("small/a.png")), "all");
  EXPECT_TRUE(ledger.is_published());
  EXPECT_TRUE(Ledger::has_all(folder_name + "/"));
  EXPECT_FALSE(fs::exists(ledger.fresh()));
  make("all");  // by another process that has put the same together
  EXPECT_EQ(fault(), "");
  make("other");
  EXPECT_NE(fault(), "");
}

// Found out before work begins, not when all of it is done.
TEST_F(Ledgers, AnEmptyFolderThatCannotGiveWayIsRefused) {
  fs::create_directory(path("pictures"));
  fs::create_directory_symlink(path("pictures"), path("link"));
  EXPECT_EQ(
      fault_of([&] { Ledger(path("link/"), plan()); }),
      path("link") + ": is a link, which the folder of all pictures cannot take the place of; name a folder in it");
  Ledger(path("pictures/"), plan());
}

TEST_F(Ledgers, AFolderThatIsNotEmptyIsRefused) {
  fs::create_directory(path("small"));
  write("small/mine.png", "mine");
  EXPECT_NE(fault_of([&] { Ledger(path("small/"), plan()); }).find("is there already"), std::string::npos);
}

TEST_F(Ledgers, ALinkThatLeadsNowhereIsRefused) {
  fs::create_symlink(path("nowhere/r.npy"), results);
  EXPECT_NE(fault_of([&] { open(); }).find("is there already"), std::string::npos);
}

TEST_F(Ledgers, AShardThatIsGivenBackKeepsItsContent) {
  {
    Ledger ledger = open();
    ASSERT_EQ(claim(ledger), 0U);
    std::ofstream(ledger.claims().running(0)) << "content";
  }
  EXPECT_EQ(names("todo"), (std::vector<std::string>{"0", "1", "2", "3"}));
  Ledger ledger = open();
  ASSERT_EQ(claim(ledger), 0U);
  EXPECT_EQ(read(ledger.claims().running(0)), "content");
}

TEST_F(Ledgers, ResultsOfSomethingElseAreRefused) {
  open();
  EXPECT_EQ(fault_of([&] { Ledger(results, plan("other")); }),
            results +
                ": has results of another kind: the file of the job was another one, or has changed; give the results "
                "another name, or take away " +
                results + ".weft");
  write("r.npy", "published");
  EXPECT_EQ(fault_of([&] { Ledger(results, plan("other", 11)); }),
            results +
                ": has results of another kind: the file of the job was another one, or has changed; the number of "
                "records was 10, now 11; give the results another name, or take away " +
                results + " and " + results + ".weft");
  EXPECT_NE(fault_of([&] {
              Ledger(results, {R"({"job": "a", "input": "c"})", 10, 4});
            }).find("the input had other records;"),
            std::string::npos);
  write("x.npy", "mine");
  EXPECT_NE(fault_of([&] { Ledger(path("x.npy"), plan()); }).find("is there already"), std::string::npos);
  EXPECT_EQ(read(path("x.npy")), "mine");
}

TEST_F(Ledgers, ADamagedPlanIsRefused) {
  open();
  std::ofstream(results + ".weft/plan.json") << "{";
  EXPECT_EQ(fault_of([&] { open(); }), results + ".weft/plan.json: cannot be read");
}

TEST_F(Ledgers, AFolderThatCannotBeMadeIsAFault) {
  EXPECT_NE(fault_of([&] { Ledger(path("nowhere/r.npy"), plan()); }).find("No such file or directory"),
            std::string::npos);
}

// A process that died while it made one, or put all together, leaves it behind for the next one to remove.
TEST_F(Ledgers, LeftoversOfProcessesThatHaveEndedAreRemoved) {
  open();
  const std::string own = own_name(), ended = own.substr(0, own.rfind('-')) + "-1";
  fs::create_directories(results + ".weft.new." + ended + "/todo");
  std::ofstream(results + ".weft/all." + ended) << "half";
  std::ofstream(results + ".weft/all.elsewhere-1-1-5-5") << "half";
  Ledger ledger = open();
  EXPECT_FALSE(fs::exists(results + ".weft.new." + ended));
  EXPECT_FALSE(fs::exists(results + ".weft/all." + ended));
  EXPECT_TRUE(fs::exists(results + ".weft/all.elsewhere-1-1-5-5")) << "it may live";
}

TEST_F(Ledgers, AShardIsTakenFromAnOwnerThatDoesNotRenewIt) {
  Ledger ledger = open();
  leave_running("0", "elsewhere-1-1-5-5", 30);
  leave_running("1", "elsewhere-1-1-5-6", 90);
  EXPECT_EQ(claim(ledger), 2U);
  EXPECT_EQ(claim(ledger), 1U);
  EXPECT_FALSE(claim(ledger));
  EXPECT_FALSE(ledger.claims().claim(Claims::From::dead));
}

// The old owner still writes: into a file that nobody reads.
TEST_F(Ledgers, WhoHasLostAShardChangesNothing) {
  Ledger ledger = open();
  const std::vector outputs{tensor("y", WEFT_INT32, {})};
  const std::string old = results + ".weft/running/1.elsewhere-1-1-5-6";
  leave_running("1", "elsewhere-1-1-5-6", 0);
  ShardFile before(old, outputs, 4);
  const std::int32_t one = 1, two = 2;
  before.write(0, 0, std::as_bytes(std::span(&one, 1)));
  before.mark(0);
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::seconds(90));
  const auto one_free = claim(ledger), other_free = claim(ledger);  // beside others in any order
  ASSERT_TRUE(one_free && other_free);
  ASSERT_EQ(*one_free + *other_free, 2U);
  ASSERT_EQ(claim(ledger), 1U);
  before.write(0, 0, std::as_bytes(std::span(&two, 1)));
  before.mark(1);
  const ShardFile after(ledger.claims().running(1), outputs, 4);
  EXPECT_EQ(after.marks(), (std::vector<char>{1, 0, 0, 0}));
  const std::vector<std::byte> values = after.values(0);
  EXPECT_EQ(std::to_integer<int>(values[0]), 1);
}

TEST_F(Ledgers, AShardIsTakenAtOnceFromAProcessThatHasEnded) {
  Ledger ledger = open();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  const std::string own = own_name();
  const std::string ended = own.substr(0, own.rfind('-', own.rfind('-') - 1)) + "-" + std::to_string(child) + "-1";
  leave_running("1", ended, 0);
  EXPECT_TRUE(has_ended(ended));
  EXPECT_FALSE(has_ended(own));
  EXPECT_FALSE(has_ended("elsewhere-1-1-99999999-1"));
  EXPECT_EQ(ledger.claims().claim(Claims::From::dead), 1U);
  EXPECT_FALSE(ledger.claims().claim(Claims::From::dead));
}

// The name of a process is the same for all of its life, however much memory it takes.
TEST_F(Ledgers, AProcessThatLivesHasNotEnded) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // The parent's name is known already, so the child's is made from its own numbers.
    std::ifstream file("/proc/self/stat");
    std::vector<std::string> fields{std::istream_iterator<std::string>(file), {}};
    const std::string own = own_name();
    const std::string name =
        own.substr(0, own.rfind('-', own.rfind('-') - 1)) + "-" + std::to_string(::getpid()) + "-" + fields[21];
    [[maybe_unused]] const ssize_t written = ::write(ends[1], name.c_str(), name.size() + 1);
    std::vector<char> memory(64 << 20, 'x');
    ::pause();
    ::_exit(memory[5]);
  }
  own_name();
  char name[512] = {};
  ASSERT_GT(::read(ends[0], name, sizeof name), 0);
  for (int look = 0; look < 20; ++look) {
    EXPECT_FALSE(has_ended(name)) << name;
    ::usleep(5000);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(has_ended(name));
}

TEST_F(Ledgers, AnOwnerHearsThatItHasLostAShard) {
  Ledger ledger = open();
  ASSERT_EQ(claim(ledger), 0U);
  EXPECT_TRUE(ledger.claims().renew(0));
  fs::rename(ledger.claims().running(0), results + ".weft/running/0.somebody");
  EXPECT_FALSE(ledger.claims().renew(0));
  EXPECT_FALSE(ledger.claims().finish(0));
  EXPECT_TRUE(names("done").empty());
}

// Forty processes at once, which all begin with nothing: each shard has one owner, and in the end one puts all
// together.
TEST_F(Ledgers, ManyClaimantsShareTheWork) {
  const LedgerPlan many = plan("a", 400, 2);
  std::vector<pid_t> children;
  for (int child = 0; child < 40; ++child) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      Ledger ledger(results, many);
      const int claims = ::open((folder / "claims").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      while (const auto shard = claim(ledger)) {
        const std::string line = std::to_string(*shard) + "\n";
        if (::write(claims, line.data(), line.size()) < 0 || !ledger.claims().finish(*shard)) ::_exit(1);
      }
      if (ledger.claims().claim_last() && (::write(claims, "last\n", 5) < 0 || !ledger.claims().finish(200)))
        ::_exit(1);
      ::_exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::ifstream claims(folder / "claims");
  std::multiset<std::string> all{std::istream_iterator<std::string>(claims), {}};
  EXPECT_EQ(all.size(), 201U);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 201U);
  EXPECT_EQ(names("done").size(), 201U);
}

TEST_F(Ledgers, AShardFileTakesNoResultOfAnotherSize) {
  write("shard", "");
  ShardFile shard(path("shard"), {tensor("x", WEFT_INT32, {2})}, 3);
  const std::vector<std::byte> value(8), larger(12);
  shard.write(0, 2, value);
  EXPECT_EQ(fault_of([&] { shard.write(0, 2, larger); }), path("shard") + ": has room for results of another size");
}

TEST_F(Ledgers, AShardFileHasItsResultsAtTheirPlaces) {
  const std::vector outputs{tensor("y", WEFT_INT32, {2}, true), tensor("z", WEFT_UINT8, {})};
  write("shard", "");
  {
    ShardFile file(path("shard"), outputs, 3);
    const std::int32_t numbers[] = {5, 6};
    file.write(0, 2, std::as_bytes(std::span(numbers)));
    file.write_length(0, 2, 1);
    file.write_length(1, 2, 77);  // of one of fixed size: nothing
    file.sync();
    file.mark(2);
  }
  const ShardFile file(path("shard"), outputs, 3);
  EXPECT_EQ(file.marks(), (std::vector<char>{0, 0, 1}));
  EXPECT_EQ(file.lengths(0), (std::vector<std::uint32_t>{0, 0, 1}));
  EXPECT_TRUE(file.lengths(1).empty());
  EXPECT_EQ(file.values(0).size(), 24U);
  EXPECT_EQ(std::to_integer<int>(file.values(0)[16]), 5);
  fs::resize_file(path("shard"), 20);
  EXPECT_EQ(ShardFile(path("shard"), outputs, 3).marks(), (std::vector<char>{0, 0, 0})) << "it was being made";
  fs::resize_file(path("shard"), 2000);
  EXPECT_EQ(fault_of([&] { ShardFile(path("shard"), outputs, 3); }),
            path("shard") + ": is damaged: it has another size");
}

}  // namespace
}  // namespace weft
