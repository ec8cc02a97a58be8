// Graphs that hold NCCL operations: their launches are groups, whatever way the operations came into them.
#include "tests/shim/shim_fixture.h"

namespace {

class CapturedSteps : public ReceivingJob {
 protected:
  // A graph with so many receives.
  CUgraph capture(int receives) {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    for (int i = 0; i < receives; ++i) ncclRecv(buffer, 8, ncclInt8, 0, c, compute);
    EXPECT_EQ(cuStreamEndCapture(compute, &graph), CUDA_SUCCESS);
    return graph;
  }
  static CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec made = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&made, graph, 0), CUDA_SUCCESS);
    return made;
  }
  // The launch is announced, with markers on either side of it.
  bool is_step(CUgraphExec graph) {
    const std::size_t before = fake_enqueued(transfer);
    events();
    EXPECT_EQ(cuGraphLaunch(graph, transfer), CUDA_SUCCESS);
    const auto seen = events();
    const bool noted = kinds(seen) == Kinds{EventKind::group_issued};
    EXPECT_EQ(fake_enqueued(transfer), before + (noted ? 2 : 0));
    if (noted) {
      EXPECT_EQ(seen[0].summary.captured, weft::Captured::graph);
      EXPECT_TRUE(reached(seen[0].ticket) && reached(seen[0].done_ticket));
    }
    return noted;
  }
};

TEST_F(CapturedSteps, ALaunchIsAnnouncedAsAGroup) {
  const CUgraphExec step = instantiate(capture(2));
  events();
  cuGraphLaunch(step, transfer);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::group_issued});
  EXPECT_EQ(seen[0].summary.captured, weft::Captured::graph);
  EXPECT_EQ(seen[0].summary.receives, 2);
  EXPECT_EQ(seen[0].communicator, 1u);
  const std::uint64_t signature = seen[0].summary.signature;
  cuGraphLaunch(step, transfer);
  EXPECT_EQ(events().at(0).summary.signature, signature) << "the rhythm is in it";
}

TEST_F(CapturedSteps, GraphsWithoutOperationsAreLaunchesLikeOthers) {
  const CUgraphExec without = instantiate(capture(0));
  EXPECT_FALSE(is_step(without));
  instantiate(capture(1));
  EXPECT_FALSE(is_step(without));
}

TEST_F(CapturedSteps, ClonesChildrenAndUpdatesHoldThemToo) {
  const CUgraph graph = capture(1);
  CUgraph clone = nullptr;
  ASSERT_EQ(cuGraphClone(&clone, graph), CUDA_SUCCESS);
  EXPECT_TRUE(is_step(instantiate(clone)));
  const auto whole = reinterpret_cast<CUgraph>(buffer), body = reinterpret_cast<CUgraph>(buffer + 1);
  cuGraphAddChildGraphNode(nullptr, whole, nullptr, 0, clone);
  EXPECT_TRUE(is_step(instantiate(whole)));
  const auto executable = reinterpret_cast<CUgraphExec>(buffer + 2);
  EXPECT_FALSE(is_step(executable));
  cuGraphExecUpdate_v2(executable, graph, nullptr);
  EXPECT_TRUE(is_step(executable));
  cuGraphExecUpdate_v2(executable, body, nullptr);
  EXPECT_FALSE(is_step(executable));
  cuGraphExecChildGraphNodeSetParams(executable, nullptr, graph);
  EXPECT_TRUE(is_step(executable));
}

// Its body is captured into after the node has been made.
TEST_F(CapturedSteps, ANodeWithABodyHoldsTheOperationsOfTheBody) {
  auto body = reinterpret_cast<CUgraph>(compute);  // as the fake driver names it
  const auto whole = reinterpret_cast<CUgraph>(buffer);
  CUgraphNodeParams node{};
  node.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  node.conditional.size = 1;
  node.conditional.phGraph_out = &body;
  ASSERT_EQ(cuGraphAddNode_v2(nullptr, whole, nullptr, nullptr, 0, &node), CUDA_SUCCESS);
  EXPECT_FALSE(is_step(instantiate(whole)));
  cuStreamBeginCaptureToGraph(compute, body, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED);
  ncclRecv(buffer, 8, ncclInt8, 0, c, compute);
  cuStreamEndCapture(compute, &body);
  EXPECT_TRUE(is_step(instantiate(whole)));
  node = {};
  node.type = CU_GRAPH_NODE_TYPE_GRAPH;
  node.graph.graph = whole;
  const auto parent = reinterpret_cast<CUgraph>(buffer + 1);
  cuGraphAddNode_v2(nullptr, parent, nullptr, nullptr, 0, &node);
  EXPECT_TRUE(is_step(instantiate(parent)));
  cuGraphDestroy(whole);
  EXPECT_FALSE(is_step(instantiate(body))) << "it goes with the graph";
}

TEST_F(CapturedSteps, HandlesThatAreDestroyedMeanNothingAnyMore) {
  const CUgraph graph = capture(1);
  const CUgraphExec step = instantiate(graph);
  cuGraphDestroy(graph);
  EXPECT_FALSE(is_step(instantiate(graph)));
  EXPECT_TRUE(is_step(step));
  cuGraphExecDestroy(step);
  EXPECT_FALSE(is_step(step));
}

// The launch becomes a part of what is captured, and nothing of ours does.
TEST_F(CapturedSteps, ALaunchIntoACapture) {
  const CUgraphExec step = instantiate(capture(1));
  CUgraph outer = nullptr;
  cuStreamBeginCapture_v2(transfer, CU_STREAM_CAPTURE_MODE_RELAXED);
  const std::size_t before = fake_captured(transfer);
  cuGraphLaunch(step, transfer);
  EXPECT_EQ(fake_captured(transfer), before + 1);
  cuStreamEndCapture(transfer, &outer);
  EXPECT_TRUE(is_step(instantiate(outer)));
}

TEST_F(CapturedSteps, MoreGraphsThanThereIsRoomFor) {
  CUgraph clone = nullptr;
  cuGraphClone(&clone, capture(1));
  const auto unknown = reinterpret_cast<CUgraphExec>(buffer);
  EXPECT_FALSE(is_step(unknown));
  for (std::uint64_t handle = 1; handle <= 9000; ++handle)
    cuGraphExecUpdate_v2(reinterpret_cast<CUgraphExec>(handle << 8), clone, nullptr);
  EXPECT_TRUE(is_step(unknown)) << "any graph may be one";
}

}  // namespace
