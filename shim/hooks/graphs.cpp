// The hooks of calls that make graphs of other graphs, give them nodes, or end them: NCCL operations that were captured
// and events that nodes wait for or record are in the graphs that come of it (main_job/noted_graphs.h,
// main_job/graph_events.h). Any thread of the main job. Nothing is noted before there was an operation or such a node,
// but for the bodies of conditional nodes.
#include "shim/caller.h"
#include "shim/main_job/graph_events.h"
#include "shim/main_job/memory_rescue.h"
#include "shim/main_job/noted_graphs.h"
#include "shim/routing/real.h"

using namespace weft;

extern "C" {

CUresult cuGraphInstantiate(CUgraphExec* made, CUgraph graph, CUgraphNode* node, char* log, size_t size) {
  const auto call = real<Symbol::cuGraphInstantiate>();
  const CUresult result =
      with_rescue(current_device, unknown_bytes, [=] { return call(made, graph, node, log, size); });
  if (result == CUDA_SUCCESS && made != nullptr) executable_made_of(*made, graph);
  return result;
}

CUresult cuGraphInstantiate_v2(CUgraphExec* made, CUgraph graph, CUgraphNode* node, char* log, size_t size) {
  const auto call = real<Symbol::cuGraphInstantiate_v2>();
  const CUresult result =
      with_rescue(current_device, unknown_bytes, [=] { return call(made, graph, node, log, size); });
  if (result == CUDA_SUCCESS && made != nullptr) executable_made_of(*made, graph);
  return result;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph graph, unsigned long long flags) {
  const auto call = real<Symbol::cuGraphInstantiateWithFlags>();
  const CUresult result = with_rescue(current_device, unknown_bytes, [=] { return call(made, graph, flags); });
  if (result == CUDA_SUCCESS && made != nullptr) executable_made_of(*made, graph);
  return result;
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* made, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  const auto call = real<Symbol::cuGraphInstantiateWithParams>();
  const CUresult result = with_rescue(current_device, unknown_bytes, [=] { return call(made, graph, parameters); });
  if (result == CUDA_SUCCESS && made != nullptr) executable_made_of(*made, graph);
  return result;
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* made, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  const auto call = real<Symbol::cuGraphInstantiateWithParams_ptsz>();
  const CUresult result = with_rescue(current_device, unknown_bytes, [=] { return call(made, graph, parameters); });
  if (result == CUDA_SUCCESS && made != nullptr) executable_made_of(*made, graph);
  return result;
}

CUresult cuGraphExecUpdate(CUgraphExec made, CUgraph graph, CUgraphNode* node, CUgraphExecUpdateResult* why) {
  const CUresult result = real<Symbol::cuGraphExecUpdate>()(made, graph, node, why);
  if (result == CUDA_SUCCESS) executable_made_of(made, graph);
  return result;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec made, CUgraph graph, CUgraphExecUpdateResultInfo* why) {
  const CUresult result = real<Symbol::cuGraphExecUpdate_v2>()(made, graph, why);
  if (result == CUDA_SUCCESS) executable_made_of(made, graph);
  return result;
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec made, CUgraphNode node, CUgraph child) {
  const CUresult result = real<Symbol::cuGraphExecChildGraphNodeSetParams>()(made, node, child);
  if (result == CUDA_SUCCESS) graph_contains(made, child);
  return result;
}

CUresult cuGraphExecNodeSetParams(CUgraphExec made, CUgraphNode node, CUgraphNodeParams* parameters) {
  const CUresult result = real<Symbol::cuGraphExecNodeSetParams>()(made, node, parameters);
  if (result == CUDA_SUCCESS && learning()) node_changed(made, parameters);
  return result;
}

CUresult cuGraphClone(CUgraph* made, CUgraph graph) {
  const CUresult result = real<Symbol::cuGraphClone>()(made, graph);
  if (result == CUDA_SUCCESS) graph_made_of(*made, graph);
  return result;
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                  CUgraph child) {
  const CUresult result = real<Symbol::cuGraphAddChildGraphNode>()(node, graph, before, count, child);
  if (result == CUDA_SUCCESS) graph_contains(graph, child);
  return result;
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                        CUgraphNodeParams* parameters) {
  const CUresult result = real<Symbol::cuGraphAddNode>()(node, graph, before, count, parameters);
  if (result == CUDA_SUCCESS && learning()) node_added(graph, parameters);
  return result;
}

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, const CUgraphEdgeData* edges,
                           size_t count, CUgraphNodeParams* parameters) {
  const CUresult result = real<Symbol::cuGraphAddNode_v2>()(node, graph, before, edges, count, parameters);
  if (result == CUDA_SUCCESS && learning()) node_added(graph, parameters);
  return result;
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* parameters) {
  const CUresult result = real<Symbol::cuGraphNodeSetParams>()(node, parameters);
  if (result == CUDA_SUCCESS && learning()) node_changed(parameters);
  return result;
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                   CUevent event) {
  const CUresult result = real<Symbol::cuGraphAddEventRecordNode>()(node, graph, before, count, event);
  if (result == CUDA_SUCCESS && learning()) event_node_added(graph, event, EventNode::records);
  return result;
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                 CUevent event) {
  const CUresult result = real<Symbol::cuGraphAddEventWaitNode>()(node, graph, before, count, event);
  if (result == CUDA_SUCCESS && learning()) event_node_added(graph, event, EventNode::waits);
  return result;
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  const CUresult result = real<Symbol::cuGraphEventRecordNodeSetEvent>()(node, event);
  if (result == CUDA_SUCCESS && learning()) event_node_changed(event, EventNode::records);
  return result;
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  const CUresult result = real<Symbol::cuGraphEventWaitNodeSetEvent>()(node, event);
  if (result == CUDA_SUCCESS && learning()) event_node_changed(event, EventNode::waits);
  return result;
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec made, CUgraphNode node, CUevent event) {
  const CUresult result = real<Symbol::cuGraphExecEventRecordNodeSetEvent>()(made, node, event);
  if (result == CUDA_SUCCESS && learning()) event_node_changed(made, event, EventNode::records);
  return result;
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec made, CUgraphNode node, CUevent event) {
  const CUresult result = real<Symbol::cuGraphExecEventWaitNodeSetEvent>()(made, node, event);
  if (result == CUDA_SUCCESS && learning()) event_node_changed(made, event, EventNode::waits);
  return result;
}

CUresult cuGraphDestroy(CUgraph graph) {
  const auto call = real<Symbol::cuGraphDestroy>();
  graph_gone(graph);
  return call(graph);
}

CUresult cuGraphExecDestroy(CUgraphExec graph) {
  const auto call = real<Symbol::cuGraphExecDestroy>();
  graph_gone(graph);
  return call(graph);
}

}  // extern "C"
