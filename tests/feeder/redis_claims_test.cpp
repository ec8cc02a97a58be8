// Claims that Redis keeps: by one at a time, also where the server or the claimants lose what they know. The real
// server.
#include "feeder/redis/claims.h"

#include <gtest/gtest.h>

#include <set>

#include "feeder/owner.h"
#include "feeder/redis/queue.h"
#include "tests/feeder/files.h"
#include "tests/feeder/redis_server.h"

namespace weft {
namespace {

using testing::fault_of;
using testing::Files;
using testing::RedisServer;
using From = Claims::From;
namespace fs = std::filesystem;

struct RedisClaimsTest : Files {
  RedisServer server{folder};
  const std::string place = server.address() + "#7";
  RedisClient client{parse_redis_address(server.address())};

  RedisClaimsTest() { fs::create_directory(path("shards")); }
  std::unique_ptr<RedisClaims> open(std::uint64_t count = 3) const {
    return std::make_unique<RedisClaims>(place, path("shards"), count);
  }
  std::string key(const char* name) const { return std::string("weft:claims:7:") + name; }
  // Another process has it.
  void give_away(const std::string& shard, const std::string& owner) {
    client.command({"HSET", key("owners"), shard, owner});
  }
  void end_lease(const std::string& shard) { client.command({"ZADD", key("leases"), "1", shard}); }
};

TEST_F(RedisClaimsTest, EachShardIsClaimedOnce) {
  const auto one = open(), other = open();
  std::set<std::uint64_t> claimed;
  for (int i = 0; i < 3; ++i) {
    const auto shard = (i % 2 == 0 ? one : other)->claim(From::anywhere);
    ASSERT_TRUE(shard);
    EXPECT_TRUE(claimed.insert(*shard).second);
  }
  EXPECT_FALSE(one->claim(From::anywhere));
  EXPECT_FALSE(other->claim(From::anywhere));
}

TEST_F(RedisClaimsTest, WhenAllAreDoneOnePutsThemTogether) {
  const auto claims = open();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(claims->claim_last());
    const auto shard = claims->claim(From::anywhere);
    ASSERT_TRUE(shard);
    std::ofstream(claims->running(*shard)) << "shard " << *shard;
    EXPECT_TRUE(claims->finish(*shard));
  }
  EXPECT_FALSE(claims->claim(From::anywhere));
  EXPECT_TRUE(claims->claim_last());
  EXPECT_FALSE(open()->claim_last()) << "another one does so";
  for (std::uint64_t shard = 0; shard < 3; ++shard)
    EXPECT_EQ(read(claims->done(shard)), "shard " + std::to_string(shard));
  EXPECT_TRUE(claims->renew(3));
  EXPECT_TRUE(claims->finish(3));
}

TEST_F(RedisClaimsTest, AShardGoesOnWithItsResultsInAnotherFile) {
  auto one = open(1);
  ASSERT_EQ(one->claim(From::anywhere), 0U);
  const std::string before = one->running(0);
  std::ofstream(before) << "half";
  one->give_back(0);
  const auto other = open(1);
  ASSERT_EQ(other->claim(From::anywhere), 0U);
  EXPECT_NE(other->running(0), before);
  EXPECT_EQ(read(other->running(0)), "half");
  EXPECT_FALSE(fs::exists(before));
}

TEST_F(RedisClaimsTest, WhoDoesNotRenewLosesIt) {
  const auto one = open(1);
  ASSERT_EQ(one->claim(From::anywhere), 0U);
  give_away("0", "far-1-1-1-1");
  const auto other = open(1);
  EXPECT_FALSE(other->claim(From::anywhere)) << "its lease goes on";
  end_lease("0");
  EXPECT_EQ(other->claim(From::anywhere), 0U);
}

TEST_F(RedisClaimsTest, OneThatWasLostIsNotFinished) {
  const auto one = open(1);
  ASSERT_EQ(one->claim(From::anywhere), 0U);
  give_away("0", "far-1-1-1-1");
  EXPECT_FALSE(one->renew(0));
  const auto again = open(1);
  EXPECT_FALSE(again->finish(0));
  EXPECT_EQ(client.command({"HLEN", key("done")}).number, 0);
}

TEST_F(RedisClaimsTest, ShardsOfProcessesThatHaveEndedAreTakenAtOnce) {
  const auto one = open(1);
  ASSERT_EQ(one->claim(From::anywhere), 0U);
  const std::string own = own_name();
  give_away("0", own.substr(0, own.rfind('-')) + "-1");
  EXPECT_EQ(open(1)->claim(From::dead), 0U);
}

TEST_F(RedisClaimsTest, TheirDestructorGivesThemBack) {
  ASSERT_EQ(open(1)->claim(From::anywhere), 0U);
  EXPECT_EQ(open(1)->claim(From::anywhere), 0U);
}

// A server that has lost all of it: files tell how far each was, and who works goes on.
TEST_F(RedisClaimsTest, NothingIsLostWithTheServersKeys) {
  const auto one = open(2);
  ASSERT_EQ(one->claim(From::anywhere), 0U);
  std::ofstream(one->running(0)) << "\1\1\1";
  client.command({"FLUSHALL"});
  EXPECT_TRUE(one->renew(0)) << "nobody else has it";
  const auto other = open(2);
  ASSERT_EQ(other->claim(From::anywhere), 1U);
  EXPECT_FALSE(other->claim(From::anywhere));
  EXPECT_TRUE(one->finish(0));
  client.command({"FLUSHALL"});
  const auto third = open(2);
  const auto shard = third->claim(From::anywhere);
  ASSERT_TRUE(shard);
  EXPECT_EQ(read(third->running(0)), "\1\1\1") << "it is not computed again";
}

TEST_F(RedisClaimsTest, AKeyThatIsLostIsFoundOut) {
  const auto claims = open(3);
  ASSERT_EQ(claims->claim(From::anywhere), 0U);
  client.command({"DEL", key("todo")});
  std::set<std::uint64_t> rest;
  while (const auto shard = claims->claim(From::anywhere)) rest.insert(*shard);
  EXPECT_EQ(rest, (std::set<std::uint64_t>{1, 2}));
}

// By whoever had opened them before the keys were lost, too.
TEST_F(RedisClaimsTest, FilesAreFoundAgainByAll) {
  const auto one = open(2), other = open(2);
  for (std::uint64_t shard = 0; shard < 2; ++shard) {
    ASSERT_EQ(one->claim(From::anywhere), shard);
    std::ofstream(one->running(shard)) << "\1" << shard;
    ASSERT_TRUE(one->finish(shard));
  }
  client.command({"FLUSHALL"});
  ASSERT_EQ(one->claim(From::anywhere), 0U);
  EXPECT_EQ(read(one->running(0)),
            "\1"
            "0");
  ASSERT_EQ(other->claim(From::anywhere), 1U);
  EXPECT_EQ(read(other->running(1)),
            "\1"
            "1");
}

TEST_F(RedisClaimsTest, AShardWhoseFileIsGoneIsDoneAgain) {
  const auto claims = open(1);
  ASSERT_EQ(claims->claim(From::anywhere), 0U);
  fs::remove(claims->running(0));
  EXPECT_FALSE(claims->finish(0)) << "it is not there";
  ASSERT_EQ(claims->claim(From::anywhere), 0U);
  std::ofstream(claims->running(0)) << "x";
  ASSERT_TRUE(claims->finish(0));
  ASSERT_TRUE(claims->claim_last());
  fs::remove(claims->done(0));
  claims->undo(0);
  claims->give_back(1);
  EXPECT_FALSE(open(1)->claim_last());
  EXPECT_EQ(claims->claim(From::anywhere), 0U);
}

TEST_F(RedisClaimsTest, AllIsPutTogetherOnce) {
  const auto claims = open(1);
  ASSERT_EQ(claims->claim(From::anywhere), 0U);
  ASSERT_TRUE(claims->finish(0));
  ASSERT_TRUE(claims->claim_last());
  EXPECT_TRUE(claims->finish(1));
  EXPECT_FALSE(open(1)->claim_last());
  EXPECT_FALSE(open(1)->claim(From::anywhere));
}

// The lease on the last number is none on a shard.
TEST_F(RedisClaimsTest, AShardThatIsLostBesideTheLastNumberIsFoundOut) {
  client.command({"ZADD", key("leases"), "99999999999999", "1"});
  EXPECT_EQ(open(1)->claim(From::anywhere), 0U);
}

TEST_F(RedisClaimsTest, AServerThatIsGoneIsNotNowAndComesBack) {
  const auto claims = open(2);
  ASSERT_EQ(claims->claim(From::anywhere), 0U);
  server.stop();
  EXPECT_THROW(claims->renew(0), NotNow);
  EXPECT_THROW(claims->finish(0), NotNow);
  EXPECT_THROW(claims->claim(From::anywhere), NotNow);
  EXPECT_TRUE(fault_of([&] { claims->renew(0); }).starts_with(server.address() + ": "));
  server.start();
  sleep_until(now() + std::chrono::milliseconds(1100));
  EXPECT_TRUE(claims->renew(0));
  EXPECT_TRUE(claims->finish(0));
  EXPECT_EQ(claims->claim(From::anywhere), 1U);
}

TEST_F(RedisClaimsTest, OfOneFolderThatIsNoneOfAnother) {
  const auto one = open(1);
  ASSERT_EQ(one->claim(From::anywhere), 0U);
  EXPECT_EQ(RedisClaims(server.address() + "#8", "", 1).claim(From::anywhere), 0U);
}

struct RedisServers : Files {
  std::string fault_of_queue(const RedisServer& server, const std::string& options = "") const {
    return fault_of([&] { RedisQueue(server.address() + options); });
  }
};

TEST_F(RedisServers, AWrongPasswordIsSaidWithoutIt) {
  const RedisServer server(folder, {"--requirepass", "secret"});
  ASSERT_TRUE(fault_of_queue(server).starts_with(server.address() + ": NOAUTH ")) << fault_of_queue(server);
  const std::string wrong = "redis+unix://:guessed@" + server.socket();
  const std::string fault = fault_of([&] { RedisQueue queue(wrong); });
  EXPECT_TRUE(fault.starts_with(server.address() + ": WRONGPASS ")) << fault;
  EXPECT_EQ(fault.find("guessed"), std::string::npos);
  EXPECT_EQ(fault_of([&] { RedisQueue queue("redis+unix://:secret@" + server.socket()); }), "");
  ::setenv("REDISCLI_AUTH", "secret", 1);
  EXPECT_EQ(fault_of_queue(server), "");
  ::unsetenv("REDISCLI_AUTH");
}

TEST_F(RedisServers, OneThatThrowsKeysAwayIsRefused) {
  const RedisServer evicts(folder, {"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
  EXPECT_EQ(fault_of_queue(evicts), evicts.address() +
                                        ": it may throw keys away (maxmemory-policy allkeys-lru); a queue "
                                        "needs noeviction");
}

TEST_F(RedisServers, OneWithoutMemoryIsNotNow) {
  const RedisServer full(folder, {"--maxmemory", "1", "--maxmemory-policy", "noeviction"});
  RedisQueue queue(full.address());
  QueuedJob job;
  job.plan.spec = "a.so";
  job.plan.terms.units = 1;
  EXPECT_THROW(queue.submit(job), NotNow);
}

TEST_F(RedisServers, OneThatDoesNotAnswerIsGivenUp) {
  RedisServer server(folder);
  RedisQueue queue(server.address());
  server.pause();
  const TimePoint began = now();
  EXPECT_THROW(queue.ids(JobState::waiting), NotNow);
  EXPECT_LT(now() - began, std::chrono::seconds(8));
  EXPECT_THROW(queue.ids(JobState::waiting), NotNow) << "and not waited for again at once";
  EXPECT_LT(now() - began, std::chrono::seconds(8));
  server.go_on();
}

TEST_F(RedisServers, AQueueWithoutAFolderWantsAPlaceForResults) {
  const RedisServer server(folder);
  RedisQueue queue(server.address());
  QueuedJob job;
  job.plan.spec = "a.so";
  job.plan.files.input = "/in";
  EXPECT_EQ(fault_of([&] { queue.submit(job); }),
            server.address() + ": holds no results: name a file (--results), or folder=PATH in the queue's address");
  job.plan.files.results = "/out";
  EXPECT_EQ(queue.submit(job), "1") << "no number is used up";
}

TEST(RedisAddress, IsWhatPeopleWrite) {
  const RedisAddress plain = parse_redis_address("redis://host");
  EXPECT_EQ(plain.host, "host");
  EXPECT_EQ(plain.port, 6379);
  const RedisAddress all = parse_redis_address("redis://me:p%40ss:w@10.0.0.1:7000/3?prefix=lab&folder=/shared/weft");
  EXPECT_EQ(all.user, "me");
  EXPECT_EQ(all.password, "p@ss:w");
  EXPECT_EQ(all.host, "10.0.0.1");
  EXPECT_EQ(all.port, 7000);
  EXPECT_EQ(all.database, 3U);
  EXPECT_EQ(all.prefix, "lab");
  EXPECT_EQ(all.folder, "/shared/weft");
  EXPECT_EQ(all.described(), "redis://10.0.0.1:7000/3");
  EXPECT_EQ(parse_redis_address("redis://[::1]:6380").described(), "redis://[::1]:6380/0");
  const RedisAddress socket = parse_redis_address("redis+unix:///run/redis.sock?database=2");
  EXPECT_EQ(socket.socket, "/run/redis.sock");
  EXPECT_EQ(socket.database, 2U);
}

TEST(RedisAddress, MistakesAreNamedWithoutThePassword) {
  for (const char* const wrong :
       {"redis://", "redis://:secret@", "redis://host:port", "redis://host:99999", "redis://host/x", "redis://host?a=1",
        "rediss://host", "redis://user:secret", "redis://:a?secret@", "redis+unix://relative",
        "redis://host?folder=relative", "redis://[::1", "redis://h?prefix="}) {
    const std::string fault = fault_of([&] { parse_redis_address(wrong); });
    EXPECT_TRUE(fault.starts_with("the queue's address: ")) << wrong << ": " << fault;
    EXPECT_EQ(fault.find("secret"), std::string::npos);
  }
  EXPECT_TRUE(is_redis("redis://a") && is_redis("rediss://a") && is_redis("redis+unix:///a"));
  EXPECT_FALSE(is_redis("/redis") || is_redis("redis"));
}

}  // namespace
}  // namespace weft
