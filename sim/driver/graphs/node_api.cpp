// The driver API for nodes: adding each kind, reading and changing its parameters. Host threads. Adding a kernel node
// may load the kernel, which waits next to a spinning kernel.
#include <utility>
#include <vector>

#include "api/api.h"
#include "graphs/graph.h"
#include "graphs/node_params.h"

namespace simgpu {
namespace {

CUresult add(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies, std::size_t count, NodeBody body) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const GraphHandle* const graph = find_graph(handle);
  if (out == nullptr || graph == nullptr || (count != 0 && dependencies == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Node*> before;
  for (std::size_t index = 0; index < count; ++index) {
    Node* const node = find_node(dependencies[index]);
    if (node == nullptr || node->graph != graph->graph.get()) return CUDA_ERROR_INVALID_VALUE;
    before.push_back(node);
  }
  Node* const node = graph->graph->add(std::move(body), before);
  if (node == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = handle_of(node);
  return CUDA_SUCCESS;
}

// A node of that kind.
CUresult find(CUgraphNode handle, CUgraphNodeType type, Node*& node) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  node = find_node(handle);
  return node == nullptr || node->body.type != type ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// Attributes of a kernel node survive a change of its parameters.
void keep_attributes(const NodeBody& from, NodeBody& to) {
  to.priority = from.priority;
  const KernelLaunch& before = *std::get<KernelCommand>(from.command).launch;
  if (!before.cooperative && before.cluster_blocks == 1) return;
  std::shared_ptr<KernelLaunch> launch = copy_launch(*std::get<KernelCommand>(to.command).launch);
  launch->cooperative = before.cooperative;
  launch->cluster_blocks = before.cluster_blocks;
  to.command = KernelCommand{std::move(launch)};
}

CUDA_KERNEL_NODE_PARAMS_v2 widen(const CUDA_KERNEL_NODE_PARAMS_v1& given) {
  return {given.func,      given.gridDimX,       given.gridDimY,     given.gridDimZ, given.blockDimX, given.blockDimY,
          given.blockDimZ, given.sharedMemBytes, given.kernelParams, given.extra,    nullptr,         nullptr};
}

CUresult set_kernel(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS_v2& parameters) {
  Node* node = nullptr;
  if (const CUresult result = find(handle, CU_GRAPH_NODE_TYPE_KERNEL, node); result != CUDA_SUCCESS) return result;
  NodeBody body;
  if (const CUresult result = kernel_body(parameters, body); result != CUDA_SUCCESS) return result;
  keep_attributes(node->body, body);
  node->body = std::move(body);
  return CUDA_SUCCESS;
}

CUresult get_event(CUgraphNode handle, CUgraphNodeType type, CUevent* event) {
  Node* node = nullptr;
  if (const CUresult result = find(handle, type, node); result != CUDA_SUCCESS) return result;
  if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *event = read_event(node->body);
  return CUDA_SUCCESS;
}

CUresult set_event(CUgraphNode handle, CUgraphNodeType type, CUevent event) {
  Node* node = nullptr;
  if (const CUresult result = find(handle, type, node); result != CUDA_SUCCESS) return result;
  return event_body(event, type == CU_GRAPH_NODE_TYPE_EVENT_RECORD, node->body);
}

}  // namespace
}  // namespace simgpu

using namespace simgpu;

SIMGPU_API cuGraphAddKernelNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                   size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v2* nodeParams) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NodeBody body;
  if (const CUresult result = kernel_body(*nodeParams, body); result != CUDA_SUCCESS) return result;
  return add(phGraphNode, hGraph, dependencies, numDependencies, std::move(body));
}

SIMGPU_API cuGraphAddKernelNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS_v2 parameters = widen(*nodeParams);
  return cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies, &parameters);
}

SIMGPU_API cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v2* nodeParams) {
  Node* node = nullptr;
  if (const CUresult result = find(hNode, CU_GRAPH_NODE_TYPE_KERNEL, node); result != CUDA_SUCCESS) return result;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  read_kernel(node->body, *nodeParams);
  return CUDA_SUCCESS;
}

SIMGPU_API cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS_v2 found;
  if (const CUresult result = cuGraphKernelNodeGetParams_v2(hNode, &found); result != CUDA_SUCCESS) return result;
  *nodeParams = {found.func,      found.gridDimX,  found.gridDimY,       found.gridDimZ,     found.blockDimX,
                 found.blockDimY, found.blockDimZ, found.sharedMemBytes, found.kernelParams, found.extra};
  return CUDA_SUCCESS;
}

SIMGPU_API cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v2* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE : set_kernel(hNode, *nodeParams);
}
SIMGPU_API cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE : set_kernel(hNode, widen(*nodeParams));
}

SIMGPU_API cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr, CUkernelNodeAttrValue* value_out) {
  Node* node = nullptr;
  if (const CUresult result = find(hNode, CU_GRAPH_NODE_TYPE_KERNEL, node); result != CUDA_SUCCESS) return result;
  return value_out == nullptr ? CUDA_ERROR_INVALID_VALUE : get_kernel_attribute(node->body, attr, *value_out);
}

SIMGPU_API cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                         const CUkernelNodeAttrValue* value) {
  Node* node = nullptr;
  if (const CUresult result = find(hNode, CU_GRAPH_NODE_TYPE_KERNEL, node); result != CUDA_SUCCESS) return result;
  return value == nullptr ? CUDA_ERROR_INVALID_VALUE : set_kernel_attribute(node->body, attr, *value);
}

SIMGPU_API cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
  Node* to = nullptr;
  Node* from = nullptr;
  if (const CUresult result = find(dst, CU_GRAPH_NODE_TYPE_KERNEL, to); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find(src, CU_GRAPH_NODE_TYPE_KERNEL, from); result != CUDA_SUCCESS) return result;
  keep_attributes(from->body, to->body);
  return CUDA_SUCCESS;
}

SIMGPU_API cuGraphAddMemcpyNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                size_t numDependencies, const CUDA_MEMCPY3D* copyParams, CUcontext ctx) {
  Context* context = nullptr;
  if (const CUresult result = find_context(ctx, context); result != CUDA_SUCCESS) return result;
  if (copyParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NodeBody body;
  if (const CUresult result = copy_body(*copyParams, body); result != CUDA_SUCCESS) return result;
  set_context(body, *context);
  return add(phGraphNode, hGraph, dependencies, numDependencies, std::move(body));
}

SIMGPU_API cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D* nodeParams) {
  Node* node = nullptr;
  if (const CUresult result = find(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, node); result != CUDA_SUCCESS) return result;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  read_copy(node->body, *nodeParams);
  return CUDA_SUCCESS;
}

SIMGPU_API cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D* nodeParams) {
  Node* node = nullptr;
  if (const CUresult result = find(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, node); result != CUDA_SUCCESS) return result;
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE : copy_body(*nodeParams, node->body);
}

SIMGPU_API cuGraphAddMemsetNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS_v1* memsetParams, CUcontext ctx) {
  Context* context = nullptr;
  if (const CUresult result = find_context(ctx, context); result != CUDA_SUCCESS) return result;
  if (memsetParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NodeBody body;
  if (const CUresult result = set_body(*memsetParams, body); result != CUDA_SUCCESS) return result;
  set_context(body, *context);
  return add(phGraphNode, hGraph, dependencies, numDependencies, std::move(body));
}

SIMGPU_API cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS_v1* nodeParams) {
  Node* node = nullptr;
  if (const CUresult result = find(hNode, CU_GRAPH_NODE_TYPE_MEMSET, node); result != CUDA_SUCCESS) return result;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  read_set(node->body, *nodeParams);
  return CUDA_SUCCESS;
}

SIMGPU_API cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS_v1* nodeParams) {
  Node* node = nullptr;
  if (const CUresult result = find(hNode, CU_GRAPH_NODE_TYPE_MEMSET, node); result != CUDA_SUCCESS) return result;
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE : set_body(*nodeParams, node->body);
}

SIMGPU_API cuGraphAddHostNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_HOST_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NodeBody body;
  if (const CUresult result = host_body(nodeParams->fn, nodeParams->userData, body); result != CUDA_SUCCESS)
    return result;
  return add(phGraphNode, hGraph, dependencies, numDependencies, std::move(body));
}

SIMGPU_API cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS_v1* nodeParams) {
  Node* node = nullptr;
  if (const CUresult result = find(hNode, CU_GRAPH_NODE_TYPE_HOST, node); result != CUDA_SUCCESS) return result;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto& command = std::get<HostCommand>(node->body.command);
  *nodeParams = {command.function, command.user_data};
  return CUDA_SUCCESS;
}

SIMGPU_API cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS_v1* nodeParams) {
  Node* node = nullptr;
  if (const CUresult result = find(hNode, CU_GRAPH_NODE_TYPE_HOST, node); result != CUDA_SUCCESS) return result;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return host_body(nodeParams->fn, nodeParams->userData, node->body);
}

SIMGPU_API cuGraphAddChildGraphNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                    size_t numDependencies, CUgraph childGraph) {
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_GRAPH;
  parameters.graph.graph = childGraph;
  NodeBody body;
  if (const CUresult result = body_of(parameters, body); result != CUDA_SUCCESS) return result;
  return add(phGraphNode, hGraph, dependencies, numDependencies, std::move(body));
}

SIMGPU_API cuGraphAddEmptyNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                               size_t numDependencies) {
  return add(phGraphNode, hGraph, dependencies, numDependencies, NodeBody{});
}

SIMGPU_API cuGraphAddEventRecordNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                     size_t numDependencies, CUevent event) {
  NodeBody body;
  if (const CUresult result = event_body(event, true, body); result != CUDA_SUCCESS) return result;
  return add(phGraphNode, hGraph, dependencies, numDependencies, std::move(body));
}
SIMGPU_API cuGraphAddEventWaitNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                   size_t numDependencies, CUevent event) {
  NodeBody body;
  if (const CUresult result = event_body(event, false, body); result != CUDA_SUCCESS) return result;
  return add(phGraphNode, hGraph, dependencies, numDependencies, std::move(body));
}

SIMGPU_API cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  return get_event(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out);
}
SIMGPU_API cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event) {
  return set_event(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}
SIMGPU_API cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  return get_event(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out);
}
SIMGPU_API cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event) {
  return set_event(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

SIMGPU_API cuGraphAddBatchMemOpNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                    size_t numDependencies, const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NodeBody body;
  if (const CUresult result = memory_operations_body(nodeParams->paramArray, nodeParams->count, body);
      result != CUDA_SUCCESS)
    return result;
  return add(phGraphNode, hGraph, dependencies, numDependencies, std::move(body));
}

SIMGPU_API cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  Node* node = nullptr;
  if (const CUresult result = find(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, node); result != CUDA_SUCCESS) return result;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return memory_operations_body(nodeParams->paramArray, nodeParams->count, node->body);
}

SIMGPU_API cuGraphAddNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                             const CUgraphEdgeData* dependencyData, size_t numDependencies,
                             CUgraphNodeParams* nodeParams) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NodeBody body;
  if (const CUresult result = body_of(*nodeParams, body); result != CUDA_SUCCESS) return result;
  // The edges after the node: they may need both ends.
  const CUresult result =
      add(phGraphNode, hGraph, dependencies, dependencyData == nullptr ? numDependencies : 0, std::move(body));
  if (result == CUDA_SUCCESS && dependencyData != nullptr) {
    const std::vector<CUgraphNode> to(numDependencies, *phGraphNode);
    const CUresult connected =
        cuGraphAddDependencies_v2(hGraph, dependencies, to.data(), dependencyData, numDependencies);
    if (connected != CUDA_SUCCESS) {
      cuGraphDestroyNode(*phGraphNode);
      return connected;
    }
  }
  if (result == CUDA_SUCCESS && nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH)
    nodeParams->graph.graph = handle_of_child(find_node(*phGraphNode)->body.child);
  return result;
}

SIMGPU_API cuGraphAddNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                          size_t numDependencies, CUgraphNodeParams* nodeParams) {
  return cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, nullptr, numDependencies, nodeParams);
}

SIMGPU_API cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Node* node = nullptr;
  if (const CUresult result = find(hNode, nodeParams->type, node); result != CUDA_SUCCESS) return result;
  if (nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH) return CUDA_ERROR_NOT_SUPPORTED;
  NodeBody body;
  if (const CUresult result = body_of(*nodeParams, body); result != CUDA_SUCCESS) return result;
  if (body.type == CU_GRAPH_NODE_TYPE_KERNEL) keep_attributes(node->body, body);
  node->body = std::move(body);
  return CUDA_SUCCESS;
}
