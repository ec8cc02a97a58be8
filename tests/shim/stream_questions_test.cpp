// The questions to a stream or device (has it work left, is it idle), and calls of the main job that must not come in
// between.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/shim/shim_fixture.h"

namespace {

class StreamQuestions : public ReceivingJob {
 protected:
  // A receive is under way, and the compute stream waits for it.
  weft::StreamId compute_id() {
    receive();
    cuStreamWaitEvent(compute, arrived, 0);
    return events().at(0).stream;
  }
};

TEST_F(StreamQuestions, AStreamIsDryWhenItsWorkIsDone) {
  const weft::StreamId asked = compute_id();
  fake_block(compute);
  EXPECT_EQ(ask(asked), StreamAnswer::busy);
  fake_release(compute);
  fake_release(transfer);
  EXPECT_EQ(ask(asked), StreamAnswer::dry);
  EXPECT_EQ(ask(asked, 1), StreamAnswer::unknown);
  cuStreamDestroy_v2(compute);
  EXPECT_EQ(ask(asked), StreamAnswer::unknown);
  EXPECT_EQ(fake_dead_streams(), 0);
}

// Nobody may ever have named it: PyTorch computes on it.
TEST_F(StreamQuestions, TheLegacyStreamIsAskedToo) {
  weft::StreamId ids[64];
  ASSERT_EQ(core()->shim->list_streams_to_ask(0, ids, 64), 3);
  EXPECT_EQ(core()->shim->list_streams_to_ask(0, ids, 2), -1);
  EXPECT_EQ(ask(ids[2]), StreamAnswer::dry);
  fake_block(nullptr);
  EXPECT_EQ(ask(ids[2]), StreamAnswer::busy);
  fake_release(nullptr);
}

class QuestionsWithLaunches : public LaunchingJob {};

// The driver need not enqueue the wait for an event that is over.
TEST_F(QuestionsWithLaunches, AWaitWithoutAMarkerMayStandBehindMarkersButIsNotSeenToGetPastThem) {
  const CUevent over = event();
  cuEventRecord(over, transfer);
  receive();
  cuStreamWaitEvent(compute, arrived, 0);
  const weft::StreamId asked = events().at(0).stream;
  fake_block(compute);
  launch(compute);
  const auto answer = [&] { return core()->shim->ask_stream(0, asked); };
  const weft::Ticket launched_before = answer().launched_before;
  events();
  receive();
  cuStreamWaitEvent(compute, over, 0);
  EXPECT_GT(answer().launched_before, launched_before) << "if it waits for something it stands there";
  fake_release(compute);
  fake_release(transfer);
  ASSERT_EQ(answer().says, StreamAnswer::dry);
  EXPECT_EQ(answer().launched_before, launched_before);
}

// One thread asks a stream, and the driver takes its time; another one does something to the stream meanwhile.
class QuestionOnItsWay : public StreamQuestions {
 protected:
  template <class Ask, class Happens>
  static void before_the_answer(Ask ask, Happens happens) {
    fake_hold_queries(true);
    std::thread asks(ask);
    while (fake_held_queries() == 0) std::this_thread::yield();
    happens();
    fake_hold_queries(false);
    asks.join();
  }
  template <class Ask, class Call>
  static void expect_held_up(Ask ask, Call call) {
    std::atomic<bool> called{false};
    std::thread calls;
    before_the_answer(ask, [&] {
      calls = std::thread([&] {
        call();
        called = true;
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_FALSE(called);
    });
    calls.join();
  }
  void meanwhile(void (*call)(CUstream)) {
    const weft::StreamId asked = compute_id();
    expect_held_up([&] { ask(asked); }, [&] { call(compute); });
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
  ASSERT_EQ(ask(group.stream), StreamAnswer::dry);
  core()->shim->turn_off("a test");
  EXPECT_EQ(ask(group.stream), StreamAnswer::unknown);
}

// A question that the driver never answers does not keep a stream for ever.
TEST_F(QuestionOnItsWay, AnAnswerThatNeverComesIsNotWaitedFor) {
  core()->shim->set_launches_counted(true);
  const CUstream third = stream();
  const weft::Event group = receive();
  before_the_answer([&] { ask(group.stream); }, [&] { EXPECT_EQ(cuStreamDestroy_v2(third), CUDA_SUCCESS); });
}

// A tenth of a second, whatever a short sleep takes on this machine. One of three goes undisturbed by other processes.
TEST_F(QuestionOnItsWay, IsWaitedForAsLongAsPromised) {
  using std::chrono::milliseconds;
  core()->shim->set_launches_counted(true);
  const weft::Event group = receive();
  auto least = std::chrono::steady_clock::duration::max();
  const auto destroy_streams = [&] {
    for (int turn = 0; turn < 3; ++turn) {
      CUstream stream = nullptr;
      ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
      const auto began = std::chrono::steady_clock::now();
      EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
      const auto waited = std::chrono::steady_clock::now() - began;
      EXPECT_GE(waited, milliseconds(95));
      least = std::min(least, waited);
    }
  };
  before_the_answer([&] { ask(group.stream); }, destroy_streams);
  EXPECT_LT(least, milliseconds(130));
}

// As when a communicator is opened: what was launched so far is not known of any stream.
TEST_F(QuestionOnItsWay, NoStreamIsDestroyedWhileItIsAskedWhetherItHadWork) {
  const weft::MarkerWords words{core()->words[0], 0, core()->word_count};
  const auto destroy_streams = [&] {
    cuStreamDestroy_v2(transfer);
    cuStreamDestroy_v2(compute);
  };
  expect_held_up([&] { core()->shim->set_marker_words(0, words); }, destroy_streams);
  EXPECT_EQ(fake_dead_streams(), 0);
}

// Nobody in it has a question.
TEST_F(QuestionOnItsWay, AForkedChildDoesNotWaitForTheAnswer) {
  using std::chrono::milliseconds;
  const weft::StreamId asked = compute_id();
  const auto destroy_streams_in_a_child = [] {
    const pid_t child = fork();
    if (child == 0) {
      auto least = std::chrono::steady_clock::duration::max();
      for (int turn = 0; turn < 3; ++turn) {
        const auto began = std::chrono::steady_clock::now();
        cuStreamDestroy_v2(nullptr);
        least = std::min(least, std::chrono::steady_clock::now() - began);
      }
      _exit(least < milliseconds(50) ? 0 : 1);
    }
    int status = 1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "it waited for a thread that it does not have";
  };
  before_the_answer([&] { ask(asked); }, destroy_streams_in_a_child);
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

// With one hardware queue a slice may only be launched then.
class Enqueued : public LaunchingJob {
 protected:
  static void launch(CUstream stream) {
    LaunchingJob::launch(stream);
    fake_block(stream);
  }
  static bool nothing() { return core()->shim->nothing_is_enqueued(0); }
};

TEST_F(Enqueued, NothingIsWhileAGroupRunsAndAStreamWaits) {
  launch(compute);
  receive();
  cuStreamWaitEvent(compute, arrived, 0);
  EXPECT_TRUE(nothing()) << "what stands ahead of the marker does not count";
  launch(compute);
  EXPECT_FALSE(nothing()) << "behind the wait";
  for (const CUstream stream : {compute, transfer, compute}) fake_release(stream);
  EXPECT_TRUE(nothing()) << "it is done";
  launch(transfer);
  EXPECT_FALSE(nothing()) << "behind the group";
}

TEST_F(Enqueued, AStreamWithoutMarkersIsAsked) {
  receive();
  const CUstream other = stream();
  launch(other);
  EXPECT_FALSE(nothing());
  fake_release(other);
  EXPECT_TRUE(nothing());
}

TEST_F(Enqueued, IsNotKnownWhereLaunchesAreNotCounted) {
  receive();
  fake_block(transfer);
  EXPECT_TRUE(nothing());
  core()->shim->set_launches_counted(false);
  EXPECT_FALSE(nothing());
}

}  // namespace
