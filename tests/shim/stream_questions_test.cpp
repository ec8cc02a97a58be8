// The questions to a stream or device (is it dry, is it idle), and calls of the main job that must not come in between.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/shim/shim_fixture.h"

namespace {

class StreamQuestions : public ReceivingJob {};

TEST_F(StreamQuestions, AStreamIsDryWhenItsWorkIsDone) {
  receive();
  fake_block(compute);
  cuCtxSynchronize();
  const weft::StreamId asked = events().at(0).stream;
  EXPECT_FALSE(core()->shim->is_dry(0, asked));
  fake_release(compute);
  EXPECT_TRUE(core()->shim->is_dry(0, asked));
  EXPECT_FALSE(core()->shim->is_dry(1, asked));
  cuStreamDestroy_v2(compute);
  EXPECT_FALSE(core()->shim->is_dry(0, asked));
  EXPECT_EQ(fake_dead_streams(), 0);
}

TEST_F(StreamQuestions, AStreamWithAMarkerOnItsWayIsNotAsked) {
  receive();
  fake_block(compute);
  cuStreamWaitEvent(compute, arrived, 0);
  events();
  cuCtxSynchronize();
  EXPECT_EQ(kinds(events()), (Kinds{EventKind::host_wait_begun, EventKind::host_wait_ended}));
}

// One thread asks a stream, and the driver takes its time; another one does something to the stream meanwhile.
class QuestionOnItsWay : public StreamQuestions {
 protected:
  void meanwhile(void (*call)(CUstream)) {
    receive();
    cuCtxSynchronize();
    const weft::StreamId asked = events().at(0).stream;
    fake_hold_queries(true);
    std::thread asks([&] { core()->shim->is_dry(0, asked); });
    while (fake_held_queries() == 0) std::this_thread::yield();
    std::atomic<bool> called{false};
    std::thread calls([&] {
      call(compute);
      called = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(called);
    fake_hold_queries(false);
    asks.join();
    calls.join();
  }
};

TEST_F(QuestionOnItsWay, AStreamIsNotDestroyedBeforeTheAnswer) {
  meanwhile([](CUstream stream) { cuStreamDestroy_v2(stream); });
  EXPECT_EQ(fake_dead_streams(), 0);
}

TEST_F(QuestionOnItsWay, NoContextGoesBeforeTheAnswer) {
  meanwhile([](CUstream) { cuDevicePrimaryCtxReset_v2(0); });
  EXPECT_EQ(fake_dead_streams(), 0);
}

TEST_F(QuestionOnItsWay, NoCaptureBeginsBeforeTheAnswer) {
  meanwhile([](CUstream stream) { cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL); });
  EXPECT_EQ(fake_broken_captures(), 0);
}

// Hooks of a process in which Weft is off let streams go and captures begin without a look at who asks.
TEST_F(QuestionOnItsWay, WeftIsNotOffBeforeTheAnswer) {
  static void (*turn_off)(const char*) = nullptr;
  receive();
  turn_off = core()->shim->turn_off;
  meanwhile([](CUstream) { turn_off("a test"); });
}

TEST_F(StreamQuestions, NoStreamIsAskedOnceWeftIsOff) {
  const weft::Event group = receive();
  fake_release(transfer);
  ASSERT_TRUE(core()->shim->is_dry(0, group.stream));
  core()->shim->turn_off("a test");
  EXPECT_FALSE(core()->shim->is_dry(0, group.stream));
}

// A question that the driver never answers does not keep a stream for ever.
TEST_F(QuestionOnItsWay, AnAnswerThatNeverComesIsNotWaitedFor) {
  const weft::Event group = receive();
  fake_hold_queries(true);
  std::thread asks([&] { core()->shim->is_dry(0, group.stream); });
  while (fake_held_queries() == 0) std::this_thread::yield();
  EXPECT_EQ(cuStreamDestroy_v2(compute), CUDA_SUCCESS);
  fake_hold_queries(false);
  asks.join();
}

TEST_F(StreamQuestions, ADeviceIsIdleWhenNoStreamHasWorkLeft) {
  const auto idle = core()->shim->is_idle;
  EXPECT_TRUE(idle(0));
  fake_block(compute);  // a launch, which no hook sees
  EXPECT_FALSE(idle(0));
  fake_release(compute);
  EXPECT_TRUE(idle(0));
  fake_block(nullptr);
  EXPECT_FALSE(idle(0));
  fake_release(nullptr);
  cuStreamDestroy_v2(transfer);
  EXPECT_TRUE(idle(0));
  EXPECT_EQ(fake_dead_streams(), 0);
}

TEST_F(StreamQuestions, WorkOfAnotherDeviceIsNotAskedFor) {
  fake_block(transfer);
  EXPECT_TRUE(core()->shim->is_idle(1));
}

}  // namespace
