// What the shim notes about waits, captures, memory and contexts.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/shim/shim_fixture.h"

namespace {

// Drains among the events since the last look.
int count_drains(const std::vector<weft::Event>& seen) {
  int count = 0;
  for (const weft::Event& next : seen) count += next.kind == EventKind::drain_issued;
  return count;
}

class NoCommunicator : public ShimTest {
 protected:
  static int drains() { return count_drains(events()); }
};

class Waits : public NoCommunicator {
 protected:
  void SetUp() override {
    c = communicator();
    transfer = stream();
    compute = stream();
    arrived = event();
    events();
  }
  // A receive on its own stream and an event behind it, as PyTorch does it.
  weft::Event receive() {
    ncclRecv(buffer, 1, ncclInt8, 0, c, transfer);
    cuEventRecord(arrived, transfer);
    const auto seen = events();
    EXPECT_EQ(seen.size(), 1u);
    last_ticket = seen.at(0).done_ticket;
    return seen.at(0);
  }
  weft::Ticket last_ticket = 0;
  ncclComm_t c = nullptr;
  CUstream transfer = nullptr;
  CUstream compute = nullptr;
  CUevent arrived = nullptr;
};

TEST_F(Waits, AStreamThatWaitsForAGroupIsMarkedBeforeTheWait) {
  const weft::Event group = receive();
  cuStreamWaitEvent(compute, arrived, 0);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_EQ(seen[0].group, group.group);
  EXPECT_NE(seen[0].stream, group.stream);
  EXPECT_TRUE(reached(seen[0].ticket));
  EXPECT_FALSE(reached(group.done_ticket));
}

TEST_F(Waits, AGroupThatIsOverIsNotWaitedFor) {
  receive();
  fake_release(transfer);
  cuStreamWaitEvent(compute, arrived, 0);
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(fake_enqueued(compute), 1u);
}

TEST_F(Waits, TheGroupsOwnStreamDoesNotWaitForIt) {
  receive();
  cuStreamWaitEvent(transfer, arrived, 0);
  EXPECT_TRUE(events().empty());
}

TEST_F(Waits, ASecondWaitForTheSameGroupIsNone) {
  receive();
  cuStreamWaitEvent(compute, arrived, 0);
  events();
  cuStreamWaitEvent(compute, arrived, 0);
  EXPECT_TRUE(events().empty());
}

TEST_F(Waits, AnEventRecordedElsewhereStandsForNothing) {
  receive();
  const CUstream third = stream();
  cuEventRecord(arrived, third);
  cuStreamWaitEvent(compute, arrived, 0);
  EXPECT_TRUE(events().empty());
}

TEST_F(Waits, AllAbisOfRecordAndWait) {
  receive();
  cuEventRecordWithFlags(arrived, transfer, 0);
  cuStreamWaitEvent_ptsz(nullptr, arrived, 0);
  auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  const weft::StreamId per_thread = seen[0].stream;
  cuEventRecord_ptsz(arrived, transfer);
  cuStreamWaitEvent(nullptr, arrived, 0);
  seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_NE(seen[0].stream, per_thread);
  cuEventRecordWithFlags_ptsz(arrived, transfer, 0);
  cuStreamWaitEvent(CU_STREAM_PER_THREAD, arrived, 0);
  EXPECT_TRUE(events().empty());  // waits for it already
}

TEST_F(Waits, HostWaitsWithNothingPendingAreNothing) {
  cuStreamSynchronize(compute);
  cuEventSynchronize(arrived);
  cuCtxSynchronize();
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(fake_enqueued(compute), 0u);
}

TEST_F(Waits, AHostWaitForTheDeviceDrainsExplicitStreams) {
  const weft::Event group = receive();
  cuCtxSynchronize();
  const auto seen = events();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::drain_issued, EventKind::host_wait_begun, EventKind::host_wait_ended}));
  EXPECT_NE(seen[0].stream, group.stream);
  EXPECT_TRUE(core()->shim->is_dry(0, seen[0].stream));
  EXPECT_EQ(seen[1].stream, 0u);
  EXPECT_EQ(seen[1].group, group.group);
  EXPECT_EQ(fake_enqueued(CU_STREAM_LEGACY), 0u);
}

// A marker might wait for what the main job does not wait for: for the legacy stream when the stream is a blocking one,
// and for whoever shares its hardware queue.
TEST_F(Waits, AHostWaitPutsNothingOnAnyStream) {
  CUstream blocking = nullptr;
  ASSERT_EQ(cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  receive();
  fake_block(compute);
  const std::size_t before = fake_enqueued(transfer);
  cuStreamSynchronize(blocking);
  cuCtxSynchronize_v2(nullptr);
  EXPECT_EQ(drains(), 4);
  EXPECT_EQ(fake_enqueued(blocking), 0u);
  EXPECT_EQ(fake_enqueued(compute), 1u);
  EXPECT_EQ(fake_enqueued(transfer), before);
}

TEST_F(Waits, AStreamIsDryWhenItsWorkIsDone) {
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

TEST_F(Waits, AStreamWithAMarkerOnItsWayIsNotAsked) {
  receive();
  fake_block(compute);
  cuStreamWaitEvent(compute, arrived, 0);
  events();
  cuCtxSynchronize();
  EXPECT_EQ(kinds(events()), (Kinds{EventKind::host_wait_begun, EventKind::host_wait_ended}));
}

// One thread asks a stream, and the driver takes its time; another one does something to the stream meanwhile.
class QuestionOnItsWay : public Waits {
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

TEST_F(Waits, NoStreamIsAskedOnceWeftIsOff) {
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

TEST_F(Waits, AHostWaitForAStream) {
  const weft::Event group = receive();
  cuStreamSynchronize(transfer);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::drain_issued, EventKind::host_wait_begun, EventKind::host_wait_ended}));
  EXPECT_EQ(seen[1].stream, group.stream);
  EXPECT_EQ(seen[1].group, group.group);
}

TEST_F(Waits, AHostWaitForTheLegacyStreamPutsNothingOnIt) {
  receive();
  cuStreamSynchronize(nullptr);
  cuStreamSynchronize_ptsz(nullptr);
  EXPECT_EQ(fake_enqueued(CU_STREAM_LEGACY), 0u);
  EXPECT_EQ(fake_enqueued(CU_STREAM_PER_THREAD), 0u);
}

TEST_F(Waits, AHostWaitForAnEvent) {
  const weft::Event group = receive();
  cuEventSynchronize(arrived);
  const auto seen = events();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[1].kind, EventKind::host_wait_begun);
  EXPECT_EQ(seen[1].group, group.group);
  EXPECT_EQ(seen[2].kind, EventKind::host_wait_ended);
}

TEST_F(Waits, NcclsOwnStreamsAreNotDrained) {
  receive();  // the fake NCCL makes a stream of its own
  cuCtxSynchronize();
  EXPECT_EQ(drains(), 1);
}

TEST_F(Waits, NcclsOwnThreadsWaitUnnoted) {
  receive();
  fake_nccl_thread_waits(transfer);
  EXPECT_TRUE(events().empty());
}

TEST_F(Waits, StreamsThatNcclsOwnThreadsMakeAreNotDrained) {
  fake_nccl_thread_makes_streams();
  receive();
  cuCtxSynchronize();
  EXPECT_EQ(drains(), 1);
}

TEST_F(Waits, ACapturingStreamGetsNoMarker) {
  receive();
  ASSERT_EQ(cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  cuStreamWaitEvent(compute, arrived, 0);
  ncclRecv(buffer, 1, ncclInt8, 0, c, compute);
  cuCtxSynchronize();
  ASSERT_EQ(cuStreamEndCapture(compute, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(kinds(events()), (Kinds{EventKind::capture_begun, EventKind::drain_issued, EventKind::host_wait_begun,
                                    EventKind::host_wait_ended, EventKind::capture_ended}));
  EXPECT_EQ(fake_enqueued(compute), 0u);
  cuStreamWaitEvent(compute, arrived, 0);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::wait_issued});
}

TEST_F(Waits, CapturesThatDoNotBeginOrEndAreBalanced) {
  EXPECT_EQ(cuStreamEndCapture(compute, nullptr), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_TRUE(events().empty());
  cuStreamBeginCapture_v2_ptsz(compute, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(cuStreamBeginCapture(compute), CUDA_ERROR_ILLEGAL_STATE);
  cuStreamEndCapture_ptsz(compute, nullptr);
  EXPECT_EQ(kinds(events()), (Kinds{EventKind::capture_begun, EventKind::capture_begun, EventKind::capture_ended,
                                    EventKind::capture_ended}));
}

TEST_F(Waits, ADestroyedStreamIsForgotten) {
  const CUstream third = stream();
  cuStreamDestroy_v2(third);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::stream_destroyed});
  receive();
  cuCtxSynchronize();
  EXPECT_EQ(kinds(events()), (Kinds{EventKind::drain_issued, EventKind::host_wait_begun, EventKind::host_wait_ended}));
}

TEST_F(Waits, ManyShortLivedStreamsAreAllKnown) {
  for (int i = 0; i < 5000; ++i) cuStreamDestroy_v2(stream());
  EXPECT_EQ(core()->shim->dropped_events(), 0u);
  EXPECT_EQ(events().size(), 5000u);
}

// What only launches are put on is seen by nobody: it may be busy, so it is asked as well.
TEST_F(Waits, StreamsThatNothingWasSeenOnAreDrainedWhileThereAreFew) {
  for (int i = 0; i < 30; ++i) stream();
  receive();
  cuCtxSynchronize();
  EXPECT_EQ(drains(), 31);
  cuCtxSynchronize();
  EXPECT_EQ(drains(), 31);  // launched on again, for all we know
}

// PyTorch makes 128 streams at once and uses a handful.
TEST_F(Waits, OfAPoolOfStreamsOnlyThoseInUseAreDrained) {
  std::vector<CUstream> pool;
  for (int i = 0; i < 500; ++i) pool.push_back(stream());
  const CUevent mark = event();
  receive();
  cuEventRecord(mark, pool[7]);
  cuStreamWaitEvent(pool[400], arrived, 0);
  events();
  cuCtxSynchronize();
  EXPECT_EQ(drains(), 2);
  EXPECT_EQ(core()->shim->streams_in_use(0), 4u);  // with the one that the fake NCCL uses itself
  cuStreamDestroy_v2(pool[7]);
  EXPECT_EQ(core()->shim->streams_in_use(0), 3u);
  EXPECT_EQ(core()->shim->full_table(), nullptr);
  EXPECT_EQ(core()->shim->dropped_events(), 0u);
}

// A marker for each would take long. What is not asked may be busy, so such a wait is none.
TEST_F(Waits, AHostWaitNextToVeryManyStreamsInUseIsNotNoted) {
  const CUevent mark = event();
  for (int i = 0; i < 40; ++i) cuEventRecord(mark, stream());
  receive();
  cuCtxSynchronize();
  cuStreamSynchronize(compute);
  cuEventSynchronize(arrived);
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(fake_enqueued(compute), 0u);
  EXPECT_EQ(core()->shim->dropped_events(), 0u);
}

TEST_F(Waits, AFullTableIsNamedAndIsNoLoss) {
  for (int i = 0; i < 9000; ++i) stream();
  EXPECT_STREQ(core()->shim->full_table(), "streams");
  EXPECT_EQ(core()->shim->dropped_events(), 0u);
  receive();
}

// A stream of NCCL's that waits for the group holds up whoever shares its hardware queue, like any other.
TEST_F(Waits, StreamsThatNcclUsesItselfAreInUseAndNeverMarked) {
  receive();
  EXPECT_EQ(core()->shim->streams_in_use(0), 2u);  // the group's, and the one that NCCL made for itself
  for (int i = 0; i < 40; ++i) ncclRecv(buffer, 1, ncclInt8, 0, communicator(), transfer);
  EXPECT_EQ(core()->shim->streams_in_use(0), 42u);
  events();
  cuCtxSynchronize();
  EXPECT_EQ(drains(), 1);  // they do not make a pool of the main job's either
  ncclCommDestroy(c);
  EXPECT_EQ(core()->shim->streams_in_use(0), 41u);
  EXPECT_EQ(core()->shim->dropped_events(), 0u);
}

TEST_F(Waits, EveryStreamIsCountedWhoeverMadeIt) {
  const std::uint32_t before = core()->shim->streams_made(0);
  stream();
  receive();  // the fake NCCL makes a stream of its own
  core()->shim->mark_own_thread();
  stream();
  EXPECT_EQ(core()->shim->streams_made(0), before + 3);
}

TEST_F(Waits, MoreMarkersThanWordsWhileAStreamIsBlockedAreCounted) {
  fake_block(transfer);
  for (std::uint32_t i = 0; i < core()->word_count; ++i) ncclRecv(buffer, 1, ncclInt8, 0, c, transfer);
  EXPECT_GT(core()->shim->dropped_events(), 0u);
  EXPECT_LE(events().size(), core()->word_count / 2);
}

TEST_F(Waits, OutOfMemoryIsTriedAgainAfterARescue) {
  CUdeviceptr pointer = 0;
  fake_fail_allocations(1);
  core()->rescue_answer = true;
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_SUCCESS);
  EXPECT_EQ(core()->rescues, 1);
  EXPECT_EQ(fake_allocations(), 2);
}

TEST_F(Waits, OutOfMemoryIsPassedOnWhenNothingWasReleased) {
  CUdeviceptr pointer = 0;
  fake_fail_allocations(9);
  EXPECT_EQ(cuMemAllocAsync(&pointer, 1, compute), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAllocManaged(&pointer, 1, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
  core()->rescue_answer = true;
  EXPECT_EQ(cuMemAllocFromPoolAsync_ptsz(&pointer, 1, nullptr, compute), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(core()->rescues, 3);
  EXPECT_EQ(fake_allocations(), 4);
}

TEST_F(Waits, CodeAndGraphsThatDoNotFitAreTriedAgainToo) {
  core()->rescue_answer = true;
  CUlibrary library = nullptr;
  fake_fail_allocations(1);
  EXPECT_EQ(cuLibraryLoadData(&library, "", nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  CUgraphExec made = nullptr;
  fake_fail_allocations(1);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&made, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(core()->rescues, 2);
}

// The device that is short of memory need not be the current one.
TEST_F(Waits, TheDeviceOfTheAllocationIsRescued) {
  fake_set_device(1);
  const ncclComm_t second [[maybe_unused]] = communicator();
  const CUstream there = stream();
  cuEventRecord(event(), there);
  fake_set_device(0);
  core()->rescue_answer = true;
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp properties{};
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {1}};
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemCreate(&handle, 1, &properties, 0), CUDA_SUCCESS);
  EXPECT_EQ(core()->last_rescued, 1);
  CUdeviceptr pointer = 0;
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_SUCCESS);
  EXPECT_EQ(core()->last_rescued, 0);
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemAllocAsync(&pointer, 1, there), CUDA_SUCCESS);
  EXPECT_EQ(core()->last_rescued, 1);
}

TEST_F(Waits, HostMemoryIsNotRescued) {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp properties{};
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST;
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemCreate(&handle, 1, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(core()->rescues, 0);
}

TEST_F(Waits, OurOwnThreadsAreNotRescuedNorNoted) {
  core()->shim->mark_own_thread();
  CUdeviceptr pointer = 0;
  fake_fail_allocations(1);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(core()->rescues, 0);
  ncclRecv(buffer, 1, ncclInt8, 0, c, transfer);
  EXPECT_TRUE(events().empty());
}

TEST_F(Waits, AContextThatGoesAwayStopsTheMarkers) {
  EXPECT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(core()->contexts_closed, 1);
  EXPECT_EQ(kinds(events()), (Kinds{EventKind::stream_destroyed, EventKind::stream_destroyed}));
  ncclRecv(buffer, 1, ncclInt8, 0, c, stream());
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(core()->contexts_closed, 1);
}

TEST_F(Waits, StreamsOfAContextThatIsGoneAreNeverUsedAgain) {
  receive();
  const weft::Ticket before = last_ticket;
  EXPECT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(core()->shim->streams_in_use(0), 0u);
  c = communicator();  // the job begins anew: the core hands over new words
  const CUstream again = stream();
  events();
  ncclRecv(buffer, 1, ncclInt8, 0, c, again);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::group_issued});
  EXPECT_GT(seen[0].ticket, before);  // tickets go on
  EXPECT_TRUE(reached(seen[0].ticket));
  EXPECT_FALSE(reached(seen[0].done_ticket));
  cuCtxSynchronize();
  EXPECT_EQ(kinds(events()), (Kinds{EventKind::host_wait_begun, EventKind::host_wait_ended}));
  EXPECT_EQ(fake_dead_streams(), 0);
  EXPECT_EQ(core()->shim->dropped_events(), 0u);
}

TEST_F(Waits, StreamsOfAnotherContextOfTheDeviceGoWithIt) {
  fake_set_context(2);
  stream();
  fake_set_context(0);
  receive();
  cuCtxSynchronize();
  EXPECT_EQ(drains(), 2);
  events();
  EXPECT_EQ(cuCtxDestroy_v2(fake_context(2)), CUDA_SUCCESS);
  EXPECT_EQ(core()->contexts_closed, 0);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::stream_destroyed});
  cuCtxSynchronize();
  EXPECT_EQ(drains(), 1);
  EXPECT_EQ(fake_dead_streams(), 0);
}

TEST_F(Waits, ADeviceIsIdleWhenNoStreamHasWorkLeft) {
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

TEST_F(Waits, WorkOfAnotherDeviceIsNotAskedFor) {
  fake_block(transfer);
  EXPECT_TRUE(core()->shim->is_idle(1));
}

TEST_F(Waits, NoStreamIsAskedWhileOneCaptures) {
  cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_FALSE(core()->shim->is_idle(0));
  EXPECT_FALSE(core()->shim->is_dry(0, 1));
  EXPECT_FALSE(core()->shim->is_dry(0, 2));
  EXPECT_EQ(fake_broken_captures(), 0);
  CUgraph graph = nullptr;
  cuStreamEndCapture(compute, &graph);
  EXPECT_TRUE(core()->shim->is_idle(0));
}

TEST_F(Waits, UnloadingIsRefusedToTheExitHandlersOfAFillJobOnly) {
  EXPECT_EQ(cuModuleUnload(nullptr), CUDA_SUCCESS);
  core()->shim->refuse_unloading(true);
  EXPECT_EQ(cuModuleUnload(nullptr), CUDA_ERROR_DEINITIALIZED);
  EXPECT_EQ(cuLibraryUnload(nullptr), CUDA_ERROR_DEINITIALIZED);
  std::thread([] { EXPECT_EQ(cuLibraryUnload(nullptr), CUDA_SUCCESS); }).join();
  EXPECT_EQ(fake_unloaded(), 2);
  core()->shim->refuse_unloading(false);
  EXPECT_EQ(cuLibraryUnload(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(fake_unloaded(), 3);
}

// Before there is a communicator nobody records anything, but streams are learned.
TEST_F(NoCommunicator, StreamsOfAContextThatIsGoneAreForgottenToo) {
  stream();
  EXPECT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  const ncclComm_t made = communicator();
  ncclRecv(buffer, 1, ncclInt8, 0, made, stream());
  events();
  cuCtxSynchronize();
  EXPECT_EQ(drains(), 0);
  EXPECT_EQ(fake_dead_streams(), 0);
}

TEST_F(Waits, OnlyTheLastReleaseOfThePrimaryContextEndsIt) {
  CUcontext context = nullptr;
  cuDevicePrimaryCtxRetain(&context, 0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuDevicePrimaryCtxRelease_v2(0);
  EXPECT_EQ(core()->contexts_closed, 0);
  cuDevicePrimaryCtxRelease_v2(0);
  EXPECT_EQ(core()->contexts_closed, 1);
}

TEST_F(Waits, AnotherContextMayBeDestroyed) {
  int other = 0;
  cuCtxDestroy_v2(reinterpret_cast<CUcontext>(&other));
  EXPECT_EQ(core()->contexts_closed, 0);
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  cuCtxDestroy_v2(context);
  EXPECT_EQ(core()->contexts_closed, 1);
}

TEST_F(Waits, AForkedChildIsAPassThrough) {
  const std::size_t before = fake_enqueued(transfer);
  const pid_t child = fork();
  if (child == 0) {
    const bool fine = ncclRecv(buffer, 1, ncclInt8, 0, c, transfer) == ncclSuccess && events().empty() &&
                      fake_enqueued(transfer) == before + 2;
    _exit(fine ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  receive();
}

// A thread that is cancelled inside the core would have to be unwound through it.
TEST_F(Waits, NoCallIntoTheCoreIsCutShort) {
  const ncclComm_t other = communicator();
  fake_fail_allocations(1);
  CUdeviceptr memory = 0;
  cuMemAlloc_v2(&memory, 16);
  ncclCommDestroy(other);
  cuDevicePrimaryCtxReset_v2(0);
  EXPECT_EQ(core()->rescues, 1);
  EXPECT_EQ(core()->contexts_closed, 1);
  EXPECT_FALSE(core()->cancellable);
}

}  // namespace
