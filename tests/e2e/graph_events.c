// Two ranks, of which one receives and replays a CUDA graph that waits for that: an event node in it waits for an event
// behind the receive, which is in no graph. Where it has one, a second stream waits for an event that the graph
// records.
//   graph_events head|middle|child|by_hand|set|updated|two|again|records
// head: the wait is the first node. middle: compute comes before it. child: the graph is a child of another one.
// by_hand: the wait is a node that was added, not captured. set, updated: the executable graph waited for another event
// before. two: it waits for two receives. again: the event is recorded behind the next receive while the graph still
// waits; else there are two graphs, in turn, each with an event of its own. records: the graph does not wait, and
// records the event that the receive was followed by; the second stream waits for that, and then for the receive.
#include <stdbool.h>

#include "ranks.h"

enum { ranks = 2, iterations = 24, sent = 1 << 14, sender_us = 2500, before_us = 300, step_us = 600, side_us = 200 };

struct Receiver {
  ncclComm_t communicators[2];
  CUstream main, transfers[2], side;
  CUevent arrived[2];  // of the graph in turn
  CUevent never, computed;
  char* memory;
};

static const char* way;
static bool is(const char* word) {
  return strcmp(way, word) == 0;
}

// The first node of the graph waits for the event.
static CUgraph captured(const struct Receiver* r, CUevent event) {
  CUgraph graph = NULL;
  CHECK(cuStreamBeginCapture(r->main, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  if (is("middle")) compute(r->memory, before_us, r->main);
  if (event != NULL && !is("records")) CHECK(cuStreamWaitEvent(r->main, event, CU_EVENT_WAIT_EXTERNAL));
  if (is("two")) CHECK(cuStreamWaitEvent(r->main, r->arrived[1], CU_EVENT_WAIT_EXTERNAL));
  compute(r->memory, step_us, r->main);
  CHECK(cuEventRecordWithFlags(is("records") ? event : r->computed, r->main, CU_EVENT_RECORD_EXTERNAL));
  CHECK(cuStreamEndCapture(r->main, &graph));
  return graph;
}

static CUgraph inside_another(CUgraph child) {
  CUgraph graph = NULL;
  CUgraphNode node = NULL;
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
  return graph;
}

static CUgraph by_hand(const struct Receiver* r) {
  CUgraph graph = NULL;
  CUgraphNode wait = NULL, rest = NULL;
  CHECK(cuGraphCreate(&graph, 0));
  CHECK(cuGraphAddEventWaitNode(&wait, graph, NULL, 0, r->arrived[0]));
  CHECK(cuGraphAddChildGraphNode(&rest, graph, &wait, 1, captured(r, NULL)));
  return graph;
}

static CUgraphExec make_step(struct Receiver* r) {
  CUgraphExec step = NULL;
  const bool changes = is("set") || is("updated");
  CUgraph graph = is("by_hand") ? by_hand(r) : captured(r, changes ? r->never : r->arrived[0]);
  if (is("child")) graph = inside_another(graph);
  CHECK(cuGraphInstantiate(&step, graph, 0));
  if (is("set")) {
    CUgraphNode root = NULL;
    size_t count = 1;
    CHECK(cuGraphGetRootNodes(graph, &root, &count));
    CHECK(cuGraphExecEventWaitNodeSetEvent(step, root, r->arrived[0]));
  }
  if (is("updated")) {
    CUgraphExecUpdateResultInfo result;
    CHECK(cuGraphExecUpdate(step, captured(r, r->arrived[0]), &result));
  }
  CHECK(cuGraphDestroy(graph));
  return step;
}

static void receive(struct Receiver* r, int which) {
  CHECK(ncclRecv(r->memory + computed_bytes, sent, ncclInt8, 0, r->communicators[which], r->transfers[which]));
  CHECK(cuEventRecord(r->arrived[which], r->transfers[which]));
}

static void receiver(struct Receiver* r) {
  CUevent arrived[2][2];
  CUgraphExec steps[2];
  r->never = make_event();
  r->computed = make_event();
  r->side = make_stream();
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < 2; ++i) arrived[turn][i] = r->arrived[i] = make_event();
    steps[turn] = make_step(r);
  }
  for (int i = 0; i < iterations; ++i) {
    const int turn = is("again") ? 0 : i % 2;
    memcpy(r->arrived, arrived[turn], sizeof r->arrived);
    receive(r, 0);
    if (is("two")) receive(r, 1);
    CHECK(cuGraphLaunch(steps[turn], r->main));
    CHECK(cuStreamWaitEvent(r->side, is("records") ? r->arrived[0] : r->computed, 0));
    compute(r->memory, side_us, r->side);
    if (is("records")) {
      CHECK(cuEventRecord(r->never, r->transfers[0]));
      CHECK(cuStreamWaitEvent(r->side, r->never, 0));
      compute(r->memory, side_us, r->side);
    }
    if (i % 2 == 1) CHECK(cuCtxSynchronize());
  }
}

static void sender(struct Receiver* r) {
  for (int i = 0; i < iterations; ++i)
    for (int which = 0; which < (is("two") ? 2 : 1); ++which) {
      compute(r->memory, sender_us, r->main);
      CHECK(ncclSend(r->memory, sent, ncclInt8, 1, r->communicators[which], r->main));
    }
}

static void rank_main(int rank, void* memory) {
  struct SharedId* const shared = memory;
  struct Receiver r = {0};
  use_device(rank);
  for (int i = 0; i < 2; ++i) r.communicators[i] = make_communicator(&shared[i], ranks, rank);
  r.main = make_stream();
  for (int i = 0; i < 2; ++i) r.transfers[i] = make_stream();
  r.memory = allocate(2 * computed_bytes);
  if (rank == 0)
    sender(&r);
  else
    receiver(&r);
  CHECK(cuCtxSynchronize());
  for (int i = 0; i < 2; ++i) CHECK(ncclCommDestroy(r.communicators[i]));
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  way = arguments[1];
  return run_ranks(ranks, rank_main, shared_memory(2 * sizeof(struct SharedId)));
}
