// Contexts that are destroyed or reset, and their streams.
#include "tests/shim/shim_fixture.h"

namespace {

class Contexts : public ReceivingJob {};
class NoCommunicator : public ShimTest {};

TEST_F(Contexts, AContextThatGoesAwayStopsTheMarkers) {
  EXPECT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(core()->contexts_closed, 1);
  EXPECT_EQ(kinds(events()), Kinds(3, EventKind::stream_destroyed));  // the legacy one, too
  ncclRecv(buffer, 1, ncclInt8, 0, c, stream());
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(core()->contexts_closed, 1);
}

// It may keep words that are gone with the context.
TEST_F(Contexts, TheCoreIsToldAlsoWhenNoCommunicatorIsOpen) {
  ncclCommDestroy(c);
  EXPECT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(core()->contexts_closed, 1);
  EXPECT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(core()->contexts_closed, 1);
}

TEST_F(Contexts, StreamsOfAContextThatIsGoneAreNeverUsedAgain) {
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

TEST_F(Contexts, StreamsOfAnotherContextOfTheDeviceGoWithIt) {
  fake_set_context(2);
  stream();
  fake_set_context(0);
  receive();
  EXPECT_EQ(streams_to_ask(), 4);
  events();
  EXPECT_EQ(cuCtxDestroy_v2(fake_context(2)), CUDA_SUCCESS);
  EXPECT_EQ(core()->contexts_closed, 0);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::stream_destroyed});
  EXPECT_EQ(streams_to_ask(), 3);
  EXPECT_EQ(fake_dead_streams(), 0);
}

// Before there is a communicator nobody records anything, but streams are learned.
TEST_F(NoCommunicator, StreamsOfAContextThatIsGoneAreForgottenToo) {
  stream();
  EXPECT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  const ncclComm_t made = communicator();
  ncclRecv(buffer, 1, ncclInt8, 0, made, stream());
  EXPECT_EQ(streams_to_ask(), 2);
  EXPECT_EQ(fake_dead_streams(), 0);
}

TEST_F(Contexts, OnlyTheLastReleaseOfThePrimaryContextEndsIt) {
  CUcontext context = nullptr;
  cuDevicePrimaryCtxRetain(&context, 0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuDevicePrimaryCtxRelease_v2(0);
  EXPECT_EQ(core()->contexts_closed, 0);
  cuDevicePrimaryCtxRelease_v2(0);
  EXPECT_EQ(core()->contexts_closed, 1);
}

TEST_F(Contexts, AnotherContextMayBeDestroyed) {
  int other = 0;
  cuCtxDestroy_v2(reinterpret_cast<CUcontext>(&other));
  EXPECT_EQ(core()->contexts_closed, 0);
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  cuCtxDestroy_v2(context);
  EXPECT_EQ(core()->contexts_closed, 1);
}

}  // namespace
