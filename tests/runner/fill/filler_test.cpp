// The fill stream: never more than two in flight, units in order, every anomaly ends it.
#include "runner/fill/filler.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/runner/fake_driver.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

TimePoint at(Duration time) {
  return TimePoint{} + time;
}

struct FillerTest : ::testing::Test {
  testing::FakeGpu gpu;
  Driver driver = testing::fake_driver(gpu);
  Reservation reservation{driver, 1 << 20};
  std::unique_ptr<FillJob> job =
      FillJob::load({std::string(WEFT_TEST_JOBS) + "/bad_empty.so", ""}, reservation, {0, 100});
  Unit unit{driver, {{nullptr, 100us}, {nullptr, 200us}, {nullptr, 300us}}};
  std::atomic<std::uint32_t> word{0};
  Filler filler{driver, JobPolicy::throughput};
  std::vector<SliceRecord> finished;

  void SetUp() override { filler.add(ready_job(FillTrack{nullptr, DoneMark{&word, 0}})); }
  ReadyJob ready_job(const FillTrack& track) { return {0, "bad", job.get(), &unit, {}, track}; }
  void reap(Duration time) { filler.reap(at(time), finished); }
  FillView first_offer(Filler& of) const {
    of.make_offers();
    return of.offer(0);
  }
  bool ready() { return first_offer(filler).ready; }
  // Whatever comes first.
  bool launch(Filler& of, Duration time) {
    if (!first_offer(of).ready) return false;
    const Choice choice = of.choice(0, 0);
    if (of.unit_has_to_begin(choice)) of.begin_unit(choice);
    return of.failure().empty() && !of.unit_has_to_begin(choice) && of.launch(at(time), 9, choice);
  }
  bool launch(Duration time) { return launch(filler, time); }
  void run_one(Duration time) {
    ASSERT_TRUE(ready());
    launch(time);
    word = gpu.last_number.load();
    reap(time + 1us);
  }
};

TEST_F(FillerTest, AtMostTwoAreInFlight) {
  ASSERT_TRUE(ready());
  EXPECT_EQ(first_offer(filler).candidates.alone[0], Duration(100us));
  launch(1ms);
  ASSERT_TRUE(ready());
  launch(1ms);
  EXPECT_FALSE(ready());
  EXPECT_EQ(filler.in_flight().slices, 2U);
  EXPECT_EQ(filler.in_flight().expected_end, at(1ms + 300us));
  EXPECT_EQ(filler.in_flight().oldest_launched, at(1ms));
  EXPECT_EQ(filler.in_flight().oldest_alone, Duration(100us));
  EXPECT_EQ(gpu.launches, 2);
}

TEST_F(FillerTest, AFinishedSliceMakesRoomAndMovesTheExpectedEnd) {
  launch(1ms);
  launch(1ms);
  word = 1;
  reap(1150us);
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_EQ(finished[0].number, 0U);
  EXPECT_EQ(finished[0].bubble, 9U);
  EXPECT_EQ(finished[0].alone, Duration(100us));
  EXPECT_EQ(finished[0].launched, at(1ms));
  EXPECT_EQ(finished[0].finished, at(1150us));
  EXPECT_FALSE(finished[0].unit_done);
  EXPECT_EQ(filler.in_flight().expected_end, at(1300us)) << "it began when the first one should have ended";
  EXPECT_TRUE(ready());
}

TEST_F(FillerTest, ASliceThatEndsLateMovesTheExpectedEnd) {
  launch(1ms);
  launch(1ms);
  reap(1140us);
  EXPECT_EQ(filler.in_flight().expected_end, at(1300us));
  word = 1;
  reap(1150us);
  EXPECT_EQ(filler.in_flight().expected_end, at(1340us)) << "at the look before it had not ended";
}

TEST_F(FillerTest, TheNextUnitWaitsForTheResultsOfThisOne) {
  run_one(1ms);
  run_one(2ms);
  ASSERT_TRUE(ready());
  launch(3ms);
  EXPECT_FALSE(ready());
  word = gpu.last_number.load();
  reap(4ms);
  ASSERT_EQ(finished.size(), 3U);
  EXPECT_TRUE(finished[2].unit_done);
  EXPECT_EQ(finished[2].correct, 1);
  EXPECT_TRUE(ready());
  for (int slice = 0; slice < 3; ++slice) run_one(5ms);
  EXPECT_EQ(finished[5].unit, 1U);
  EXPECT_EQ(finished[5].correct, 0);  // unit 1 of this job is wrong: counted, no failure
  EXPECT_EQ(filler.failure(), "");
}

TEST_F(FillerTest, AJobThatFailsEndsIt) {
  for (int slice = 0; slice < 9; ++slice) run_one(1ms);
  EXPECT_FALSE(launch(2ms)) << "begin_unit(3) fails";
  EXPECT_EQ(gpu.launches, 9);
  EXPECT_FALSE(ready());
  EXPECT_EQ(filler.failure(), "") << "the GPU is well";
  EXPECT_TRUE(filler.all_jobs_ended());
  const std::vector<EndedJob> ended = filler.take_ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_TRUE(ended[0].failed);
  EXPECT_EQ(ended[0].why, "fill job bad failed in begin_unit: it gave no reason");
  EXPECT_TRUE(filler.take_ended().empty());
}

TEST_F(FillerTest, AnErrorOfALaunchEndsIt) {
  gpu.launch_result = CUDA_ERROR_LAUNCH_FAILED;
  launch(1ms);
  EXPECT_EQ(filler.failure(), "launching a slice failed with CUDA_ERROR_UNKNOWN");
  EXPECT_FALSE(filler.context_gone());
  EXPECT_FALSE(ready());
  EXPECT_EQ(filler.in_flight().slices, 0U);
  EXPECT_FALSE(launch(1ms));
}

TEST_F(FillerTest, TheEndOfTheProcessIsNoAnomaly) {
  gpu.launch_result = CUDA_ERROR_DEINITIALIZED;
  launch(1ms);
  EXPECT_TRUE(filler.context_gone());
}

// In the only hardware queue a write behind the slice might hold up the main job.
TEST_F(FillerTest, WithOneQueueAnEventMarksTheEndAndOneIsInFlight) {
  Filler one(driver, JobPolicy::throughput);
  one.add(ready_job({nullptr, DoneMark{nullptr, 0, reinterpret_cast<CUevent>(&word)}, Fillable::host_waits}));
  EXPECT_EQ(one.view().fillable, Fillable::host_waits);
  ASSERT_TRUE(launch(one, 1ms));
  EXPECT_EQ(gpu.events_recorded, 1);
  EXPECT_EQ(gpu.last_number, 0U) << "nothing is written";
  EXPECT_FALSE(first_offer(one).ready);
  one.reap(at(2ms), finished);
  EXPECT_TRUE(finished.empty());
  gpu.event_state = CUDA_SUCCESS;
  one.reap(at(3ms), finished);
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_TRUE(first_offer(one).ready);
  ASSERT_TRUE(launch(one, 4ms));
  gpu.event_state = CUDA_ERROR_LAUNCH_FAILED;
  one.reap(at(5ms), finished);
  EXPECT_EQ(finished.size(), 1U);
  EXPECT_EQ(one.failure(), "asking for the end of a slice failed with CUDA_ERROR_UNKNOWN");
}

// A second one would go before the training.
TEST_F(FillerTest, InAStreamAboveTheTrainingOneIsInFlight) {
  Filler above(driver, JobPolicy::throughput);
  above.add(ready_job({nullptr, DoneMark{&word, 0}, Fillable::any, FillStream::above}));
  ASSERT_TRUE(launch(above, 1ms));
  EXPECT_FALSE(first_offer(above).ready);
  EXPECT_EQ(above.view().fillable, Fillable::any);
  Filler green(driver, JobPolicy::throughput);
  green.add(ready_job({nullptr, DoneMark{&word, 0}, Fillable::any, FillStream::green_context}));
  ASSERT_TRUE(launch(green, 1ms));
  EXPECT_TRUE(first_offer(green).ready);
}

// Its unit is not over after three passes of two slices. Whatever has its place then begins with a unit of its own.
TEST_F(FillerTest, AJobWhosePassesHaveNoEndLeavesNothingToTheNextOneInItsPlace) {
  const auto endless = FillJob::load({std::string(WEFT_TEST_JOBS) + "/bad_passes.so", ""}, reservation, {0, 100});
  const Unit passes(driver, {{nullptr, 50us}, {nullptr, 60us}}, {0, 2});
  Filler of(driver, JobPolicy::throughput);
  const FillTrack track{nullptr, DoneMark{&word, 0}};
  of.add({7, "endless", endless.get(), &passes, {}, track});
  for (int slice = 0; slice < 6; ++slice) {
    ASSERT_TRUE(launch(of, 1ms)) << slice;
    EXPECT_EQ(first_offer(of).ready, slice % 2 == 0) << "the end of a pass is waited for";
    word = gpu.last_number.load();
    of.reap(at(2ms), finished);
    EXPECT_FALSE(finished.back().unit_done);
  }
  const std::vector<EndedJob> ended = of.take_ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].why, "fill job endless has a unit that is not over after 3 passes");
  ReadyJob next{7, "next", job.get(), &unit, {}, track};
  next.is_another = true;
  of.add(next);
  ASSERT_TRUE(first_offer(of).ready);
  EXPECT_TRUE(of.unit_has_to_begin(of.choice(0, 0)));
}

TEST(FillJobPasses, AreAskedForOnce) {
  testing::FakeGpu gpu;
  Driver driver = testing::fake_driver(gpu);
  Reservation reservation(driver, 1 << 20);
  try {
    FillJob::load({std::string(WEFT_TEST_JOBS) + "/bad_passes.so", "twice"}, reservation, {0, 100});
    ADD_FAILURE() << "it was not refused";
  } catch (const SetUpError& error) {
    EXPECT_NE(std::string(error.what()).find("init failed: it asks for passes a second time"), std::string::npos)
        << error.what();
  }
}

// Two of them, with units of three and of two slices.
struct SeveralJobs : FillerTest {
  std::unique_ptr<FillJob> other_job =
      FillJob::load({std::string(WEFT_TEST_JOBS) + "/bad_sound.so", ""}, reservation, {0, 100});
  Unit other{driver, {{nullptr, 50us}, {nullptr, 60us}}};
  FillTrack track{nullptr, DoneMark{&word, 0}};

  void add_both(Filler& to, const JobTerms& first = {}, const JobTerms& second = {}) {
    to.add({0, "one", job.get(), &unit, first, track});
    to.add({1, "other", other_job.get(), &other, second, track});
  }
  // The numbers of the jobs whose slices ran, one after the other.
  std::vector<std::uint32_t> run(Filler& of, int slices) {
    finished.clear();
    for (int slice = 0; slice < slices; ++slice) {
      EXPECT_TRUE(launch(of, 1ms));
      word = gpu.last_number.load();
      of.reap(at(2ms), finished);
    }
    std::vector<std::uint32_t> jobs;
    for (const SliceRecord& record : finished) jobs.push_back(record.job);
    return jobs;
  }
};

TEST_F(SeveralJobs, ForThroughputOneOfferHasTheSlicesOfAll) {
  Filler both(driver, JobPolicy::throughput);
  add_both(both);
  ASSERT_EQ(both.make_offers(), 1U);
  const FillView view = both.offer(0);
  EXPECT_EQ(view.candidates.count, 2U);
  EXPECT_EQ(both.choice(0, 0).job, 0U);
  EXPECT_EQ(both.choice(0, 1).job, 1U);
  EXPECT_EQ(view.candidates.alone[1], Duration(50us));
}

TEST_F(SeveralJobs, ByPriorityEachIsAnOfferOfItsOwn) {
  Filler both(driver, JobPolicy::priority);
  add_both(both, {}, {.priority = 1});
  ASSERT_EQ(both.make_offers(), 2U);
  EXPECT_EQ(both.choice(0, 0).job, 1U);
  EXPECT_EQ(both.choice(1, 0).job, 0U);
  EXPECT_EQ(run(both, 4), (std::vector<std::uint32_t>{1, 1, 1, 1}));
}

TEST_F(SeveralJobs, UnitsGoOnWhereSlicesOfOthersRanBetween) {
  Filler both(driver, JobPolicy::fair);
  add_both(both, {.weight = 2}, {});
  run(both, 5);
  // 100 of 2, 50 of 1, 200 of 2, 60 of 1: each in the order of its unit.
  std::map<std::uint32_t, std::vector<std::uint32_t>> numbers;
  for (const SliceRecord& record : finished) numbers[record.job].push_back(record.number);
  EXPECT_EQ(numbers[0], (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(numbers[1], (std::vector<std::uint32_t>{0, 1, 0}));
}

TEST_F(SeveralJobs, WhileAUnitWaitsForItsEndTheOtherJobGoesOn) {
  Filler both(driver, JobPolicy::priority);
  add_both(both, {}, {.priority = 1});
  ASSERT_TRUE(launch(both, 1ms));
  ASSERT_TRUE(launch(both, 1ms));
  EXPECT_FALSE(first_offer(both).ready) << "two are in flight";
  word = 1;
  both.reap(at(2ms), finished);
  ASSERT_EQ(both.make_offers(), 1U);
  EXPECT_EQ(both.choice(0, 0).job, 0U) << "the unit of job 1 is not over";
}

TEST_F(SeveralJobs, AJobPausesBetweenTwoUnits) {
  Filler both(driver, JobPolicy::priority);
  add_both(both, {}, {.priority = 1});
  run(both, 1);
  EXPECT_FALSE(both.suspend_between_units(1)) << "its unit has begun";
  run(both, 1);
  EXPECT_TRUE(both.suspend_between_units(1));
  EXPECT_EQ(run(both, 2), (std::vector<std::uint32_t>{0, 0})) << "the other one goes on";
  both.resume(1);
  EXPECT_EQ(run(both, 2), (std::vector<std::uint32_t>{1, 1}));
}

TEST_F(SeveralJobs, AJobThatFailsEndsAlone) {
  Filler both(driver, JobPolicy::priority);
  add_both(both, {.priority = 1}, {});
  run(both, 9);
  EXPECT_FALSE(launch(both, 1ms)) << "begin_unit(3) of job 0";
  const std::vector<EndedJob> ended = both.take_ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].number, 0U);
  EXPECT_TRUE(ended[0].failed);
  EXPECT_FALSE(both.all_jobs_ended());
  EXPECT_EQ(run(both, 2), (std::vector<std::uint32_t>{1, 1}));
}

TEST_F(SeveralJobs, AJobThatHasDoneItsUnitsEndsAlone) {
  Filler both(driver, JobPolicy::deadline);
  add_both(both, {}, {.deadline = 1s, .units = 2});
  EXPECT_EQ(run(both, 5), (std::vector<std::uint32_t>{1, 1, 1, 1, 0}));
  const std::vector<EndedJob> ended = both.take_ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].number, 1U);
  EXPECT_FALSE(ended[0].failed);
  EXPECT_EQ(ended[0].why, "fill job other has done its 2 units");
}

TEST_F(SeveralJobs, WithoutAJobThereIsAnOfferOfNothing) {
  Filler none(driver, JobPolicy::fair);
  EXPECT_EQ(none.make_offers(), 1U);
  EXPECT_FALSE(none.offer(0).ready);
  EXPECT_FALSE(none.all_jobs_ended());
}

// Of 512 KiB in two pieces, beside the kernels of the unit.
struct FillerWithMemoryThatMoves : FillerTest {
  FillerWithMemoryThatMoves() {
    driver.cuEventCreate = [](CUevent*, unsigned) { return CUDA_SUCCESS; };
    driver.cuEventDestroy_v2 = [](CUevent) { return CUDA_SUCCESS; };
    driver.cuCtxPushCurrent_v2 = [](CUcontext) { return CUDA_SUCCESS; };
    driver.cuCtxPopCurrent_v2 = [](CUcontext*) { return CUDA_SUCCESS; };
    driver.cuEventElapsedTime = [](float* milliseconds, CUevent, CUevent) {
      return *milliseconds = 0.02F, CUDA_SUCCESS;
    };
    mover.emplace(driver,
                  Reservation::Movable{reinterpret_cast<CUdeviceptr>(memory.data()),
                                       reinterpret_cast<std::byte*>(host.data()), memory.size()},
                  nullptr, 1us, TimingOptions{});
  }
  void SetUp() override {
    ReadyJob ready = ready_job(FillTrack{nullptr, DoneMark{&word, 0}});
    ready.mover = &*mover;
    filler.add(ready);
  }
  std::vector<char> memory = std::vector<char>(512 << 10, 'm'), host = std::vector<char>(512 << 10);
  std::optional<Mover> mover;
};

TEST_F(FillerWithMemoryThatMoves, ItMovesBetweenUnitsAndTheJobStandsUntilItIsBack) {
  run_one(1ms);
  EXPECT_FALSE(filler.begin_move(0, MoveWay::to_host)) << "a unit has begun";
  run_one(2ms);
  run_one(3ms);
  std::fill(host.begin(), host.end(), ' ');
  ASSERT_TRUE(filler.begin_move(0, MoveWay::to_host));
  EXPECT_FALSE(filler.suspend_between_units(0)) << "nor is it asked for its progress meanwhile";
  const std::size_t slices = finished.size();
  const int launches = gpu.launches;
  for (int piece = 0; piece < 2; ++piece) {
    EXPECT_FALSE(filler.is_away(0));
    run_one(4ms);
  }
  EXPECT_TRUE(filler.is_away(0));
  EXPECT_EQ(host, memory);
  EXPECT_FALSE(ready()) << "its memory is not there";
  EXPECT_EQ(finished.size(), slices) << "copies are no slices";
  EXPECT_EQ(gpu.launches, launches) << "nor graphs";
  const std::vector<MoveRecord> moved = filler.take_moved();
  ASSERT_EQ(moved.size(), 2U);
  EXPECT_EQ(moved[0].way, MoveWay::to_host);
  EXPECT_EQ(moved[0].bytes, 256U << 10);
  EXPECT_EQ(moved[0].bubble, 9U);
  EXPECT_EQ(moved[0].finished, at(4ms + 1us));
  EXPECT_TRUE(filler.take_moved().empty());
  std::fill(memory.begin(), memory.end(), '?');
  ASSERT_TRUE(filler.begin_move(0, MoveWay::to_device));
  run_one(5ms);
  EXPECT_TRUE(filler.is_away(0)) << "not all of it is back";
  run_one(6ms);
  EXPECT_FALSE(filler.is_away(0));
  EXPECT_EQ(memory, host);
  run_one(7ms);
  EXPECT_EQ(finished.back().unit, 1U) << "and the next unit begins";
  EXPECT_EQ(finished.back().number, 0U);
}

TEST_F(FillerWithMemoryThatMoves, AJobThatHasEndedMovesNothing) {
  filler.withdraw(0);
  EXPECT_TRUE(filler.begin_move(0, MoveWay::to_host));
  EXPECT_FALSE(ready());
  EXPECT_EQ(filler.next_move(), std::nullopt);
}

TEST_F(FillerWithMemoryThatMoves, TheNextPieceIsKnownForCopiesBesideWork) {
  EXPECT_EQ(filler.next_move(), std::nullopt);
  ASSERT_TRUE(filler.begin_move(0, MoveWay::to_host));
  ASSERT_TRUE(filler.next_move());
  EXPECT_NEAR(static_cast<double>(filler.alone(*filler.next_move()).count()), 10e3, 10);
  ASSERT_TRUE(filler.launch(at(1ms), 0, *filler.next_move()));
  ASSERT_TRUE(filler.next_move()) << "the other one";
  EXPECT_EQ(filler.next_move()->slice, 1U);
}

}  // namespace
}  // namespace weft
