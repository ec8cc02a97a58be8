// The fill stream: never more than two in flight, units in order, every anomaly ends it.
#include "runner/fill/filler.h"

#include <gtest/gtest.h>

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
  Filler filler{driver, nullptr, DoneMark{&word, 0}, *job, unit};
  std::vector<SliceRecord> finished;

  void reap(Duration time) { filler.reap(at(time), finished); }
  bool ready() const { return filler.view().ready; }
  void launch(Duration time) {
    if (filler.unit_has_to_begin()) filler.begin_unit();
    if (filler.failure().empty()) filler.launch(at(time), 9, 0);
  }
  void run_one(Duration time) {
    ASSERT_TRUE(ready());
    launch(time);
    word = gpu.last_number.load();
    reap(time + 1us);
  }
};

TEST_F(FillerTest, AtMostTwoAreInFlight) {
  ASSERT_TRUE(ready());
  EXPECT_EQ(filler.view().candidates.alone[0], Duration(100us));
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
  EXPECT_EQ(filler.in_flight().expected_end, at(1350us));
  EXPECT_TRUE(ready());
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
  ASSERT_TRUE(filler.unit_has_to_begin());
  launch(2ms);  // begin_unit(3) fails
  EXPECT_EQ(gpu.launches, 9);
  EXPECT_FALSE(ready());
  EXPECT_EQ(filler.failure(), "the fill job failed in begin_unit: it gave no reason");
}

TEST_F(FillerTest, AnErrorOfALaunchEndsIt) {
  gpu.launch_result = CUDA_ERROR_LAUNCH_FAILED;
  launch(1ms);
  EXPECT_EQ(filler.failure(), "launching a slice failed with CUDA_ERROR_UNKNOWN");
  EXPECT_FALSE(filler.context_gone());
  EXPECT_FALSE(ready());
  EXPECT_EQ(filler.in_flight().slices, 0U);
  EXPECT_FALSE(filler.launch(at(1ms), 9, 0));
}

TEST_F(FillerTest, TheEndOfTheProcessIsNoAnomaly) {
  gpu.launch_result = CUDA_ERROR_DEINITIALIZED;
  launch(1ms);
  EXPECT_TRUE(filler.context_gone());
}

// In the only hardware queue a write behind the slice might hold up the main job.
TEST_F(FillerTest, WithOneQueueAnEventMarksTheEndAndOneIsInFlight) {
  Filler one(driver, nullptr, DoneMark{nullptr, 0, reinterpret_cast<CUevent>(&word)}, *job, unit, Fillable::host_waits);
  EXPECT_EQ(one.view().fillable, Fillable::host_waits);
  one.begin_unit();
  ASSERT_TRUE(one.launch(at(1ms), 9, 0));
  EXPECT_EQ(gpu.events_recorded, 1);
  EXPECT_EQ(gpu.last_number, 0U) << "nothing is written";
  EXPECT_FALSE(one.view().ready);
  one.reap(at(2ms), finished);
  EXPECT_TRUE(finished.empty());
  gpu.event_state = CUDA_SUCCESS;
  one.reap(at(3ms), finished);
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_TRUE(one.view().ready);
  ASSERT_TRUE(one.launch(at(4ms), 9, 0));
  gpu.event_state = CUDA_ERROR_LAUNCH_FAILED;
  one.reap(at(5ms), finished);
  EXPECT_EQ(finished.size(), 1U);
  EXPECT_EQ(one.failure(), "asking for the end of a slice failed with CUDA_ERROR_UNKNOWN");
}

// A second one would go before the training.
TEST_F(FillerTest, InAStreamAboveTheTrainingOneIsInFlight) {
  Filler above(driver, nullptr, DoneMark{&word, 0}, *job, unit, Fillable::any, FillStream::above);
  above.begin_unit();
  ASSERT_TRUE(above.launch(at(1ms), 9, 0));
  EXPECT_FALSE(above.view().ready);
  EXPECT_EQ(above.view().fillable, Fillable::any);
  Filler green(driver, nullptr, DoneMark{&word, 0}, *job, unit, Fillable::any, FillStream::green_context);
  green.begin_unit();
  ASSERT_TRUE(green.launch(at(1ms), 9, 0));
  EXPECT_TRUE(green.view().ready);
}

}  // namespace
}  // namespace weft
