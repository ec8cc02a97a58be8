// The operations of groups as the shim notes them where the core wants them, and the ids of communicators.
#include <string>

#include "shim/seam/ring.h"
#include "tests/shim/push.h"
#include "tests/shim/shim_fixture.h"

namespace {

using weft::IssuedOperation;
using weft::Operation;

class Operations : public ShimTest {
 protected:
  void SetUp() override {
    c = communicator();
    s = stream();
    core()->shim->set_operations_noted(true);
    events();
  }
  // Of all events since the last call, each of which belongs to the group before it.
  static std::vector<IssuedOperation> operations() {
    std::vector<IssuedOperation> found;
    weft::GroupId group = 0;
    weft::TimePoint time{};
    for (const weft::Event& next : events()) {
      if (next.kind == EventKind::group_issued) {
        group = next.group;
        time = next.time;
      }
      if (next.kind != EventKind::operations_issued) continue;
      EXPECT_EQ(next.group, group);
      EXPECT_EQ(next.time, time);
      for (const IssuedOperation& operation : next.operations)
        if (operation.present) found.push_back(operation);
    }
    return found;
  }
  void send(int peer, std::size_t count = 1) {
    EXPECT_EQ(ncclSend(buffer, count, ncclFloat32, peer, c, s), ncclSuccess);
  }
  void receive(int peer) { EXPECT_EQ(ncclRecv(buffer, 1, ncclInt8, peer, c, s), ncclSuccess); }
  ncclComm_t c = nullptr;
  CUstream s = nullptr;
};

TEST_F(Operations, AreNotedBehindTheirGroup) {
  send(2, 10);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::group_issued, EventKind::operations_issued}));
  EXPECT_EQ(seen[1].group, seen[0].group);
  EXPECT_EQ(seen[1].communicator, 1u);
  const IssuedOperation& sent = seen[1].operations[0];
  EXPECT_EQ(sent.kind, Operation::send);
  EXPECT_EQ(sent.peer, 2);
  EXPECT_EQ(sent.bytes, 40u);
  EXPECT_EQ(sent.sequence, 1u);
  EXPECT_TRUE(sent.present);
  EXPECT_FALSE(seen[1].operations[1].present);
}

TEST_F(Operations, AreNotNotedUnlessTheCoreWantsThem) {
  core()->shim->set_operations_noted(false);
  send(2);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::group_issued});
}

TEST_F(Operations, OfAGroupAreCountedOnTheirEdges) {
  for (int turn = 0; turn < 2; ++turn) {
    ncclGroupStart();
    send(0);
    receive(2);
    send(0);
    ncclAllReduce(buffer, buffer, 1, ncclInt8, ncclSum, c, s);
    ncclGroupEnd();
  }
  const auto all = operations();
  ASSERT_EQ(all.size(), 8u);
  const std::uint64_t sequences[] = {1, 1, 2, 1, 3, 2, 4, 2};
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].sequence, sequences[i]) << i;
  EXPECT_EQ(all[1].kind, Operation::receive);
  EXPECT_EQ(all[3].kind, Operation::all_reduce);
  EXPECT_EQ(all[3].peer, -1);
}

TEST_F(Operations, BeyondThoseThatFitAreCountedAllTheSame) {
  ncclGroupStart();
  for (int i = 0; i < 20; ++i) send(0);
  ncclGroupEnd();
  const auto seen = events();
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen[0].summary.sends, 20);
  EXPECT_EQ(seen[4].operations[1].sequence, 8u);
  send(0);
  EXPECT_EQ(operations().at(0).sequence, 21u);
}

// The detector needs the other events; a record says how many of its operations are missing.
TEST_F(Operations, AreLeftOutWhereTheRingIsHalfFull) {
  while (!core()->shim->ring->half_full()) push(*core()->shim->ring, weft::Event{});
  send(0);
  const auto seen = events();
  EXPECT_EQ(seen.size(), weft::EventRing::slot_count / 2 + 2);
  EXPECT_EQ(seen.back().kind, EventKind::group_issued);
  send(0);
  EXPECT_EQ(operations().at(0).sequence, 2u);
  EXPECT_EQ(core()->shim->dropped_events(), 0u);
}

TEST_F(Operations, OfACaptureMakeThoseThatFollowUncounted) {
  send(0);
  EXPECT_EQ(operations().at(0).sequence, 1u);
  const CUstream captured = stream();
  ASSERT_EQ(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ncclSend(buffer, 1, ncclInt8, 0, c, captured);
  ASSERT_EQ(cuStreamEndCapture(captured, nullptr), CUDA_SUCCESS);
  EXPECT_TRUE(operations().empty());
  send(0);
  const auto later = operations();
  ASSERT_EQ(later.size(), 1u);
  EXPECT_EQ(later[0].sequence, 0u);
  const ncclComm_t other = communicator();
  ncclSend(buffer, 1, ncclInt8, 0, other, s);
  EXPECT_EQ(operations().at(0).sequence, 1u);
}

TEST_F(Operations, ThatAreRefusedMakeThoseThatFollowUncounted) {
  fake_nccl_refuse(ncclInvalidArgument);
  EXPECT_EQ(ncclSend(buffer, 1, ncclInt8, 0, c, s), ncclInvalidArgument);
  fake_nccl_refuse(ncclSuccess);
  operations();
  send(0);
  EXPECT_EQ(operations().at(0).sequence, 0u);
}

TEST_F(Operations, OfAGroupThatIsOnlySimulatedMakeThoseThatFollowUncounted) {
  ncclGroupStart();
  send(0);
  ncclGroupSimulateEnd(nullptr);
  send(0);
  EXPECT_EQ(operations().at(0).sequence, 0u);
}

TEST_F(Operations, AreCountedAnewOnACommunicatorOfTheSameAddress) {
  fake_nccl_refuse(ncclInvalidArgument);
  ncclSend(buffer, 1, ncclInt8, 0, c, s);
  fake_nccl_refuse(ncclSuccess);
  send(0);
  EXPECT_EQ(operations().back().sequence, 0u);
  ASSERT_EQ(ncclCommDestroy(c), ncclSuccess);
  c = communicator();
  send(0);
  EXPECT_EQ(operations().at(0).sequence, 1u);
}

class SharedIds : public ShimTest {
 protected:
  static std::uint64_t last_id() { return core()->last_opened.shared_id; }
  static std::string last_name() { return core()->last_opened.name.text; }
};

TEST_F(SharedIds, ComeFromTheUniqueId) {
  ncclUniqueId id{};
  id.internal[5] = 'x';
  ncclComm_t made = nullptr;
  ASSERT_EQ(ncclCommInitRank(&made, 2, id, 0), ncclSuccess);
  const std::uint64_t first = last_id();
  EXPECT_NE(first, 0u);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.commName = "tensor \"1\"";
  ASSERT_EQ(ncclCommInitRankConfig(&made, 2, id, 0, &config), ncclSuccess);
  EXPECT_EQ(last_id(), first);
  EXPECT_EQ(last_name(), "tensor \"1\"");
  communicator();
  EXPECT_NE(last_id(), first);
  EXPECT_EQ(last_name(), "");
}

TEST_F(SharedIds, OfASplitComeFromItsParent) {
  const ncclComm_t parent = communicator();
  const std::uint64_t of_parent = last_id();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.commName = "half";
  ncclComm_t made = nullptr;
  ASSERT_EQ(ncclCommSplit(parent, 1, 0, &made, &config), ncclSuccess);
  const std::uint64_t first = last_id();
  EXPECT_EQ(last_name(), "half");
  ncclGroupStart();
  ASSERT_EQ(ncclCommSplit(parent, 1, 0, &made, nullptr), ncclSuccess);
  ncclGroupEnd();
  EXPECT_EQ(core()->opened, 3);
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, of_parent);
  EXPECT_NE(last_id(), 0u);
  EXPECT_NE(last_id(), first);
}

TEST_F(SharedIds, OfOneProcessAreEqual) {
  ncclComm_t made[2] = {};
  ASSERT_EQ(ncclCommInitAll(made, 1, nullptr), ncclSuccess);
  const std::uint64_t first = last_id();
  EXPECT_NE(first, 0u);
  ASSERT_EQ(ncclCommInitAll(made, 1, nullptr), ncclSuccess);
  EXPECT_NE(last_id(), first);
}

TEST_F(SharedIds, AreNotMadeUp) {
  const ncclComm_t parent = communicator();
  ncclComm_t made = nullptr;
  ASSERT_EQ(ncclCommGrow(parent, 3, nullptr, -1, &made, nullptr), ncclSuccess);
  EXPECT_EQ(core()->opened, 2);
  EXPECT_EQ(last_id(), 0u);
}

}  // namespace
