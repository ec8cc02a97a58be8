// The feeder's side of a queue: which jobs ranks are given, and what becomes of them. Ranks are the real ones' side of
// the shared memory, the queue is a folder.
#include "feeder/queue/desk.h"

#include <gtest/gtest.h>

#include "feeder/owner.h"
#include "feeder/queue/spool.h"
#include "runner/clock.h"
#include "runner/feed/queue_places.h"
#include "tests/feeder/files.h"

namespace weft {
namespace {

using testing::Files;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;
constexpr Duration until_it_looks = 1100ms;  // at the queue again

struct Rank {
  Rank(const std::string& folder, std::int32_t number, JobPolicy policy = JobPolicy::throughput,
       std::uint32_t place_count = 1)
      : places(folder, "queue", number, 0, place_count, policy), channel(JobChannel::open(places.path())) {
    places.offer(gib);
  }
  JobChannelHeader& header() { return channel.header(); }

  QueuePlaces places;
  JobChannel channel;  // the feeder's side
};

struct Desks : Files {
  const std::string queue = path("queue");
  Spool spool{queue, WhereNone::make};
  std::map<std::string, std::uint64_t> committed;
  std::unique_ptr<Desk> desk = open();

  std::unique_ptr<Desk> open() {
    return std::make_unique<Desk>(std::make_unique<Spool>(queue, WhereNone::fail),
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
    return spool.submit(job);
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
  JobState state(const std::string& id) { return spool.find(id)->state; }
};

TEST_F(Desks, ARankGetsAJobAsItWasSubmitted) {
  QueuedJob job;
  job.plan.spec = "/fill_embed.so:a=1";
  job.plan.files = {"/in.npy", path("out.npy"), "/w.safetensors"};
  job.plan.memory = 1000;
  job.plan.variants = {"batch=4", "batch=1"};
  spool.submit(job);
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
  ASSERT_EQ(spool.find("1")->at_work.size(), 1U);
  EXPECT_EQ(spool.find("1")->at_work[0].ranks, std::vector<std::int32_t>{3});
}

TEST_F(Desks, ThereIsNothingAndThatIsSaidAtOnce) {
  Rank rank(folder.string(), 0);
  EXPECT_EQ(asks(rank), "");
}

TEST_F(Desks, AJobWithRecordsGoesToAllRanksAndOneWithoutToOne) {
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

TEST_F(Desks, AJobIsDoneWhenAllOfItsResultsAreThere) {
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

TEST_F(Desks, AJobWhoseLastWordWasLostIsDoneAllTheSame) {
  const std::string id = submit("records", 0), other = submit("records2", 0);
  fs::create_directory(path("records.npy.weft"));
  write("records.npy.weft/published", "");
  Rank rank(folder.string(), 0);
  EXPECT_EQ(asks(rank), "records2#2");
  EXPECT_EQ(state(id), JobState::done);
}

TEST_F(Desks, UnitsOfSeveralRanksAddUp) {
  const std::string id = submit("units", 10);
  Rank one(folder.string(), 0), two(folder.string(), 1);
  ASSERT_EQ(asks(one), "units#1");
  one.places.note_units(0, 4);
  gives_back(one, JobEnd::left);
  EXPECT_EQ(spool.find(id)->units, 4U);
  two.places.ask(0);
  desk->serve(two.header());
  const auto placed = two.places.take(0);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->plan.terms.units, 6U);
  EXPECT_EQ(placed->progress, queue + "/jobs/1/progress");
  two.places.note_units(0, 6);
  gives_back(two, JobEnd::over);
  EXPECT_EQ(state(id), JobState::done);
  EXPECT_EQ(spool.find(id)->units, 10U);
}

TEST_F(Desks, ARankThatDiesLosesItsJob) {
  const std::string id = submit("units", 10);
  Rank one(folder.string(), 0), two(folder.string(), 1);
  ASSERT_EQ(asks(one), "units#1");
  one.places.note_units(0, 3);
  EXPECT_EQ(asks(two), "");
  desk->leave(one.header());
  EXPECT_EQ(spool.find(id)->units, 3U);
  EXPECT_TRUE(spool.find(id)->at_work.empty());
  EXPECT_EQ(asks(two), "units#1");
}

TEST_F(Desks, AFeederThatIsStartedAgainFindsWhatWasGiven) {
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
  // Somebody else has it meanwhile.
  desk = nullptr;
  const std::string lease = queue + "/jobs/1/units.weft/";
  fs::rename(lease + "todo/0", lease + "running/0.far-1-1-1-1");
  desk = open();
  desk->serve(one.header());
  EXPECT_TRUE(one.places.withdrawn(0));
}

TEST_F(Desks, AJobThatWaitsNoMoreIsWanted) {
  const std::string id = submit("records", 0);
  Rank rank(folder.string(), 0);
  ASSERT_EQ(asks(rank), "records#1");
  spool.move(id, JobState::waiting, JobState::cancelled, "it was cancelled");
  sleep_until(now() + until_it_looks);
  desk->serve(rank.header());
  ASSERT_TRUE(rank.places.withdrawn(0));
  EXPECT_EQ(*rank.places.withdrawn(0), "it waits in the queue no more");
  gives_back(rank, JobEnd::withdrawn);
  EXPECT_EQ(asks(rank), "");
  EXPECT_FALSE(rank.places.withdrawn(0)) << "that was of the job before";
}

TEST_F(Desks, AJobThatFailsOnThreeRanksHasFailed) {
  const std::string id = submit("bad", 0), good = submit("good", 0);
  for (int i = 0; i < 3; ++i) {
    Rank rank(folder.string(), i);
    const std::string first = asks(rank);
    if (first != "bad#1") {
      gives_back(rank, JobEnd::withdrawn);
      continue;
    }
    gives_back(rank, JobEnd::fault, "it is bad");
    EXPECT_EQ(asks(rank), "good#2") << "not the same one so soon";
    gives_back(rank, JobEnd::left);
    desk->leave(rank.header());
  }
  EXPECT_EQ(state(id), JobState::failed);
  EXPECT_EQ(spool.find(id)->why, "it is bad");
  EXPECT_EQ(spool.find(id)->refusals.size(), 3U);
  EXPECT_EQ(state(good), JobState::waiting);
}

TEST_F(Desks, AHostOnWhichAllFailsUsesUpNoMoreThanThree) {
  for (int i = 0; i < 6; ++i) submit("job" + std::to_string(i), 0);
  Rank rank(folder.string(), 0);
  int given = 0;
  while (!asks(rank).empty()) {
    ++given;
    gives_back(rank, JobEnd::fault, "no such file");
  }
  EXPECT_EQ(given, 3);
  EXPECT_EQ(spool.ids(JobState::waiting).size(), 6U);
  Rank other(folder.string(), 1);
  EXPECT_NE(asks(other), "");
}

TEST_F(Desks, MemoryThatWasTooLittleIsNotOfferedAgain) {
  const std::string id = submit("large", 0);
  Rank rank(folder.string(), 0), roomy(folder.string(), 1);
  ASSERT_EQ(asks(rank), "large#1");
  gives_back(rank, JobEnd::lacks_memory, "it needs more");
  EXPECT_EQ(spool.find(id)->need.memory, gib);
  EXPECT_EQ(asks(rank), "");
  Rank like_it(folder.string(), 2);
  EXPECT_EQ(asks(like_it), "");
  roomy.places.offer(2 * gib);
  EXPECT_EQ(asks(roomy), "large#1");
  EXPECT_EQ(state(id), JobState::waiting);
}

TEST_F(Desks, LongSlicesAreNotGivenToShortBubbles) {
  const std::string id = submit("long", 0);
  Rank rank(folder.string(), 0), other(folder.string(), 1);
  BubbleLengths bubbles;
  bubbles.add(2ms);
  rank.places.offer(bubbles);
  ASSERT_EQ(asks(rank), "long#1") << "nobody knows how long its slices are";
  rank.places.runs(0, 5ms);
  desk->serve(rank.header());
  EXPECT_EQ(spool.find(id)->need.slice, 5ms);
  gives_back(rank, JobEnd::no_room, "no room");
  other.places.offer(bubbles);
  EXPECT_EQ(asks(other), "");
  for (int i = 0; i < 10; ++i) bubbles.add(20ms);
  other.places.offer(bubbles);
  EXPECT_EQ(asks(other), "long#1");
}

TEST_F(Desks, AJobOfAHigherPriorityTakesOnePlace) {
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

TEST_F(Desks, SeveralPlacesGetSeveralJobs) {
  submit("a", 0);
  submit("b", 0);
  Rank rank(folder.string(), 0, JobPolicy::throughput, 2);
  EXPECT_EQ(asks(rank, 0), "a#1");
  EXPECT_EQ(asks(rank, 1), "b#2");
}

TEST_F(Desks, TheRateIsThatOfThisFeeder) {
  const std::string id = submit("records", 0);
  Rank rank(folder.string(), 0);
  ASSERT_EQ(asks(rank), "records#1");
  desk->renew();
  committed[path("records.npy")] = 500;
  sleep_until(now() + 5200ms);
  desk->renew();
  const double rate = spool.find(id)->at_work.at(0).per_second;
  EXPECT_GT(rate, 50);
  EXPECT_LT(rate, 100);
}

TEST_F(Desks, AQueueThatIsGoneIsAnErrorOfOneLine) {
  submit("records", 0);
  Rank rank(folder.string(), 0);
  ASSERT_EQ(asks(rank), "records#1");
  fs::remove_all(queue);
  sleep_until(now() + until_it_looks);
  const std::string fault = testing::fault_of([&] { desk->serve(rank.header()); });
  EXPECT_EQ(fault, queue + "/waiting: No such file or directory");
}

}  // namespace
}  // namespace weft
