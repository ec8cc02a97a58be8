// Stream captures: noted, balanced, and nothing of ours gets into one.
#include "tests/shim/shim_fixture.h"

namespace {

class Captures : public ReceivingJob {};

TEST_F(Captures, ACapturingStreamGetsNoMarker) {
  receive();
  ASSERT_EQ(cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  cuStreamWaitEvent(compute, arrived, 0);
  ncclRecv(buffer, 1, ncclInt8, 0, c, compute);
  cuCtxSynchronize();
  ASSERT_EQ(cuStreamEndCapture(compute, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(kinds(events()), (Kinds{EventKind::capture_begun, EventKind::host_wait_begun, EventKind::host_wait_ended,
                                    EventKind::capture_ended}));
  EXPECT_EQ(fake_enqueued(compute), 0u);
  cuStreamWaitEvent(compute, arrived, 0);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::wait_issued});
}

TEST_F(Captures, CapturesThatDoNotBeginOrEndAreBalanced) {
  EXPECT_EQ(cuStreamEndCapture(compute, nullptr), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_TRUE(events().empty());
  cuStreamBeginCapture_v2_ptsz(compute, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(cuStreamBeginCapture(compute), CUDA_ERROR_ILLEGAL_STATE);
  cuStreamEndCapture_ptsz(compute, nullptr);
  EXPECT_EQ(kinds(events()), (Kinds{EventKind::capture_begun, EventKind::capture_begun, EventKind::capture_ended,
                                    EventKind::capture_ended}));
}

TEST_F(Captures, NoStreamIsAskedWhileOneCaptures) {
  cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_FALSE(core()->shim->is_idle(0));
  EXPECT_EQ(ask(1), StreamAnswer::unknown);
  EXPECT_EQ(ask(2), StreamAnswer::unknown);
  EXPECT_EQ(fake_broken_captures(), 0);
  CUgraph graph = nullptr;
  cuStreamEndCapture(compute, &graph);
  EXPECT_TRUE(core()->shim->is_idle(0));
}

TEST_F(Captures, OneWhoseStreamIsDestroyedIsOver) {
  cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_RELAXED);
  events();
  cuStreamDestroy_v2(compute);
  EXPECT_EQ(kinds(events()), (Kinds{EventKind::capture_ended, EventKind::stream_destroyed}));
  EXPECT_TRUE(core()->shim->is_idle(0)) << "no stream may be asked";
}

TEST_F(Captures, OneThatAnotherStreamBeganGoesOnWithoutAStreamThatJoinedIt) {
  cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_RELAXED);
  const CUevent forked = event();
  cuEventRecord(forked, compute);
  cuStreamWaitEvent(transfer, forked, 0);
  events();
  cuStreamDestroy_v2(transfer);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::stream_destroyed});
  EXPECT_FALSE(core()->shim->is_idle(0));
  cuStreamEndCapture(compute, nullptr);
  EXPECT_TRUE(core()->shim->is_idle(0));
}

TEST_F(Captures, OneWhoseContextGoesIsOver) {
  cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_RELAXED);
  cuDevicePrimaryCtxReset_v2(0);
  EXPECT_TRUE(core()->shim->is_idle(0));
}

// A wait for an event of a capture makes the waiting stream a part of it: no marker may go into the graph.
TEST_F(Captures, AStreamThatAWaitMakesCaptureGetsNoMarker) {
  receive();
  fake_block(compute);
  cuStreamWaitEvent(compute, arrived, 0);  // compute has a marked wait that is not over
  cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_RELAXED);
  const CUevent forked = event();
  cuEventRecord(forked, compute);
  events();
  const CUstream other = stream();
  const std::size_t before = fake_enqueued(other);
  cuStreamWaitEvent(other, forked, 0);
  EXPECT_TRUE(events().empty());
  EXPECT_LE(fake_enqueued(other), before + 1);
  cuStreamEndCapture(compute, nullptr);
}

}  // namespace
