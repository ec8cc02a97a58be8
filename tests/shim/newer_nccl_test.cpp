// The hooks of NCCL's newer functions: one-sided operations, collectives with a configuration, communicators that grow
// and are suspended. And communicators that are aborted in normal operation.
#include "tests/shim/shim_fixture.h"

namespace {

using weft::GroupSummary;

class NewerNccl : public ShimTest {
 protected:
  void SetUp() override {
    c = communicator();
    s = stream();
    events();
  }
  // The one group that was issued since the last call.
  GroupSummary group() {
    const auto seen = events();
    EXPECT_EQ(kinds(seen), Kinds{EventKind::group_issued});
    return seen.empty() ? GroupSummary{} : seen[0].summary;
  }
  ncclResult_t put(std::size_t count, int peer) {
    return ncclPutSignal(buffer, count, ncclFloat32, peer, nullptr, 0, 0, 0, 0, c, s);
  }
  ncclResult_t wait_for(std::vector<ncclWaitSignalDesc_t> signals) {
    return ncclWaitSignal(static_cast<int>(signals.size()), signals.data(), c, s);
  }
  ncclComm_t c = nullptr;
  CUstream s = nullptr;
};

TEST_F(NewerNccl, APutIsASendWithItsBytes) {
  ASSERT_EQ(put(10, 3), ncclSuccess);
  const GroupSummary seen = group();
  EXPECT_EQ(seen.sends, 1);
  EXPECT_EQ(seen.send_peer, 3);
  EXPECT_EQ(seen.sent_bytes, 40u);
  EXPECT_EQ(seen.receives, 0);
}

TEST_F(NewerNccl, ASignalIsASendWithoutBytes) {
  ASSERT_EQ(ncclSignal(2, 0, 0, 0, c, s), ncclSuccess);
  const GroupSummary seen = group();
  EXPECT_EQ(seen.sends, 1);
  EXPECT_EQ(seen.send_peer, 2);
  EXPECT_EQ(seen.sent_bytes, 0u);
}

TEST_F(NewerNccl, AWaitForSignalsIsAReceiveUntilTheyAreThere) {
  ASSERT_EQ(wait_for({{1, 2, 0, 0}, {3, 0, 0, 0}}), ncclSuccess);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::group_issued});
  EXPECT_EQ(seen[0].summary.receives, 1);
  EXPECT_EQ(seen[0].summary.receive_peer, 2);
  EXPECT_EQ(seen[0].summary.received_bytes, 0u);
  EXPECT_EQ(seen[0].summary.sends, 0);
  EXPECT_TRUE(reached(seen[0].ticket));
  EXPECT_FALSE(reached(seen[0].done_ticket));
  fake_release(s);
  EXPECT_TRUE(reached(seen[0].done_ticket));
}

TEST_F(NewerNccl, AWaitWithoutSignalsIsPassedOn) {
  fake_nccl_refuse(ncclInvalidArgument);
  EXPECT_EQ(ncclWaitSignal(0, nullptr, c, s), ncclInvalidArgument);
  EXPECT_EQ(ncclWaitSignal(2, nullptr, c, s), ncclInvalidArgument);
  const auto seen = events();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].summary.receive_peer, -1);
  EXPECT_TRUE(reached(seen[1].done_ticket));
}

TEST_F(NewerNccl, OneSidedOperationsBelongToTheOpenGroup) {
  ncclGroupStart();
  put(4, 1);
  ncclSignal(3, 0, 0, 0, c, s);
  wait_for({{1, 2, 0, 0}});
  EXPECT_TRUE(events().empty());
  ncclGroupEnd();
  const GroupSummary seen = group();
  EXPECT_EQ(seen.sends, 2);
  EXPECT_EQ(seen.send_peer, 1);
  EXPECT_EQ(seen.sent_bytes, 16u);
  EXPECT_EQ(seen.receives, 1);
  EXPECT_EQ(seen.receive_peer, 2);
}

TEST_F(NewerNccl, CollectivesWithAConfigurationAreThoseWithoutOne) {
  ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
  const auto same = [&](const char* name, ncclResult_t plain, ncclResult_t configured) {
    EXPECT_EQ(plain, ncclSuccess) << name;
    EXPECT_EQ(configured, ncclSuccess) << name;
    const auto seen = events();
    ASSERT_EQ(kinds(seen), (Kinds{EventKind::group_issued, EventKind::group_issued})) << name;
    EXPECT_EQ(seen[1].summary.collectives, 1) << name;
    EXPECT_EQ(seen[1].summary.collective_bytes, 16u) << name;
    EXPECT_EQ(seen[1].summary.signature, seen[0].summary.signature) << name;
  };
  char* const b = buffer;
  const auto type = ncclFloat32;
  same("AllReduce", ncclAllReduce(b, b, 4, type, ncclSum, c, s),
       ncclAllReduceConfig(b, b, 4, type, ncclSum, c, s, &config));
  same("Reduce", ncclReduce(b, b, 4, type, ncclSum, 2, c, s),
       ncclReduceConfig(b, b, 4, type, ncclSum, 2, c, s, &config));
  same("Broadcast", ncclBroadcast(b, b, 4, type, 2, c, s), ncclBroadcastConfig(b, b, 4, type, 2, c, s, &config));
  same("ReduceScatter", ncclReduceScatter(b, b, 4, type, ncclSum, c, s),
       ncclReduceScatterConfig(b, b, 4, type, ncclSum, c, s, &config));
  same("AllGather", ncclAllGather(b, b, 4, type, c, s), ncclAllGatherConfig(b, b, 4, type, c, s, nullptr));
  same("AlltoAll", ncclAlltoAll(b, b, 4, type, c, s), ncclAlltoAllConfig(b, b, 4, type, c, s, &config));
  same("Gather", ncclGather(b, b, 4, type, 2, c, s), ncclGatherConfig(b, b, 4, type, 2, c, s, &config));
  same("Scatter", ncclScatter(b, b, 4, type, 2, c, s), ncclScatterConfig(b, b, 4, type, 2, c, s, &config));
}

TEST_F(NewerNccl, AGrownCommunicatorIsOpenedAndItsOperationsAreSeen) {
  ncclComm_t grown = nullptr;
  ASSERT_EQ(ncclCommGrow(c, 6, nullptr, -1, &grown, nullptr), ncclSuccess);
  EXPECT_EQ(core()->opened, 2);
  EXPECT_EQ(core()->last_opened.ranks, 6);
  EXPECT_EQ(core()->last_opened.rank, 1);
  ASSERT_EQ(ncclRecv(buffer, 1, ncclInt8, 5, grown, s), ncclSuccess);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::group_issued});
  EXPECT_EQ(seen[0].communicator, 2u);
}

TEST_F(NewerNccl, ARankThatJoinsHasNoParent) {
  const ncclUniqueId id{};
  ncclComm_t joined = nullptr;
  ASSERT_EQ(ncclCommGrow(nullptr, 6, &id, 5, &joined, nullptr), ncclSuccess);
  EXPECT_EQ(core()->opened, 2);
  EXPECT_EQ(core()->last_opened.rank, 5);
}

TEST_F(NewerNccl, ACommunicatorThatGrowsInAGroupOrInTheBackgroundIsOpenedWhenItIsThere) {
  ncclComm_t in_group = nullptr, in_background = nullptr;
  ncclGroupStart();
  ncclCommGrow(c, 6, nullptr, -1, &in_group, nullptr);
  EXPECT_EQ(core()->opened, 1);
  ncclGroupEnd();
  EXPECT_EQ(core()->opened, 2);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ASSERT_EQ(ncclCommGrow(c, 7, nullptr, -1, &in_background, &config), ncclInProgress);
  EXPECT_EQ(core()->opened, 2);
  EXPECT_EQ(fake_nccl_early_questions(), 0);
  fake_nccl_proceed(in_background);
  ncclResult_t progress = ncclInProgress;
  ncclCommGetAsyncError(in_background, &progress);
  EXPECT_EQ(core()->opened, 3);
  EXPECT_EQ(core()->last_opened.ranks, 7);
}

TEST_F(NewerNccl, ASuspendedCommunicatorStaysOpenAndIsSeenAgainWhenItIsResumed) {
  ASSERT_EQ(ncclCommSuspend(c, NCCL_SUSPEND_MEM), ncclSuccess);
  EXPECT_TRUE(events().empty()) << "NCCL's own wait for the device is nobody's";
  EXPECT_EQ(core()->closed, 0);
  ASSERT_EQ(ncclCommResume(c), ncclSuccess);
  EXPECT_EQ(core()->opened, 1) << "it is the same one";
  ASSERT_EQ(ncclRecv(buffer, 1, ncclInt8, 2, c, s), ncclSuccess);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::group_issued});
  EXPECT_EQ(seen[0].communicator, 1u);
}

TEST_F(NewerNccl, ARefusedSuspensionAndResumptionArePassedOn) {
  fake_nccl_refuse(ncclInvalidUsage);
  EXPECT_EQ(ncclCommSuspend(c, NCCL_SUSPEND_MEM), ncclInvalidUsage);
  EXPECT_EQ(ncclCommResume(c), ncclInvalidUsage);
  EXPECT_TRUE(events().empty());
}

// DeepEP makes a communicator for kernels of its own, never calls an operation on it, and aborts it at the end.
TEST_F(NewerNccl, AnAbortWithoutOperationsClosesThatCommunicatorAndNothingElse) {
  ncclRecv(buffer, 1, ncclInt8, 2, c, s);
  const weft::Ticket pending = events().at(0).done_ticket;
  const ncclComm_t other = communicator();
  ASSERT_EQ(ncclCommAbort(other), ncclSuccess);
  EXPECT_EQ(core()->closed, 1);
  EXPECT_EQ(core()->last_closed, 2u);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::communicator_aborted});
  EXPECT_EQ(seen[0].communicator, 2u);
  EXPECT_FALSE(reached(pending)) << "an operation on another communicator is still waited for";
  fake_release(s);
  EXPECT_TRUE(reached(pending));
  ncclRecv(buffer, 1, ncclInt8, 2, c, s);
  EXPECT_EQ(group().receives, 1);
}

}  // namespace
