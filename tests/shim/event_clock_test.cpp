// When the time of an event is carried forward by the counter and when the clock is asked: on a counter and a clock of
// the test's own, and by several threads on the machine's.
#include "shim/event_clock.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace weft {
namespace {

// A counter of half a tick per nanosecond.
struct FakeMachine {
  static inline std::int64_t present = 0;  // nanoseconds
  static inline std::uint64_t first_tick = 0;
  static inline std::int64_t interruption = 0;  // while the clock is asked
  static inline int looks = 0;

  static std::uint64_t ticks() { return first_tick + static_cast<std::uint64_t>(present / 2); }
  static TimePoint time() {
    ++looks;
    const TimePoint now{Duration(present)};
    present += interruption;
    return now;
  }
};

class EventClockTest : public testing::Test {
 protected:
  void SetUp() override {
    FakeMachine::present = 1'000'000'000;
    FakeMachine::first_tick = 1'000'000;
    FakeMachine::interruption = FakeMachine::looks = 0;
    clock_.trusted = true;
  }
  std::int64_t told() { return clock_.now().time_since_epoch().count(); }
  // Asked often enough, for long enough, it knows the rate.
  void calibrate() {
    for (int step = 0; step < 30; ++step) {
      FakeMachine::present += 1'000'000;
      clock_.now();
    }
    FakeMachine::looks = 0;
  }

  EventClock<FakeMachine> clock_{};
};

TEST_F(EventClockTest, CarriesTheTimeForwardWithoutAskingTheClock) {
  calibrate();
  for (int step = 0; step < 99; ++step) {
    FakeMachine::present += 10'000;
    EXPECT_NEAR(static_cast<double>(told()), static_cast<double>(FakeMachine::present), 2);
  }
  EXPECT_EQ(FakeMachine::looks, 0);
}

TEST_F(EventClockTest, AsksTheClockAgainAfterAMoment) {
  calibrate();
  FakeMachine::present += 2'000'000;  // more than a 20th of the 30 ms of the calibration
  EXPECT_EQ(told(), FakeMachine::present);
  EXPECT_EQ(FakeMachine::looks, 1);
}

TEST_F(EventClockTest, CarriesTheTimeFartherTheLongerItHasMeasured) {
  for (int step = 0; step < 30; ++step) {
    FakeMachine::present += 20'000'000;
    clock_.now();
  }
  FakeMachine::looks = 0;
  FakeMachine::present += 9'900'000;
  EXPECT_NEAR(static_cast<double>(told()), static_cast<double>(FakeMachine::present), 2);
  EXPECT_EQ(FakeMachine::looks, 0);
  FakeMachine::present += 200'000;
  EXPECT_EQ(told(), FakeMachine::present);
  EXPECT_EQ(FakeMachine::looks, 1);
}

TEST_F(EventClockTest, AsksTheClockUntilTheRateIsKnown) {
  for (int step = 0; step < 15; ++step) {
    FakeMachine::present += 1'000'000;
    EXPECT_EQ(told(), FakeMachine::present);
  }
  EXPECT_EQ(FakeMachine::looks, 15);
}

TEST_F(EventClockTest, ACounterThatTheKernelDoesNotTrustIsNotUsed) {
  clock_.trusted = false;
  calibrate();
  FakeMachine::present += 10;
  EXPECT_EQ(told(), FakeMachine::present);
  EXPECT_EQ(FakeMachine::looks, 1);
}

TEST_F(EventClockTest, AReadingThatWasInterruptedIsNotCarriedForward) {
  calibrate();
  FakeMachine::present += 2'000'000;
  FakeMachine::interruption = 5'000'000;
  told();
  FakeMachine::interruption = 0;
  FakeMachine::present += 1000;
  EXPECT_EQ(told(), FakeMachine::present);
  EXPECT_EQ(FakeMachine::looks, 2);
}

TEST_F(EventClockTest, ACounterThatWasSetIsMeasuredAnew) {
  calibrate();
  for (const std::uint64_t first : {std::uint64_t{500'000'000}, std::uint64_t{0}}) {
    FakeMachine::first_tick = first;
    FakeMachine::present += 25'000'000;
    EXPECT_EQ(told(), FakeMachine::present);
    FakeMachine::looks = 0;
    FakeMachine::present += 1000;
    EXPECT_EQ(told(), FakeMachine::present);
    EXPECT_EQ(FakeMachine::looks, 1);  // the rate is not known
    calibrate();
    FakeMachine::present += 1000;
    EXPECT_NEAR(static_cast<double>(told()), static_cast<double>(FakeMachine::present), 2);
    EXPECT_EQ(FakeMachine::looks, 0);
  }
}

TEST_F(EventClockTest, AReadingThatAnotherThreadIsWritingIsNotUsed) {
  calibrate();
  clock_.version.fetch_add(1);
  FakeMachine::present += 1000;
  EXPECT_EQ(told(), FakeMachine::present);
  EXPECT_EQ(FakeMachine::looks, 1);
  EXPECT_EQ(clock_.version.load() & 1, 1u);  // nor taken from it
}

TEST_F(EventClockTest, AfterALongPauseItIsRightAtOnce) {
  calibrate();
  FakeMachine::present += 3'600'000'000'000;
  EXPECT_EQ(told(), FakeMachine::present);
  FakeMachine::present += 500'000;
  EXPECT_NEAR(static_cast<double>(told()), static_cast<double>(FakeMachine::present), 2);
}

// As when the machine's time is corrected: what was carried forward is ahead of the clock by 5 us then.
TEST_F(EventClockTest, NeverGoesBackOnOneThreadWhenTheClockIsSlowedDown) {
  for (int step = 0; step < 30; ++step) {
    FakeMachine::present += 20'000'000;
    clock_.now();
  }
  TimePoint last{};
  int steps_back = 0;
  for (int step = 0; step < 10'000; ++step) {
    FakeMachine::present += 1000;
    if (step % 2 == 0) FakeMachine::first_tick += 1;  // the counter is faster than the clock by 0.1 %
    const TimePoint before = last;
    steps_back += clock_.now() < before ? 1 : 0;
    ASSERT_GE(clock_.now_after(last), before);
  }
  EXPECT_GT(steps_back, 0);  // or there was nothing to see
}

// The time that a thread is told lies between two looks at the machine's own clock, or as near as the rate is good.
TEST(EventClockOnThisMachine, AgreesWithTheClockOnAllThreads) {
  constexpr Duration rate_error = std::chrono::microseconds(1);
  const auto clock = std::make_unique<EventClock<MachineTime>>();
  clock->trusted = kernel_trusts_counter();
  const TimePoint end = MachineTime::time() + std::chrono::milliseconds(100);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      TimePoint before{};
      while (before < end) {
        before = MachineTime::time();
        const TimePoint told = clock->now();
        const TimePoint after = MachineTime::time();
        ASSERT_GE(told, before - rate_error);
        ASSERT_LE(told, after + rate_error);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weft
