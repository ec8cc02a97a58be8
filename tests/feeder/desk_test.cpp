// The feeder's side of a queue: which jobs ranks are given, and what becomes of them. Ranks are the real ones' side of
// the shared memory, the queue is a folder.
#include "feeder/queue/desk.h"

#include <gtest/gtest.h>

#include "feeder/owner.h"
#include "feeder/queue/spool.h"
#include "feeder/redis/queue.h"
#include "runner/clock.h"
#include "runner/feed/queue_places.h"
#include "tests/feeder/files.h"
#include "tests/feeder/redis_server.h"

namespace weft {
namespace {

using testing::Files;
using testing::RedisServer;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;
constexpr Duration until_it_looks = 1100ms;  // at the queue again

struct Rank {
  Rank(const std::string& folder, std::int32_t number, JobPolicy policy = JobPolicy::throughput,
       std::uint32_t place_count = 1)
      : places(folder, {number, 0, place_count, policy, "queue"}), channel(JobChannel::open(places.path())) {
    places.offer(gib);
  }
  JobChannelHeader& header() { return channel.header(); }

  QueuePlaces places;
  JobChannel channel;  // the feeder's side
};

// Over a folder, and over a Redis server.
struct Desks : Files, ::testing::WithParamInterface<bool> {
  const bool is_redis = GetParam();
  std::optional<RedisServer> server = is_redis ? std::optional<RedisServer>(folder) : std::nullopt;
  const std::string queue = is_redis ? server->address() + "?folder=" + path("jobs") : path("queue");
  const std::unique_ptr<JobQueue> spool = open_queue(queue, WhereNone::make);
  std::map<std::string, std::uint64_t> committed;
  std::unique_ptr<Desk> desk = open();

  std::unique_ptr<Desk> open() {
    return std::make_unique<Desk>(open_queue(queue, WhereNone::fail),
                                  [this](const std::string& results) { return committed[results]; });
  }
  std::string submit(const std::string& name, std::uint64_t units, JobTerms terms = {}, std::uint64_t memory = 0) {
    QueuedJob job;
    job.plan.spec = "/fill_" + name + ".so";
    job.plan.terms = terms;
    job.plan.terms.units = units;
    job.plan.memory = memory;
    if (units == 0) {
      job.plan.files.input = "/in.npy";
      job.plan.files.results = path(name + ".npy");
    }
    return spool->submit(job);
  }
  // The name of the job that the rank has after it has asked; "": none.
  std::string asks(Rank& rank, std::uint32_t place = 0) {
    rank.places.ask(place);
    desk->serve(rank.header());
    EXPECT_TRUE(rank.places.is_answered(place));
    const auto placed = rank.places.take(place);
    return placed ? placed->plan.name : "";
  }
  void gives_back(Rank& rank, JobEnd end, const std::string& why = "why", std::uint32_t place = 0) {
    rank.places.give_back(place, end, gib, why);
    EXPECT_FALSE(rank.places.take(place));
    desk->serve(rank.header());
  }
  JobState state(const std::string& id) { return spool->find(id)->state; }
};

TEST_P(Desks, ARankGetsAJobAsItWasSubmitted) {
  QueuedJob job;
  job.plan.spec = "/fill_embed.so:a=1";
  job.plan.files = {"/in.npy", path("out.npy"), "/w.safetensors"};
  job.plan.memory = 1000;
  job.plan.variants = {"batch=4", "batch=1"};
  spool->submit(job);
  Rank rank(folder.string(), 3);
  rank.places.ask(0);
  desk->serve(rank.header());
  const auto placed = rank.places.take(0);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->plan.name, "embed#1");
  EXPECT_EQ(placed->plan.spec, "/fill_embed.so:a=1");
  EXPECT_EQ(placed->plan.arguments, "a=1");
  EXPECT_EQ(placed->plan.files.weights, "/w.safetensors");
  EXPECT_EQ(placed->plan.memory, 1000U);
  EXPECT_EQ(placed->plan.variants, job.plan.variants);
  EXPECT_EQ(placed->progress, "") << "a job with records has none";
  desk->renew();
  ASSERT_EQ(spool->find("1")->at_work.size(), 1U);
  EXPECT_EQ(spool->find("1")->at_work[0].ranks, std::vector<std::int32_t>{3});
}

TEST_P(Desks, ThereIsNothingAndThatIsSaidAtOnce) {
  Rank rank(folder.string(), 0);
  EXPECT_EQ(asks(rank), "");
}

TEST_P(Desks, AJobWithRecordsGoesToAllRanksAndOneWithoutToOne) {
  submit("records", 0);
  submit("units", 10);
  Rank one(folder.string(), 0), two(folder.string(), 1), three(folder.string(), 2);
  EXPECT_EQ(asks(one), "records#1");
  EXPECT_EQ(asks(two), "units#2");
  EXPECT_EQ(asks(three), "records#1");
  gives_back(two, JobEnd::withdrawn);
  gives_back(three, JobEnd::withdrawn);
  EXPECT_EQ(asks(three), "units#2") << "its lease was given back";
}

TEST_P(Desks, AJobIsDoneWhenAllOfItsResultsAreThere) {
  const std::string id = submit("records", 0);
  Rank rank(folder.string(), 0);
  ASSERT_EQ(asks(rank), "records#1");
  gives_back(rank, JobEnd::over);
  EXPECT_EQ(state(id), JobState::waiting) << "a rank says so, and nothing is there";
  ASSERT_EQ(asks(rank), "records#1");
  fs::create_directory(path("records.npy.weft"));
  write("records.npy.weft/published", "");
  gives_back(rank, JobEnd::over);
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(asks(rank), "");
}

TEST_P(Desks, ResultsOfAnotherJobAreNotThoseOfThisOne) {
  const std::string id = submit("records", 0);
  fs::create_directory(path("records.npy.weft"));
  write("records.npy.weft/published", "");
  Rank rank(folder.string(), 0);
  ASSERT_EQ(asks(rank), "records#1");
  gives_back(rank, JobEnd::fault, "has results of another kind");
  EXPECT_EQ(state(id), JobState::waiting);
}

TEST_P(Desks, AJobWhoseRankDiesWithItsLastResultsIsDone) {
  const std::string id = submit("records", 0);
  Rank rank(folder.string(), 0);
  ASSERT_EQ(asks(rank), "records#1");
  rank.places.runs(0, 1ms);
  fs::create_directory(path("records.npy.weft"));
  write("records.npy.weft/published", "");
  desk->leave(rank.header());
  EXPECT_EQ(state(id), JobState::done);
}

TEST_P(Desks, AJobWhoseRankDiesWithItsLastUnitIsDone) {
  const std::string id = submit("units", 10);
  Rank rank(folder.string(), 0);
  ASSERT_EQ(asks(rank), "units#1");
  rank.places.note_units(0, 10);
  desk->leave(rank.header());
  EXPECT_EQ(state(id), JobState::done);
}

TEST_P(Desks, UnitsOfSeveralRanksAddUp) {
  const std::string id = submit("units", 10);
  Rank one(folder.string(), 0), two(folder.string(), 1);
  ASSERT_EQ(asks(one), "units#1");
  one.places.note_units(0, 4);
  gives_back(one, JobEnd::left);
  EXPECT_EQ(spool->find(id)->units, 4U);
  two.places.ask(0);
  desk->serve(two.header());
  const auto placed = two.places.take(0);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->plan.terms.units, 6U);
  EXPECT_EQ(placed->progress, (is_redis ? path("jobs") : queue + "/jobs") + "/1/progress");
  two.places.note_units(0, 6);
  gives_back(two, JobEnd::over);
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(spool->find(id)->units, 10U);
}

TEST_P(Desks, ARankThatDiesLosesItsJob) {
  const std::string id = submit("units", 10);
  Rank one(folder.string(), 0), two(folder.string(), 1);
  ASSERT_EQ(asks(one), "units#1");
  one.places.note_units(0, 3);
  EXPECT_EQ(asks(two), "");
  desk->leave(one.header());
  EXPECT_EQ(spool->find(id)->units, 3U);
  EXPECT_TRUE(spool->find(id)->at_work.empty());
  EXPECT_EQ(asks(two), "units#1");
}

TEST_P(Desks, AFeederThatIsStartedAgainFindsWhatWasGiven) {
  submit("units", 10);
  submit("records", 0);
  Rank one(folder.string(), 0), two(folder.string(), 1);
  ASSERT_EQ(asks(one), "units#1");
  ASSERT_EQ(asks(two), "records#2");
  desk = nullptr;
  desk = open();
  desk->serve(one.header());
  desk->serve(two.header());
  EXPECT_FALSE(one.places.withdrawn(0));
  EXPECT_FALSE(two.places.withdrawn(0));
  Rank three(folder.string(), 2);
  EXPECT_EQ(asks(three), "records#2") << "the other one is leased again";
}

TEST_P(Desks, UnitsAreNotCountedTwiceWhereTheFeederIsStartedAgain) {
  const std::string id = submit("units", 100);
  Rank rank(folder.string(), 0);
  ASSERT_EQ(asks(rank), "units#1");
  for (int i = 1; i <= 3; ++i) {
    rank.places.note_units(0, static_cast<std::uint64_t>(10 * i));
    desk->renew();
    desk = nullptr;
    desk = open();
    desk->serve(rank.header());
    desk->renew();
    EXPECT_EQ(spool->find(id)->units, static_cast<std::uint64_t>(10 * i));
  }
}

TEST_P(Desks, AJobThatAnotherOneHasMeanwhileIsWanted) {
  submit("units", 10);
  Rank one(folder.string(), 0);
  ASSERT_EQ(asks(one), "units#1");
  one.places.note_units(0, 7);
  desk = nullptr;
  const auto theirs = open_queue(queue, WhereNone::fail)->lease_of("1");
  ASSERT_TRUE(theirs->claim(Claims::From::anywhere));
  if (!is_redis) {  // by a process that is none of this host
    const std::string running = queue + "/jobs/1/lease/running/0.";
    fs::rename(running + own_name(), running + "far-1-1-1-1");
  } else {
    RedisClient(parse_redis_address(queue)).command({"HSET", "weft:claims:1-lease:owners", "0", "far-1-1-1-1"});
  }
  desk = open();
  desk->serve(one.header());
  EXPECT_TRUE(one.places.withdrawn(0));
  gives_back(one, JobEnd::withdrawn);
  EXPECT_EQ(spool->find("1")->units, 0U) << "they count for who has the lease";
}

TEST_P(Desks, AJobThatWaitsNoMoreIsWanted) {
  const std::string id = submit("records", 0);
  Rank rank(folder.string(), 0);
  ASSERT_EQ(asks(rank), "records#1");
  spool->move(id, JobState::waiting, JobState::cancelled, "it was cancelled");
  sleep_until(now() + until_it_looks);
  desk->serve(rank.header());
  ASSERT_TRUE(rank.places.withdrawn(0));
  EXPECT_EQ(*rank.places.withdrawn(0), "it waits in the queue no more");
  gives_back(rank, JobEnd::withdrawn);
  EXPECT_EQ(asks(rank), "");
  EXPECT_FALSE(rank.places.withdrawn(0)) << "that was of the job before";
}

TEST_P(Desks, AJobThatTheQueueHasLostGoesOn) {
  submit("records", 0);
  Rank rank(folder.string(), 0);
  ASSERT_EQ(asks(rank), "records#1");
  if (is_redis) {
    RedisClient(parse_redis_address(queue)).command({"FLUSHALL"});
  } else {
    fs::remove(queue + "/waiting/1");
    fs::remove_all(queue + "/jobs/1");
  }
  sleep_until(now() + until_it_looks);
  desk->serve(rank.header());
  EXPECT_FALSE(rank.places.withdrawn(0));
}

TEST_P(Desks, AJobThatFailsThreeTimesHasFailed) {
  const std::string id = submit("bad", 0);
  spool->note_refusal(id, {RefusalKind::fault, "another host", "it is bad there", 2});
  Rank rank(folder.string(), 0), other(folder.string(), 1);
  ASSERT_EQ(asks(rank), "bad#1");
  gives_back(rank, JobEnd::fault, "it is bad");
  EXPECT_EQ(state(id), JobState::failed);
  EXPECT_EQ(spool->find(id)->why, "it is bad");
  EXPECT_EQ(spool->find(id)->refusals.size(), 2U);
  EXPECT_EQ(asks(other), "");
}

TEST_P(Desks, RanksOfAHostThatFailTogetherCountOnce) {
  const std::string id = submit("bad", 0);
  Rank one(folder.string(), 0), two(folder.string(), 1), three(folder.string(), 2);
  const std::vector<Rank*> ranks{&one, &two, &three};
  for (Rank* const rank : ranks) ASSERT_EQ(asks(*rank), "bad#1");
  submit("good", 0);
  sleep_until(now() + until_it_looks);
  for (Rank* const rank : ranks) gives_back(*rank, JobEnd::fault, "it is bad");
  EXPECT_EQ(state(id), JobState::waiting);
  EXPECT_EQ(asks(one), "good#2") << "not the same one so soon";
  ASSERT_EQ(spool->find(id)->refusals.size(), 1U);
  EXPECT_EQ(spool->find(id)->refusals[0].times, 1U);
}

TEST_P(Desks, AFaultThatPassesIsShownAndTriedAgainLater) {
  const std::string id = submit("records", 0);
  Rank rank(folder.string(), 0), other(folder.string(), 1);
  ASSERT_EQ(asks(rank), "records#1");
  gives_back(rank, JobEnd::passing_fault, "the GPU was at work");
  EXPECT_EQ(asks(rank), "");
  EXPECT_EQ(asks(other), "records#1");
  EXPECT_EQ(state(id), JobState::waiting);
  ASSERT_EQ(spool->find(id)->refusals.size(), 1U);
  EXPECT_EQ(spool->find(id)->refusals[0].why, "the GPU was at work");
}

TEST_P(Desks, AJobThatCannotBeReadIsLeftAloneAndOthersAreGiven) {
  submit("broken", 0);
  submit("records", 0);
  if (is_redis)
    RedisClient(parse_redis_address(queue)).command({"HSET", "weft:job:1", "text", "no"});
  else
    std::ofstream(queue + "/jobs/1/job.json") << "no";
  Rank rank(folder.string(), 0);
  EXPECT_EQ(asks(rank), "records#2");
}

TEST_P(Desks, AHostOnWhichAllFailsUsesUpNoMoreThanThree) {
  for (int i = 0; i < 6; ++i) submit("job" + std::to_string(i), 0);
  Rank rank(folder.string(), 0);
  int given = 0;
  while (!asks(rank).empty()) {
    ++given;
    gives_back(rank, JobEnd::fault, "no such file");
  }
  EXPECT_EQ(given, 3);
  EXPECT_EQ(spool->ids(JobState::waiting).size(), 6U);
  Rank other(folder.string(), 1);
  EXPECT_EQ(asks(other), "") << "it is the host that rests";
}

TEST_P(Desks, AJobThatDoesNotFitInTheMemoryThatItWantsHasFailed) {
  const std::string id = submit("large", 0, {}, 1000);
  Rank rank(folder.string(), 0);
  ASSERT_EQ(asks(rank), "large#1");
  gives_back(rank, JobEnd::lacks_memory, "it needs more");
  EXPECT_EQ(state(id), JobState::failed);
  EXPECT_EQ(spool->find(id)->why, "it needs more");
}

TEST_P(Desks, MemoryThatWasTooLittleIsNotOfferedAgain) {
  const std::string id = submit("large", 0);
  Rank rank(folder.string(), 0), roomy(folder.string(), 1);
  ASSERT_EQ(asks(rank), "large#1");
  gives_back(rank, JobEnd::lacks_memory, "it needs more");
  EXPECT_EQ(spool->find(id)->need.memory, gib);
  EXPECT_EQ(asks(rank), "");
  Rank like_it(folder.string(), 2);
  EXPECT_EQ(asks(like_it), "");
  roomy.places.offer(2 * gib);
  EXPECT_EQ(asks(roomy), "large#1");
  EXPECT_EQ(state(id), JobState::waiting);
}

TEST_P(Desks, LongSlicesAreNotGivenToShortBubbles) {
  const std::string id = submit("long", 0);
  Rank rank(folder.string(), 0), other(folder.string(), 1);
  BubbleLengths bubbles;
  bubbles.add(2ms);
  rank.places.offer(bubbles);
  ASSERT_EQ(asks(rank), "long#1") << "nobody knows how long its slices are";
  rank.places.runs(0, 5ms);
  desk->serve(rank.header());
  EXPECT_EQ(spool->find(id)->need.slice, 5ms);
  gives_back(rank, JobEnd::no_room, "no room");
  other.places.offer(bubbles);
  EXPECT_EQ(asks(other), "");
  for (int i = 0; i < 10; ++i) bubbles.add(20ms);
  other.places.offer(bubbles);
  EXPECT_EQ(asks(other), "long#1");
}

TEST_P(Desks, AJobOfAHigherPriorityTakesOnePlace) {
  submit("low", 0, {1});
  Rank one(folder.string(), 0, JobPolicy::priority), two(folder.string(), 1, JobPolicy::priority);
  ASSERT_EQ(asks(one), "low#1");
  ASSERT_EQ(asks(two), "low#1");
  one.places.runs(0, 1ms);
  two.places.runs(0, 1ms);
  submit("high", 5, {2});
  sleep_until(now() + until_it_looks);
  desk->serve(one.header());
  desk->serve(two.header());
  ASSERT_TRUE(one.places.withdrawn(0));
  EXPECT_EQ(*one.places.withdrawn(0), "job 2 of a higher priority waits");
  EXPECT_FALSE(two.places.withdrawn(0));
  gives_back(one, JobEnd::withdrawn);
  EXPECT_EQ(asks(one), "high#2");
}

TEST_P(Desks, SeveralPlacesGetSeveralJobs) {
  submit("a", 0);
  submit("b", 0);
  Rank rank(folder.string(), 0, JobPolicy::throughput, 2);
  EXPECT_EQ(asks(rank, 0), "a#1");
  EXPECT_EQ(asks(rank, 1), "b#2");
}

TEST_P(Desks, TheRateIsThatOfThisFeeder) {
  if (is_redis) GTEST_SKIP() << "the same, and it takes its time";
  const std::string id = submit("records", 0);
  Rank rank(folder.string(), 0);
  ASSERT_EQ(asks(rank), "records#1");
  desk->renew();
  committed[path("records.npy")] = 500;
  sleep_until(now() + 5200ms);
  desk->renew();
  const double rate = spool->find(id)->at_work.at(0).per_second;
  EXPECT_GT(rate, 50);
  EXPECT_LT(rate, 100);
}

TEST_P(Desks, AQueueThatIsGoneIsAnErrorOfOneLineAndJobsStay) {
  submit("records", 0);
  Rank rank(folder.string(), 0);
  ASSERT_EQ(asks(rank), "records#1");
  if (is_redis)
    server->stop();
  else
    fs::remove_all(queue);
  sleep_until(now() + until_it_looks);
  const std::string fault = testing::fault_of([&] { desk->serve(rank.header()); });
  EXPECT_TRUE(fault.starts_with(is_redis ? server->address() + ": " : queue + "/waiting: No such file")) << fault;
  EXPECT_EQ(fault.find('\n'), std::string::npos);
  EXPECT_FALSE(rank.places.withdrawn(0));
}

INSTANTIATE_TEST_SUITE_P(Queues, Desks, ::testing::Bool(),
                         [](const auto& of) { return of.param ? "Redis" : "Folder"; });

}  // namespace
}  // namespace weft
