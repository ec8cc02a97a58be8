// The shim's notes about communicators that are finalized, destroyed and aborted.
#include <algorithm>
#include <thread>
#include <vector>

#include "tests/shim/shim_fixture.h"

namespace {

class Closing : public ShimTest {};

// NCCL waits for the operations in the call that destroys; an abort ends them.
TEST_F(Closing, ClosingTellsTheCoreOnceAfterADestructionAndBeforeAnAbort) {
  static int closed_in_call = 0;
  const auto in_call = [this](ncclResult_t (*close)(ncclComm_t)) {
    const ncclComm_t c = communicator();
    fake_nccl_in_close([] { closed_in_call = core()->closed; });
    const int before = core()->closed;
    close(c);
    fake_nccl_in_close(nullptr);
    EXPECT_EQ(core()->closed, before + 1);
    EXPECT_EQ(core()->last_closed, core()->last_opened.id);
    return closed_in_call - before;
  };
  EXPECT_EQ(in_call(&ncclCommDestroy), 0);
  EXPECT_EQ(in_call(&ncclCommFinalize), 0);
  EXPECT_EQ(in_call(&ncclCommAbort), 1);
}

TEST_F(Closing, WhatAGroupDestroysIsClosedAtItsEnd) {
  const ncclComm_t c[2] = {communicator(), communicator()};
  for (const bool launches : {true, false}) {
    const int before = core()->closed;
    ncclGroupStart();
    ncclGroupStart();
    ncclCommDestroy(c[launches]);
    ncclGroupEnd();
    EXPECT_EQ(core()->closed, before);
    if (launches)
      ncclGroupEnd();
    else
      ncclGroupSimulateEnd(nullptr);
    EXPECT_EQ(core()->closed, before + 1);
  }
}

TEST_F(Closing, MoreThanFitIntoAGroupAreClosedAtOnce) {
  std::vector<ncclComm_t> all;
  for (int i = 0; i < 70; ++i) all.push_back(communicator());
  ncclGroupStart();
  for (const ncclComm_t one : all) ncclCommDestroy(one);
  EXPECT_EQ(core()->closed, 6);
  ncclGroupEnd();
  EXPECT_EQ(core()->closed, 70);
}

TEST_F(Closing, WhatIsFinalizedIsClosedOnce) {
  const ncclComm_t c = communicator();
  events();
  ncclCommFinalize(c);
  ncclCommDestroy(c);
  EXPECT_EQ(core()->closed, 1);
  EXPECT_TRUE(events().empty()) << "what it has launched goes on";
}

TEST_F(Closing, WhatDoesNotBlockIsClosedWhenItHasFinalizedOrIsDestroyed) {
  for (const bool asks : {true, false}) {
    const ncclComm_t c = open_non_blocking();
    const int before = core()->closed;
    EXPECT_EQ(ncclCommFinalize(c), ncclInProgress);
    ncclResult_t progress = ncclInProgress;
    ncclCommGetAsyncError(c, &progress);
    EXPECT_EQ(core()->closed, before);
    fake_nccl_proceed(c);
    if (asks) ncclCommGetAsyncError(c, &progress);
    EXPECT_EQ(core()->closed, before + (asks ? 1 : 0));
    ncclCommDestroy(c);
    EXPECT_EQ(core()->closed, before + 1);
  }
}

TEST_F(Closing, ADestroyedCommunicatorsHandleCanComeBackBeforeTheCallReturns) {
  static ncclComm_t next = nullptr;
  const ncclComm_t c = communicator();
  fake_nccl_in_close([] { std::thread([] { ncclCommInitRank(&next, 2, ncclUniqueId{}, 0); }).join(); });
  ncclCommDestroy(c);
  fake_nccl_in_close(nullptr);
  ASSERT_EQ(next, c);
  EXPECT_EQ(core()->opened, 2);
  EXPECT_EQ(core()->closed, 1);
  EXPECT_EQ(core()->last_closed, 1u);
  events();
  ncclRecv(buffer, 1, ncclInt8, 0, next, stream());
  const auto seen = events();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].communicator, 2u);
}

// NCCL has launched what it had when it accepts to finalize, and then waits for more than that.
TEST_F(Closing, WhatIsLeftUnfinishedIsMarkedDoneWhenItsCommunicatorFinalizes) {
  const ncclComm_t c = open_non_blocking();
  const CUstream s = stream();
  ncclRecv(buffer, 1, ncclInt8, 1, c, s);
  const weft::Ticket done = events().at(0).done_ticket;
  fake_nccl_proceed(c);
  ncclCommFinalize(c);
  EXPECT_FALSE(reached(done));
  fake_release(s);
  EXPECT_TRUE(reached(done));
}

TEST_F(Closing, WhatFinalizesIsNotRevoked) {
  const ncclComm_t c = open_non_blocking();
  ncclCommFinalize(c);
  ncclCommRevoke(c, 0);
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(core()->closed, 0);
}

// In a group NCCL takes it up at the group's end.
TEST_F(Closing, WhatIsFinalizedInAGroupIsClosedLater) {
  const ncclComm_t c = communicator();
  ncclGroupStart();
  ncclCommFinalize(c);
  ncclGroupEnd();
  EXPECT_EQ(core()->closed, 0);
  ncclCommDestroy(c);
  EXPECT_EQ(core()->closed, 1);
}

TEST_F(Closing, WhatNcclDoesNotFinalizeStaysOpen) {
  const ncclComm_t c = communicator();
  const CUstream s = stream();
  events();
  fake_nccl_refuse(ncclInvalidArgument);
  EXPECT_EQ(ncclCommFinalize(c), ncclInvalidArgument);
  fake_nccl_refuse(ncclSuccess);
  EXPECT_EQ(core()->closed, 0);
  ncclRecv(buffer, 1, ncclInt8, 0, c, s);
  EXPECT_EQ(events().size(), 1u);
}

TEST_F(Closing, WhatIsAbortedWhileItFinalizesIsOver) {
  const ncclComm_t c = open_non_blocking();
  ncclCommFinalize(c);
  ncclCommAbort(c);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::communicator_aborted});
  EXPECT_EQ(core()->closed, 1);
}

// Programs destroy a communicator with work on the device: the call itself waits for it, or does not.
TEST_F(Closing, WhatADestroyedCommunicatorHasLaunchedIsPendingUntilItEnds) {
  for (const auto close : {&ncclCommFinalize, &ncclCommDestroy}) {
    const ncclComm_t c = communicator();
    const CUstream s = stream();
    events();
    ncclRecv(buffer, 1, ncclInt8, 0, c, s);
    const weft::Ticket done = events().at(0).done_ticket;
    close(c);
    EXPECT_EQ(std::ranges::count(kinds(events()), EventKind::communicator_aborted), 0);
    EXPECT_FALSE(reached(done));
    fake_release(s);
    EXPECT_TRUE(reached(done));
  }
}

TEST_F(Closing, WhatAnAbortedCommunicatorHasIsOver) {
  const ncclComm_t c = communicator();
  events();
  ncclCommAbort(c);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::communicator_aborted});
}

TEST_F(Closing, ADestroyedCommunicatorsHandleCanComeBack) {
  for (int i = 0; i < 1000; ++i) ncclCommAbort(communicator());
  EXPECT_EQ(core()->opened, 1000);
  EXPECT_EQ(core()->closed, 1000);
}

}  // namespace
