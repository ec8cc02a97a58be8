// When the time of a command is carried forward by the counter and when the clock is asked, on a counter and a clock of
// the test's own.
#include "engine/arrival_clock.h"

#include <gtest/gtest.h>

namespace simgpu {
namespace {

// A counter of half a tick per nanosecond. Looking at the clock takes a few ticks of its own.
struct FakeMachine {
  static inline int64_t present = 0;  // nanoseconds
  static inline uint64_t first_tick = 0;
  static inline int64_t interruption = 0;  // while the clock is asked
  static inline int looks = 0;
  static inline bool trusted = true;

  static uint64_t ticks() { return first_tick + static_cast<uint64_t>(present / 2); }
  static Time time() {
    ++looks;
    const Time at = from_nanoseconds(present);
    present += interruption;
    return at;
  }
  static bool reliable() { return trusted; }
};

class ArrivalClockTest : public testing::Test {
 protected:
  void SetUp() override {
    FakeMachine::present = 1'000'000'000;
    FakeMachine::first_tick = 1'000'000;
    FakeMachine::interruption = FakeMachine::looks = 0;
    FakeMachine::trusted = true;
  }
  // Asked often enough, for long enough, it knows the rate.
  static void calibrate(ArrivalClock<FakeMachine>& clock) {
    for (int step = 0; step < 30; ++step) {
      FakeMachine::present += 1'000'000;
      clock.now();
    }
    FakeMachine::looks = 0;
  }
};

TEST_F(ArrivalClockTest, CarriesTheTimeForwardWithoutAskingTheClock) {
  ArrivalClock<FakeMachine> clock;
  calibrate(clock);
  for (int step = 0; step < 90; ++step) {
    FakeMachine::present += 1000;
    EXPECT_NEAR(static_cast<double>(nanoseconds(clock.now())), static_cast<double>(FakeMachine::present), 2);
  }
  EXPECT_EQ(FakeMachine::looks, 0);
}

TEST_F(ArrivalClockTest, AsksTheClockAgainAfterAMoment) {
  ArrivalClock<FakeMachine> clock;
  calibrate(clock);
  FakeMachine::present += 200'000;
  EXPECT_EQ(nanoseconds(clock.now()), FakeMachine::present);
  EXPECT_EQ(FakeMachine::looks, 1);
}

TEST_F(ArrivalClockTest, AsksTheClockUntilTheRateIsKnown) {
  ArrivalClock<FakeMachine> clock;
  for (int step = 0; step < 15; ++step) {
    FakeMachine::present += 1'000'000;
    clock.now();
    FakeMachine::present += 10;
    EXPECT_EQ(nanoseconds(clock.now()), FakeMachine::present);
  }
  EXPECT_EQ(FakeMachine::looks, 30);
}

TEST_F(ArrivalClockTest, ACounterThatTheKernelDoesNotTrustIsNotUsed) {
  FakeMachine::trusted = false;
  ArrivalClock<FakeMachine> clock;
  calibrate(clock);
  FakeMachine::present += 10;
  EXPECT_EQ(nanoseconds(clock.now()), FakeMachine::present);
  EXPECT_EQ(FakeMachine::looks, 1);
}

TEST_F(ArrivalClockTest, AReadingThatWasInterruptedIsNotCarriedForward) {
  ArrivalClock<FakeMachine> clock;
  calibrate(clock);
  FakeMachine::present += 200'000;
  FakeMachine::interruption = 5'000'000;
  clock.now();
  FakeMachine::interruption = 0;
  FakeMachine::present += 1000;
  EXPECT_EQ(nanoseconds(clock.now()), FakeMachine::present);
}

TEST_F(ArrivalClockTest, ACounterThatWasSetIsMeasuredAnew) {
  ArrivalClock<FakeMachine> clock;
  calibrate(clock);
  for (const uint64_t first : {uint64_t{500'000'000}, uint64_t{0}}) {
    FakeMachine::first_tick = first;
    FakeMachine::present += 25'000'000;
    EXPECT_EQ(nanoseconds(clock.now()), FakeMachine::present);
    FakeMachine::looks = 0;
    FakeMachine::present += 1000;
    EXPECT_EQ(nanoseconds(clock.now()), FakeMachine::present);
    EXPECT_EQ(FakeMachine::looks, 1);  // the rate is not known
    calibrate(clock);
    FakeMachine::present += 1000;
    EXPECT_NEAR(static_cast<double>(nanoseconds(clock.now())), static_cast<double>(FakeMachine::present), 2);
    EXPECT_EQ(FakeMachine::looks, 0);
  }
}

TEST_F(ArrivalClockTest, NeverGoesBack) {
  ArrivalClock<FakeMachine> clock;
  calibrate(clock);
  FakeMachine::present += 97'000;
  FakeMachine::first_tick += 1000;  // for once the counter is ahead, by 2 us
  const Time ahead = clock.now();
  EXPECT_GT(nanoseconds(ahead), FakeMachine::present + 1900);
  FakeMachine::present += 1500;
  const Time asked = clock.now();
  EXPECT_EQ(FakeMachine::looks, 1);
  EXPECT_EQ(asked, ahead);
}

TEST_F(ArrivalClockTest, AfterALongPauseItIsRightAtOnce) {
  ArrivalClock<FakeMachine> clock;
  calibrate(clock);
  FakeMachine::present += 3'600'000'000'000;
  EXPECT_EQ(nanoseconds(clock.now()), FakeMachine::present);
  FakeMachine::present += 50'000;
  EXPECT_NEAR(static_cast<double>(nanoseconds(clock.now())), static_cast<double>(FakeMachine::present), 2);
}

}  // namespace
}  // namespace simgpu
