// Graphs that wait for events or record them: their launches are waits where communication may hold them up, whatever
// way the events came into them.
#include "tests/shim/shim_fixture.h"

namespace {

using weft::InGraph;

class GraphEvents : public ReceivingJob {
 protected:
  void SetUp() override {
    ReceivingJob::SetUp();
    graph_stream = stream();
  }
  // A graph that waits for the event.
  CUgraph capture(CUevent event, unsigned int flags = CU_EVENT_WAIT_EXTERNAL) {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(compute, event, flags), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamEndCapture(compute, &graph), CUDA_SUCCESS);
    return graph;
  }
  CUgraph capture_record(CUevent event) {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(cuEventRecordWithFlags(event, compute, CU_EVENT_RECORD_EXTERNAL), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamEndCapture(compute, &graph), CUDA_SUCCESS);
    return graph;
  }
  static CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec made = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&made, graph, 0), CUDA_SUCCESS);
    return made;
  }
  // A receive that is not over, and `arrived` behind it.
  weft::Ticket pending() {
    events();
    ncclRecv(buffer, 1, ncclInt8, 0, c, transfer);
    cuEventRecord(arrived, transfer);
    return events().at(0).done_ticket;
  }
  // The launch as it was noted; kind none: a launch like any other.
  weft::Event launch(CUgraphExec graph) {
    const std::size_t before = fake_enqueued(graph_stream);
    events();
    EXPECT_EQ(cuGraphLaunch(graph, graph_stream), CUDA_SUCCESS);
    const auto seen = events();
    EXPECT_LE(seen.size(), 1u);
    EXPECT_EQ(fake_enqueued(graph_stream), before + 2 * seen.size());
    return seen.empty() ? weft::Event{} : seen.front();
  }
  bool waits(CUgraphExec graph) { return launch(graph).kind == EventKind::wait_issued; }
  CUgraph other_graph(int number) { return reinterpret_cast<CUgraph>(buffer + number); }

  CUstream graph_stream = nullptr;
};

TEST_F(GraphEvents, ALaunchIsAWaitWhileTheEventStandsForAPendingReceive) {
  const CUgraphExec step = instantiate(capture(arrived));
  EXPECT_FALSE(waits(step)) << "never recorded";
  const weft::Ticket place = pending();
  const weft::Event wait = launch(step);
  ASSERT_EQ(wait.kind, EventKind::wait_issued);
  EXPECT_EQ(wait.in_graph, InGraph::somewhere);
  EXPECT_EQ(wait.awaited.ticket, place);
  EXPECT_NE(wait.awaited.stream, wait.stream);
  EXPECT_TRUE(reached(wait.ticket) && reached(wait.done_ticket)) << "the fake driver does not run graphs";
  fake_release(transfer);
  ASSERT_TRUE(reached(place));
  EXPECT_FALSE(waits(step)) << "it is over";
}

TEST_F(GraphEvents, AWaitThatTheGraphBeginsWithIsKnownToBeThat) {
  fake_set_root_wait(arrived);
  const CUgraphExec step = instantiate(capture(arrived));
  pending();
  EXPECT_EQ(launch(step).in_graph, InGraph::at_its_head);
  const CUevent another = event();
  cuGraphExecEventWaitNodeSetEvent(step, nullptr, another);
  EXPECT_EQ(launch(step).in_graph, InGraph::somewhere);
}

// The fake driver names the graph after the stream. The first one may have been lost with a capture that failed.
TEST_F(GraphEvents, ANewCaptureHoldsNothingOfAGraphThatHadItsHandle) {
  const CUgraph before = capture(arrived);
  CUgraph graph = nullptr;
  cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_RELAXED);
  cuStreamEndCapture(compute, &graph);
  ASSERT_EQ(graph, before);
  pending();
  EXPECT_FALSE(waits(instantiate(graph)));
}

// A graph that was launched may take notice of the later record.
TEST_F(GraphEvents, AnEventThatMovesWhileAGraphWaitsForItIsTold) {
  fake_set_root_wait(arrived);
  const CUgraphExec step = instantiate(capture(arrived));
  pending();
  EXPECT_EQ(launch(step).in_graph, InGraph::at_its_head);
  events();
  cuEventRecord(arrived, transfer);
  EXPECT_EQ(kinds(events()), Kinds{}) << "on the stream where it was";
  const CUstream another = stream();
  cuEventRecord(arrived, another);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::graph_wait_moved});
  cuEventRecord(arrived, another);
  EXPECT_EQ(kinds(events()), Kinds{}) << "it stands for nothing any more";
}

// Where no graph begins with a wait nobody looks: graphs that came and went must not leave that wrong.
TEST_F(GraphEvents, WhatGraphsWaitForFirstComesAndGoesWithThem) {
  fake_set_root_wait(arrived);
  const CUgraph graph = capture(arrived);
  const auto moved = [&] {
    pending();
    events();
    cuEventRecord(arrived, stream());
    return kinds(events());
  };
  for (int round = 0; round < 3; ++round) {
    const CUgraphExec step = instantiate(graph), other = instantiate(graph);
    EXPECT_EQ(moved(), Kinds{EventKind::graph_wait_moved});
    for (int twice = 0; twice < 2; ++twice) cuGraphExecEventWaitNodeSetEvent(step, nullptr, event());
    cuGraphExecDestroy(step);
    if (other != step) {
      EXPECT_EQ(moved(), Kinds{EventKind::graph_wait_moved}) << "the other one still begins with it";
      cuGraphExecDestroy(other);
    }
    EXPECT_EQ(moved(), Kinds{});
  }
}

// The wait may be for both, or for either.
TEST_F(GraphEvents, WaitsForSeveralPlacesAreForAnyStream) {
  const CUevent another = event();
  const CUstream second = stream();
  fake_set_root_wait(arrived);
  const CUgraph graph = capture(arrived);
  cuGraphAddEventWaitNode(nullptr, graph, nullptr, 0, another);
  const CUgraphExec step = instantiate(graph);
  pending();
  EXPECT_EQ(launch(step).in_graph, InGraph::at_its_head) << "the other one stands for nothing";
  ncclRecv(buffer, 1, ncclInt8, 0, c, second);
  cuEventRecord(another, second);
  const weft::Event wait = launch(step);
  EXPECT_EQ(wait.in_graph, InGraph::somewhere);
  EXPECT_EQ(wait.awaited.stream, weft::every_stream);
}

TEST_F(GraphEvents, MoreEventsThanAreKeptAreAnyEvents) {
  const CUgraph graph = capture(event());
  for (int i = 0; i < 8; ++i) cuGraphAddEventWaitNode(nullptr, graph, nullptr, 0, event());
  const CUgraphExec step = instantiate(graph);
  EXPECT_FALSE(waits(step));
  pending();
  const weft::Event wait = launch(step);
  EXPECT_EQ(wait.kind, EventKind::wait_issued);
  EXPECT_EQ(wait.awaited.stream, weft::every_stream);
}

TEST_F(GraphEvents, ClonesChildrenUpdatesAndNodesWaitToo) {
  const CUgraph graph = capture(arrived);
  pending();
  CUgraph clone = nullptr;
  cuGraphClone(&clone, graph);
  EXPECT_TRUE(waits(instantiate(clone)));
  cuGraphAddChildGraphNode(nullptr, other_graph(0), nullptr, 0, clone);
  EXPECT_TRUE(waits(instantiate(other_graph(0))));
  const CUgraphExec updated = instantiate(other_graph(1));
  EXPECT_FALSE(waits(updated));
  cuGraphExecUpdate_v2(updated, graph, nullptr);
  EXPECT_TRUE(waits(updated));
  cuGraphExecUpdate_v2(updated, other_graph(1), nullptr);
  EXPECT_FALSE(waits(updated));
  CUgraphNodeParams node{};
  node.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  node.eventWait.event = arrived;
  cuGraphAddNode_v2(nullptr, other_graph(2), nullptr, nullptr, 0, &node);
  EXPECT_TRUE(waits(instantiate(other_graph(2))));
  cuGraphDestroy(other_graph(2));
  EXPECT_FALSE(waits(instantiate(other_graph(2))));
  cuGraphDestroy(graph);  // the fake driver gives its handle again
  const CUgraph changed = capture(event());
  EXPECT_FALSE(waits(instantiate(changed)));
  cuGraphEventWaitNodeSetEvent(nullptr, arrived);
  EXPECT_TRUE(waits(instantiate(changed)));
}

TEST_F(GraphEvents, ALaunchIntoACapture) {
  const CUgraphExec step = instantiate(capture(arrived));
  CUgraph outer = nullptr;
  cuStreamBeginCapture_v2(graph_stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  cuGraphLaunch(step, graph_stream);
  cuStreamEndCapture(graph_stream, &outer);
  pending();
  EXPECT_TRUE(waits(instantiate(outer)));
}

// Whoever waits for it waits for what it was recorded behind before, or for the graph, which nothing holds up.
TEST_F(GraphEvents, AnEventThatAGraphRecordsMayStandForWhatItDid) {
  const CUgraphExec records = instantiate(capture_record(arrived));
  const weft::Ticket place = pending();
  EXPECT_FALSE(waits(records));
  cuStreamWaitEvent(stream(), arrived, 0);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_EQ(seen[0].awaited.ticket, place);
  fake_release(transfer);
  EXPECT_FALSE(waits(records));
  cuStreamWaitEvent(stream(), arrived, 0);
  EXPECT_EQ(kinds(events()), Kinds{});
}

TEST_F(GraphEvents, AnEventThatAWaitingGraphRecordsStandsForThePlaceBehindTheLaunch) {
  const CUevent computed = event();
  const CUgraph graph = capture(arrived);
  cuGraphAddEventRecordNode(nullptr, graph, nullptr, 0, computed);
  const CUgraphExec step = instantiate(graph);
  fake_block(graph_stream);
  pending();
  const weft::Event first = launch(step);
  cuStreamWaitEvent(stream(), computed, 0);
  auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_EQ(seen[0].awaited.stream, first.stream);
  EXPECT_EQ(seen[0].awaited.ticket, first.done_ticket);
  pending();
  const weft::Event second = launch(step);
  cuStreamWaitEvent(stream(), computed, 0);
  seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_EQ(seen[0].awaited.ticket, second.done_ticket) << "of one stream it is the later place";
  const CUstream third = stream();
  fake_block(third);
  pending();
  cuGraphLaunch(step, third);
  cuStreamWaitEvent(stream(), computed, 0);
  seen = events();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::wait_issued, EventKind::wait_issued}));
  EXPECT_EQ(seen[1].awaited.stream, weft::every_stream) << "one of two places";
}

}  // namespace
