// Graphs as a whole: creation, structure, instantiation, update, launch. Called on the application's thread.
#include <cstddef>

#include "context.h"

using simgpu::Driver;
using simgpu::with_context;

static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS) &&
              offsetof(cudaGraphInstantiateParams, uploadStream) ==
                  offsetof(CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream) &&
              offsetof(cudaGraphInstantiateParams, result_out) == offsetof(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out));
static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo) &&
              offsetof(cudaGraphExecUpdateResultInfo, errorNode) == offsetof(CUgraphExecUpdateResultInfo, errorNode));
static_assert(static_cast<int>(cudaGraphNodeTypeKernel) == static_cast<int>(CU_GRAPH_NODE_TYPE_KERNEL) &&
              static_cast<int>(cudaGraphNodeTypeHost) == static_cast<int>(CU_GRAPH_NODE_TYPE_HOST) &&
              static_cast<int>(cudaGraphNodeTypeWaitEvent) == static_cast<int>(CU_GRAPH_NODE_TYPE_WAIT_EVENT));

namespace {

CUgraphEdgeData* edge_data(cudaGraphEdgeData* edges) {
  return reinterpret_cast<CUgraphEdgeData*>(edges);
}
const CUgraphEdgeData* edge_data(const cudaGraphEdgeData* edges) {
  return reinterpret_cast<const CUgraphEdgeData*>(edges);
}

}  // namespace

SIMGPU_FORWARD(cudaGraphCreate, (cudaGraph_t * graph, unsigned int flags), driver.cuGraphCreate(graph, flags))
SIMGPU_FORWARD(cudaGraphDestroy, (cudaGraph_t graph), driver.cuGraphDestroy(graph))
SIMGPU_FORWARD(cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t original), driver.cuGraphClone(clone, original))
SIMGPU_FORWARD(cudaGraphNodeFindInClone, (cudaGraphNode_t * node, cudaGraphNode_t original, cudaGraph_t clone),
               driver.cuGraphNodeFindInClone(node, original, clone))
SIMGPU_FORWARD(cudaGraphDestroyNode, (cudaGraphNode_t node), driver.cuGraphDestroyNode(node))
SIMGPU_FORWARD(cudaGraphDebugDotPrint, (cudaGraph_t graph, const char* path, unsigned int flags),
               driver.cuGraphDebugDotPrint(graph, path, flags))

SIMGPU_FORWARD(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
               driver.cuGraphGetNodes(graph, nodes, count))
SIMGPU_FORWARD(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
               driver.cuGraphGetRootNodes(graph, nodes, count))
SIMGPU_FORWARD(cudaGraphGetEdges,
               (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* edges, size_t* count),
               driver.cuGraphGetEdges(graph, from, to, edge_data(edges), count))
SIMGPU_FORWARD(cudaGraphNodeGetDependencies,
               (cudaGraphNode_t node, cudaGraphNode_t* dependencies, cudaGraphEdgeData* edges, size_t* count),
               driver.cuGraphNodeGetDependencies(node, dependencies, edge_data(edges), count))
SIMGPU_FORWARD(cudaGraphNodeGetDependentNodes,
               (cudaGraphNode_t node, cudaGraphNode_t* dependents, cudaGraphEdgeData* edges, size_t* count),
               driver.cuGraphNodeGetDependentNodes(node, dependents, edge_data(edges), count))
SIMGPU_FORWARD(cudaGraphAddDependencies,
               (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                const cudaGraphEdgeData* edges, size_t count),
               driver.cuGraphAddDependencies(graph, from, to, edge_data(edges), count))
SIMGPU_FORWARD(cudaGraphRemoveDependencies,
               (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                const cudaGraphEdgeData* edges, size_t count),
               driver.cuGraphRemoveDependencies(graph, from, to, edge_data(edges), count))

SIMGPU_FORWARD(cudaGraphInstantiate, (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags),
               driver.cuGraphInstantiateWithFlags(executable, graph, flags))
SIMGPU_FORWARD(cudaGraphInstantiateWithFlags,
               (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags),
               driver.cuGraphInstantiateWithFlags(executable, graph, flags))
SIMGPU_PAIR(cudaGraphInstantiateWithParams, _ptsz,
            (cudaGraphExec_t * executable, cudaGraph_t graph, cudaGraphInstantiateParams* parameters),
            driver.cuGraphInstantiateWithParams[mode](executable, graph,
                                                      reinterpret_cast<CUDA_GRAPH_INSTANTIATE_PARAMS*>(parameters)))
SIMGPU_FORWARD(cudaGraphExecUpdate,
               (cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result),
               driver.cuGraphExecUpdate(executable, graph, reinterpret_cast<CUgraphExecUpdateResultInfo*>(result)))
SIMGPU_FORWARD(cudaGraphExecDestroy, (cudaGraphExec_t executable), driver.cuGraphExecDestroy(executable))
SIMGPU_PAIR(cudaGraphUpload, _ptsz, (cudaGraphExec_t executable, cudaStream_t stream),
            driver.cuGraphUpload[mode](executable, stream))
SIMGPU_PAIR(cudaGraphLaunch, _ptsz, (cudaGraphExec_t executable, cudaStream_t stream),
            driver.cuGraphLaunch[mode](executable, stream))

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags) {
  return with_context([&](const Driver& driver) {
    cuuint64_t value = 0;
    const CUresult result =
        flags != nullptr ? driver.cuGraphExecGetFlags(executable, &value) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
      *flags = value;
    }
    return result;
  });
}

SIMGPU_FORWARD(cudaUserObjectCreate,
               (cudaUserObject_t * object, void* pointer, cudaHostFn_t destroy, unsigned int count, unsigned int flags),
               driver.cuUserObjectCreate(object, pointer, destroy, count, flags))
SIMGPU_FORWARD(cudaUserObjectRetain, (cudaUserObject_t object, unsigned int count),
               driver.cuUserObjectRetain(object, count))
SIMGPU_FORWARD(cudaUserObjectRelease, (cudaUserObject_t object, unsigned int count),
               driver.cuUserObjectRelease(object, count))
SIMGPU_FORWARD(cudaGraphRetainUserObject,
               (cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags),
               driver.cuGraphRetainUserObject(graph, object, count, flags))
SIMGPU_FORWARD(cudaGraphReleaseUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned int count),
               driver.cuGraphReleaseUserObject(graph, object, count))
