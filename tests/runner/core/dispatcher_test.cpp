// The dispatcher's thread against a fake driver: the test plays the hooks, the streams and the GPU. Times are real, so
// only what must hold at any speed is asserted; what is decided is tested in runner/policy/session_test.cpp.
#include "runner/core/dispatcher.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "detector/group_shape.h"
#include "runner/clock.h"
#include "runner/policy/control_schedule.h"
#include "shim/seam/ring.h"
#include "tests/runner/fake_driver.h"
#include "tests/shim/push.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<EventRing> ring;
std::atomic<const char*> full_table{nullptr};
std::atomic<std::uint32_t> streams_in_use{2};

// The hooks leave out the markers of all groups but those that are like this one.
struct Withheld {
  std::atomic<int> device{-1};
  std::atomic<bool> on{false};
  std::atomic<std::uint64_t> but_of{0};
  std::atomic<int> changes{0};
};
Withheld withheld;

// A pipeline stage seen from its GPU: groups on a communication stream that compute waits for. Two receives and an
// all-reduce are an iteration of the training.
struct Stage {
  std::array<std::atomic<std::uint32_t>, 1024> words{};
  Ticket last_ticket = 0;
  GroupId last_group = 0;

  static Event event(EventKind kind, StreamId stream) {
    Event made{};
    made.time = now();
    made.kind = kind;
    made.stream = stream;
    made.communicator = 1;
    return made;
  }
  void write(Ticket ticket) { words[ticket % words.size()].store(ticket, std::memory_order_release); }

  void microbatch(Duration compute, Duration wait) {
    const Ticket started = ++last_ticket, done = ++last_ticket, reached = ++last_ticket;
    Event group = event(EventKind::group_issued, 2);
    group.group = ++last_group;
    group.ticket = started;
    group.done_ticket = done;
    group.summary.signature = 70 + last_group % 3;
    const bool last_of_iteration = last_group % 3 == 0;
    group.summary.receives = last_of_iteration ? 0 : 1;
    group.summary.collectives = last_of_iteration ? 1 : 0;
    group.summary.receive_peer = last_of_iteration ? -1 : 0;
    group.summary.send_peer = -1;
    if (withheld.on && withheld.but_of != likeness_of(group.summary, group.communicator))
      return unmarked(group, compute + wait);
    push(*ring, group);
    Event waiting = event(EventKind::wait_issued, 1);
    waiting.awaited = {2, done};
    waiting.ticket = reached;
    push(*ring, waiting);
    write(started);
    std::this_thread::sleep_for(compute);
    write(reached);
    std::this_thread::sleep_for(wait);
    write(done);
  }

  void unmarked(Event group, Duration length) {
    group.ticket = group.done_ticket = 0;
    for (const StreamId stream : {StreamId{1}, StreamId{2}}) {
      Event held_back = event(EventKind::marks_held_back, stream);
      held_back.ticket = last_ticket + 1;
      push(*ring, held_back);
    }
    push(*ring, group);
    std::this_thread::sleep_for(length);
  }

  // While the first of two groups runs, another stream has something that was launched behind both.
  void compute_behind_groups(Duration compute) {
    std::array<Event, 2> groups{event(EventKind::group_issued, 2), event(EventKind::group_issued, 2)};
    for (Event& group : groups) {
      group.group = ++last_group;
      group.ticket = ++last_ticket;
      group.done_ticket = ++last_ticket;
      group.nothing_launched = true;
      group.summary.receives = 1;
      push(*ring, group);
    }
    Event computed = event(EventKind::mark_issued, 3);
    computed.ticket = ++last_ticket;
    push(*ring, computed);
    write(groups[0].ticket);
    std::this_thread::sleep_for(compute);
    write(computed.ticket);
    for (const Event& group : groups) {
      write(group.ticket);
      write(group.done_ticket);
    }
  }
};

struct DispatcherTest : ::testing::Test {
  testing::FakeGpu gpu;
  Driver driver = testing::fake_driver(gpu);
  Stage stage;
  ShimServices shim;
  std::unique_ptr<EventRouter> router;
  const Reporter reporter{0};
  Reservation reservation{driver, 1 << 20};
  std::unique_ptr<FillJob> job =
      FillJob::load({std::string(WEFT_TEST_JOBS) + "/bad_sound.so", ""}, reservation, {0, 100});
  Unit unit{driver, {{nullptr, 200us}, {nullptr, 200us}}};
  std::atomic<std::uint32_t> done_word{0};
  Filler filler{driver, JobPolicy::throughput};
  std::unique_ptr<Dispatcher> dispatcher;
  bool goes_dark = false;
  std::atomic<bool> gpu_stops{false};
  std::thread gpu_thread;

  void SetUp() override {
    ring = std::make_unique<EventRing>();
    shim.ring = ring.get();
    shim.dropped_events = [] { return ring->dropped.load(); };
    shim.list_streams_to_ask = [](int, StreamId*, int) { return 0; };  // marks say all there is to know
    shim.ask_stream = [](int, StreamId) { return Answer{StreamAnswer::unknown}; };
    full_table = nullptr;
    streams_in_use = 2;
    shim.full_table = [] { return full_table.load(); };
    shim.streams_in_use = [](int) { return streams_in_use.load(); };
    router = std::make_unique<EventRouter>(*ring);
  }
  void start(Filler* used) {
    DispatcherParts parts;
    parts.shim = &shim;
    parts.router = router.get();
    parts.driver = &driver;
    parts.reporter = &reporter;
    parts.filler = used;
    parts.note_failure = [] {};
    parts.words = {stage.words.data(), 0, static_cast<std::uint32_t>(stage.words.size())};
    DispatcherOptions options;
    options.session.dark = goes_dark;
    dispatcher = std::make_unique<Dispatcher>(parts, options);
    if (used != nullptr)
      dispatcher->add_job({0, "bad", job.get(), &unit, {}, {nullptr, DoneMark{&done_word, 0}}}, JobRecord{});
    ASSERT_TRUE(dispatcher->start());
  }
  Duration uncertain_behind_groups(std::uint32_t streams) {
    streams_in_use = streams;
    start(nullptr);
    stage.compute_behind_groups(20ms);
    EXPECT_TRUE(dispatcher->stop(10s));
    return dispatcher->summary().uncertain;
  }
  // Ends one slice at a time.
  void run_gpu() {
    gpu_thread = std::thread([this] {
      while (!gpu_stops) {
        if (done_word != gpu.last_number) {
          std::this_thread::sleep_for(200us);
          done_word.fetch_add(1, std::memory_order_release);
        } else {
          std::this_thread::sleep_for(20us);
        }
      }
    });
  }
  void TearDown() override {
    gpu_stops = true;
    if (gpu_thread.joinable()) gpu_thread.join();
    if (dispatcher) {
      EXPECT_TRUE(dispatcher->stop(10s));
    }
  }
};

// So many streams share hardware queues with each other and with the fill stream.
TEST_F(DispatcherTest, MoreStreamsThanHardwareQueuesEndFilling) {
  run_gpu();
  start(&filler);
  streams_in_use = 7;
  std::this_thread::sleep_for(20ms);
  ::testing::internal::CaptureStderr();
  streams_in_use = 8;
  for (int microbatch = 0; microbatch < 30; ++microbatch) stage.microbatch(2ms, 4ms);
  ASSERT_TRUE(dispatcher->stop(10s));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said,
            "weft: warning: rank 0: filling is off for the rest of this run: the training uses 8 streams, with Weft's "
            "more than its 8 "
            "hardware queues: set CUDA_DEVICE_MAX_CONNECTIONS=32\n");
  EXPECT_TRUE(dispatcher->summary().filling_stopped);
  EXPECT_GE(dispatcher->summary().bubbles, 25U);
  EXPECT_EQ(gpu.launches, 0);
}

// The kernel of the second group may then hold up the others of its hardware queue.
TEST_F(DispatcherTest, WithAsManyStreamsAsQueuesKernelsMayHoldUpOthers) {
  EXPECT_GT(uncertain_behind_groups(8), Duration(5ms));
}

TEST_F(DispatcherTest, WithFewerStreamsKernelsHoldUpNobody) {
  EXPECT_LT(uncertain_behind_groups(7), Duration(5ms));
}

TEST_F(DispatcherTest, ATableOfTheShimThatIsFullIsSaidOnceAndObservingGoesOn) {
  start(nullptr);
  ::testing::internal::CaptureStderr();
  full_table = "streams";
  for (int microbatch = 0; microbatch < 30; ++microbatch) stage.microbatch(2ms, 4ms);
  ASSERT_TRUE(dispatcher->stop(10s));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "weft: warning: rank 0: more streams than Weft has room for: the rest is not seen\n");
  EXPECT_GE(dispatcher->summary().bubbles, 25U);
}

TEST_F(DispatcherTest, ObservesBubblesAndIterations) {
  start(nullptr);
  for (int microbatch = 0; microbatch < 30; ++microbatch) stage.microbatch(2ms, 4ms);
  ASSERT_TRUE(dispatcher->stop(10s));
  const TraceSummary summary = dispatcher->summary();
  EXPECT_GE(summary.bubbles, 25U);
  EXPECT_GE(summary.idle, Duration(25 * 3ms));
  EXPECT_GE(summary.iterations, 5U);
  EXPECT_EQ(summary.dropped_records, 0U);
  EXPECT_FALSE(summary.filling_stopped);
}

// It says which groups are to be marked while iterations are dark, and says when all are again.
TEST_F(DispatcherTest, TheHooksHearWhenIterationsAreDark) {
  goes_dark = true;
  withheld.changes = 0;
  shim.withhold_markers = [](int device, bool on, std::uint64_t but_of) {
    withheld.device = device;
    withheld.but_of = but_of;
    withheld.on = on;
    ++withheld.changes;
  };
  start(nullptr);
  const auto iteration = [this] {
    for (int microbatch = 0; microbatch < 3; ++microbatch) stage.microbatch(500us, 1ms);
  };
  std::uint64_t first_dark = 0;
  while (!is_dark(first_dark)) ++first_dark;
  for (std::uint64_t i = 0; i < 2 * first_dark && withheld.changes == 0; ++i) iteration();
  EXPECT_TRUE(withheld.on);
  EXPECT_EQ(withheld.device, 0);
  EXPECT_TRUE(dispatcher->groups_may_be_unmarked());
  for (std::uint64_t i = 0; i < 2 * first_dark && withheld.changes < 2; ++i) iteration();
  EXPECT_FALSE(withheld.on);
  for (int i = 0; i < 3; ++i) iteration();
  EXPECT_FALSE(dispatcher->groups_may_be_unmarked());
  EXPECT_EQ(withheld.changes, 2);
  ASSERT_TRUE(dispatcher->stop(10s));
  EXPECT_GT(dispatcher->summary().dark, Duration(6ms));
}

TEST_F(DispatcherTest, LaunchesAndReapsSlices) {
  start(&filler);
  run_gpu();
  for (int microbatch = 0; microbatch < 3000 && gpu.launches < 20; ++microbatch) stage.microbatch(2ms, 8ms);
  ASSERT_TRUE(dispatcher->stop(10s));
  EXPECT_TRUE(dispatcher->nothing_in_flight());
  const TraceSummary summary = dispatcher->summary();
  EXPECT_GE(gpu.launches, 20);
  EXPECT_EQ(summary.slices, static_cast<std::uint64_t>(gpu.launches));
  EXPECT_EQ(summary.filled, gpu.launches.load() * Duration(200us));
  EXPECT_EQ(summary.fill_units, summary.slices / 2);
}

TEST_F(DispatcherTest, AnErrorTurnsFillingOffAndObservingGoesOn) {
  gpu.launch_result = CUDA_ERROR_LAUNCH_FAILED;
  start(&filler);
  for (int microbatch = 0; microbatch < 30; ++microbatch) stage.microbatch(1ms, 8ms);
  ASSERT_TRUE(dispatcher->stop(10s));
  const TraceSummary summary = dispatcher->summary();
  EXPECT_TRUE(summary.filling_stopped);
  EXPECT_EQ(summary.reason, "launching a slice failed with CUDA_ERROR_UNKNOWN");
  EXPECT_EQ(summary.slices, 0U);
  EXPECT_GE(summary.bubbles, 20U);
}

TEST_F(DispatcherTest, APauseIsQuietAndEndsWithResume) {
  start(&filler);
  run_gpu();
  for (int microbatch = 0; microbatch < 24; ++microbatch) stage.microbatch(1ms, 8ms);
  ASSERT_TRUE(dispatcher->pause(10s));
  EXPECT_EQ(dispatcher->groups_pending(), 0U);
  const int before = gpu.launches;
  EXPECT_EQ(done_word, gpu.last_number);
  for (int microbatch = 0; microbatch < 3; ++microbatch) stage.microbatch(1ms, 8ms);
  EXPECT_EQ(gpu.launches, before);
  dispatcher->resume();
  for (int microbatch = 0; microbatch < 24; ++microbatch) stage.microbatch(1ms, 8ms);
  EXPECT_GT(gpu.launches, before);
}

TEST_F(DispatcherTest, APauseKnowsOfPendingGroups) {
  start(&filler);
  Event group = Stage::event(EventKind::group_issued, 2);
  group.group = 1;
  group.ticket = 1;
  group.done_ticket = 2;
  push(*ring, group);
  ASSERT_TRUE(dispatcher->pause(10s));
  EXPECT_EQ(dispatcher->groups_pending(), 1U);
}

TEST_F(DispatcherTest, StoppingFillingIsForTheRestOfTheRun) {
  start(&filler);
  run_gpu();
  for (int microbatch = 0; microbatch < 24; ++microbatch) stage.microbatch(1ms, 8ms);
  ASSERT_TRUE(dispatcher->pause(10s));
  dispatcher->stop_filling("the test says so");
  const int before = gpu.launches;
  dispatcher->resume();
  for (int microbatch = 0; microbatch < 8; ++microbatch) stage.microbatch(1ms, 8ms);
  EXPECT_EQ(gpu.launches, before);
  ASSERT_TRUE(dispatcher->stop(10s));
  EXPECT_EQ(dispatcher->summary().reason, "the test says so");
}

TEST_F(DispatcherTest, LostEventsEndFilling) {
  start(&filler);
  ring->dropped = 1;
  stage.microbatch(1ms, 8ms);
  ASSERT_TRUE(dispatcher->stop(10s));
  EXPECT_TRUE(dispatcher->summary().filling_stopped);
  EXPECT_EQ(dispatcher->summary().dropped_records, 1U);
}

// The counter is the process's: what an earlier life of the device has reported already stays out of the next one.
TEST_F(DispatcherTest, EventsLostBeforeItsStartAreNotCountedAgain) {
  ring->dropped = 5;
  start(&filler);
  ring->dropped = 7;
  stage.microbatch(1ms, 8ms);
  ASSERT_TRUE(dispatcher->stop(10s));
  EXPECT_EQ(dispatcher->summary().dropped_records, 2U);
}

}  // namespace
}  // namespace weft
