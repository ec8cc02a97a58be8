// Which streams are known and counted as in use: many, short-lived ones, pools, those of NCCL.
#include <vector>

#include "tests/shim/shim_fixture.h"

namespace {

class Streams : public ReceivingJob {};

TEST_F(Streams, ADestroyedStreamIsForgotten) {
  const CUstream third = stream();
  cuStreamDestroy_v2(third);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::stream_destroyed});
  receive();
  cuCtxSynchronize();
  EXPECT_EQ(kinds(events()), (Kinds{EventKind::host_wait_begun, EventKind::host_wait_ended}));
  EXPECT_EQ(streams_to_ask(), 3);
}

TEST_F(Streams, ManyShortLivedStreamsAreAllKnown) {
  for (int i = 0; i < 5000; ++i) cuStreamDestroy_v2(stream());
  EXPECT_EQ(core()->shim->dropped_events(), 0u);
  EXPECT_EQ(events().size(), 5000u);
}

// A stream that gets only launches is never seen in use: it may be busy, so it is asked as well.
TEST_F(Streams, StreamsThatNothingWasSeenOnAreAskedWhileThereAreFew) {
  for (int i = 0; i < 30; ++i) stream();
  receive();
  EXPECT_EQ(streams_to_ask(), 33);
}

// PyTorch makes 128 streams at once and uses a handful.
TEST_F(Streams, OfAPoolOfStreamsOnlyThoseInUseAreAsked) {
  std::vector<CUstream> pool;
  for (int i = 0; i < 500; ++i) pool.push_back(stream());
  const CUevent mark = event();
  receive();
  cuEventRecord(mark, pool[7]);
  cuStreamWaitEvent(pool[400], arrived, 0);
  events();
  EXPECT_EQ(streams_to_ask(), 4);
  EXPECT_EQ(core()->shim->streams_in_use(0), 4u);  // with the one that the fake NCCL uses itself
  cuStreamDestroy_v2(pool[7]);
  EXPECT_EQ(core()->shim->streams_in_use(0), 3u);
  EXPECT_EQ(core()->shim->full_table(), nullptr);
  EXPECT_EQ(core()->shim->dropped_events(), 0u);
}

// To ask each would take long.
TEST_F(Streams, VeryManyStreamsInUseAreNotAsked) {
  const CUevent mark = event();
  for (int i = 0; i < 300; ++i) cuEventRecord(mark, stream());
  receive();
  EXPECT_EQ(streams_to_ask(), -1);
  EXPECT_EQ(core()->shim->dropped_events(), 0u);
}

TEST_F(Streams, AFullTableIsNamedAndIsNoLoss) {
  for (int i = 0; i < 9000; ++i) stream();
  EXPECT_STREQ(core()->shim->full_table(), "streams");
  EXPECT_EQ(core()->shim->dropped_events(), 0u);
  receive();
}

// A stream of NCCL's that waits for the group holds up whoever shares its hardware queue, like any other.
TEST_F(Streams, StreamsThatNcclUsesItselfAreInUseAndNeverMarked) {
  receive();
  EXPECT_EQ(core()->shim->streams_in_use(0), 2u);  // the group's, and the one that NCCL made for itself
  for (int i = 0; i < 40; ++i) ncclRecv(buffer, 1, ncclInt8, 0, communicator(), transfer);
  EXPECT_EQ(core()->shim->streams_in_use(0), 42u);
  EXPECT_EQ(streams_to_ask(), 3);  // they do not make a pool of the main job's either
  ncclCommDestroy(c);
  EXPECT_EQ(core()->shim->streams_in_use(0), 41u);
  EXPECT_EQ(core()->shim->dropped_events(), 0u);
}

TEST_F(Streams, EveryStreamIsCountedWhoeverMadeIt) {
  const std::uint32_t before = core()->shim->streams_made(0);
  stream();
  receive();  // the fake NCCL makes a stream of its own
  core()->shim->mark_own_thread();
  stream();
  EXPECT_EQ(core()->shim->streams_made(0), before + 3);
}

// On one stream no more than fit are outstanding, see marker_room_test.cpp.
TEST_F(Streams, MoreMarkersThanWordsWhileStreamsAreBlockedAreCounted) {
  for (std::uint32_t i = 0; i < core()->word_count; ++i) {
    if (i % 50 == 0) fake_block(transfer = stream());
    ncclRecv(buffer, 1, ncclInt8, 0, c, transfer);
  }
  EXPECT_GT(core()->shim->dropped_events(), 0u);
  EXPECT_LE(events().size(), core()->word_count / 2);
}

}  // namespace
