// Hardware queues: what fits, and that a lap of streams leaves the turns of the main job's streams as they were.
#include "runner/fill/queues.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(HardwareQueues, AreReadAsTheDriverReadsThem) {
  const auto queues = [](const char* value) { return hardware_queues({{"CUDA_DEVICE_MAX_CONNECTIONS", value}}); };
  EXPECT_EQ(hardware_queues({}), 8U);
  EXPECT_EQ(queues("1"), 1U);
  EXPECT_EQ(queues("32"), 32U);
  for (const char* ignored : {"", "0", "33", "-1", "many"}) EXPECT_EQ(queues(ignored), 8U) << ignored;
}

TEST(HardwareQueues, AnyNumberOfThemGetsEventsWhereNobodyHasAsked) {
  const auto marking = [](const Variables& variables) { return marking_for({variables, variables}); };
  const Marking one = marking({{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}});
  EXPECT_EQ(one.marks, Marks::events);
  EXPECT_TRUE(one.one_queue);
  EXPECT_STREQ(one.because, "one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1)");
  const Marking two = marking({{"CUDA_DEVICE_MAX_CONNECTIONS", "2"}, {"CUDA_LAUNCH_BLOCKING", "0"}});
  EXPECT_EQ(two.marks, Marks::events);
  EXPECT_FALSE(two.one_queue);
  EXPECT_STREQ(marking({}).because, "");
}

TEST(HardwareQueues, BlockingLaunchesGetNoMarkers) {
  const Variables blocking{{"CUDA_LAUNCH_BLOCKING", "1"}, {"CUDA_DEVICE_MAX_CONNECTIONS", "1"}};
  EXPECT_EQ(marking_for({blocking, blocking}).marks, Marks::none);
  EXPECT_STREQ(marking_for({blocking, blocking}).because, "blocking launches (CUDA_LAUNCH_BLOCKING=1)");
  EXPECT_STREQ(marking_for({{}, blocking}).because,
               "perhaps blocking launches (CUDA_LAUNCH_BLOCKING was 1 when the process began)");
}

// Nobody knows which of the two the driver has read.
TEST(HardwareQueues, AVariableThatTheProcessHasChangedCountsWithBothValues) {
  const Variables one{{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}}, many{{"CUDA_DEVICE_MAX_CONNECTIONS", "32"}};
  EXPECT_STREQ(marking_for({one, many}).because, "one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1)");
  EXPECT_STREQ(marking_for({many, one}).because,
               "perhaps one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS was 1 when the process began)");
  EXPECT_TRUE(marking_for({many, one}).one_queue);
  EXPECT_STREQ(marking_for({many, {}}).because, "");
}

TEST(HardwareQueues, TheStreamsOfTheTrainingAndOneOfWeftHaveToFit) {
  EXPECT_EQ(too_many_streams(7, 8), "");
  EXPECT_EQ(too_many_streams(8, 8),
            "the training uses 8 streams, with Weft's more than its 8 hardware queues: "
            "set CUDA_DEVICE_MAX_CONNECTIONS=32");
  EXPECT_EQ(too_many_streams(31, 32), "");
  EXPECT_EQ(too_many_streams(40, 32), "the training uses 40 streams, with Weft's more than its 32 hardware queues");
}

// Streams take turns at the queues; the default stream has had the first turn.
struct Turns {
  static inline std::uint32_t next = 1;
  static inline int alive = 0;
  static inline int failing = 0;

  static Driver driver() {
    Driver driver;
    driver.cuGetErrorName = [](CUresult, const char** name) { return *name = "an error", CUDA_SUCCESS; };
    driver.cuCtxGetStreamPriorityRange = [](int* least, int* greatest) {
      *least = *greatest = 0;
      return CUDA_SUCCESS;
    };
    driver.cuStreamCreateWithPriority = [](CUstream* stream, unsigned, int) {
      if (failing != 0 && --failing == 0) return CUDA_ERROR_OUT_OF_MEMORY;
      ++alive;
      *stream = reinterpret_cast<CUstream>(std::uintptr_t{next++} << 8);
      return CUDA_SUCCESS;
    };
    driver.cuStreamDestroy_v2 = [](CUstream) { return --alive, CUDA_SUCCESS; };
    return driver;
  }
  static std::uint32_t turn_of(CUstream stream) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(stream) >> 8);
  }
};

TEST(QueueLap, TheNextStreamGetsTheQueueItWouldHaveGotAnyway) {
  for (const std::uint32_t queues : {1U, 8U, 32U}) {
    for (std::uint32_t made = 0; made < 40; ++made) {
      Turns::next = 1 + made;
      const Driver driver = Turns::driver();
      QueueLap lap(driver);
      const CUstream fill = lap.make(queues, made);
      EXPECT_EQ(Turns::next % queues, (1 + made) % queues);
      // Further streams of the main job come to its queue last.
      EXPECT_EQ(Turns::turn_of(fill) % queues, queues - 1) << queues << " queues, " << made << " streams";
      Turns::next += 3;  // the fill job makes some itself
      lap.complete(queues, 3);
      EXPECT_EQ(Turns::next % queues, (1 + made) % queues);
      lap.destroy();
      EXPECT_EQ(Turns::alive, 0);
    }
  }
}

TEST(QueueLap, WhatWasMadeBeforeAFailureIsDestroyed) {
  const Driver driver = Turns::driver();
  QueueLap lap(driver);
  Turns::failing = 3;
  EXPECT_THROW(lap.make(8, 0), SetUpError);
  EXPECT_EQ(Turns::alive, 2);
  lap.destroy();
  EXPECT_EQ(Turns::alive, 0);
}

}  // namespace
}  // namespace weft
