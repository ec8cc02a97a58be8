// The driver API for executable graphs: instantiation, changes, launch. Host threads. A launch is one command of its
// stream; into a capturing stream it becomes a child graph node.
#include <utility>

#include "api/api.h"
#include "engine/slab.h"
#include "graphs/capture.h"
#include "graphs/executable.h"
#include "graphs/node_params.h"

namespace simgpu {
namespace {

constexpr std::uint64_t known_flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                      CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                      CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult instantiate(CUgraphExec* out, CUgraph handle, std::uint64_t flags, CUgraphInstantiateResult& why) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const GraphHandle* const graph = find_graph(handle);
  if (out == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if ((flags & ~known_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  Executable* const created = slab<Executable>.create(*graph->graph, flags);
  if (created == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  why = created->result();
  if (why != CUDA_GRAPH_INSTANTIATE_SUCCESS) {
    slab<Executable>.release(created);
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = reinterpret_cast<CUgraphExec>(created);
  return CUDA_SUCCESS;
}

CUresult instantiate_with_log(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log, std::size_t size) {
  if (error_node != nullptr) *error_node = nullptr;
  if (log != nullptr && size != 0) log[0] = '\0';
  CUgraphInstantiateResult why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return instantiate(out, graph, 0, why);
}

CUresult instantiate_with_parameters(CUgraphExec* out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  parameters->hErrNode_out = nullptr;
  parameters->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
  return instantiate(out, graph, parameters->flags, parameters->result_out);
}

CUresult find(CUgraphExec handle, Executable*& executable) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  executable = slab<Executable>.find(handle);
  return executable == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult find(CUgraphExec handle, CUgraphNode node_handle, Executable*& executable, Node*& node) {
  if (const CUresult result = find(handle, executable); result != CUDA_SUCCESS) return result;
  node = find_node(node_handle);
  return node == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// Replaces a node by what make(body) makes; the body starts as the node is now.
template <class Make>
CUresult change(CUgraphExec handle, CUgraphNode node_handle, Make make) {
  Executable* executable = nullptr;
  Node* node = nullptr;
  if (const CUresult result = find(handle, node_handle, executable, node); result != CUDA_SUCCESS) return result;
  NodeBody body;
  if (const CUresult result = executable->body(*node, body); result != CUDA_SUCCESS) return result;
  if (const CUresult result = make(body); result != CUDA_SUCCESS) return result;
  return executable->replace(*node, std::move(body));
}

CUresult launch(CUgraphExec handle, CUstream stream_handle, DefaultStream meaning) {
  Executable* executable = nullptr;
  if (const CUresult result = find(handle, executable); result != CUDA_SUCCESS) return result;
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(stream_handle, meaning, stream); result != CUDA_SUCCESS) return result;
  {
    const std::lock_guard lock(engine().lock());
    if (stream->capture != nullptr) {
      NodeBody body;
      body.type = CU_GRAPH_NODE_TYPE_GRAPH;
      body.child = executable->copy();
      return body.child == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : capture_node(*stream, std::move(body));
    }
  }
  const std::shared_ptr<const GraphProgram> program = executable->program();
  for (const CUcontext green : program->contexts) {  // a node whose context is gone cannot run
    Context* context = nullptr;
    if (const CUresult result = find_context(green, context); result != CUDA_SUCCESS) return result;
  }
  return engine().submit(*stream, GraphCommand{program});
}

// Everything is where it has to be: an upload takes its place in the stream.
CUresult upload(CUgraphExec handle, CUstream stream_handle, DefaultStream meaning) {
  Executable* executable = nullptr;
  if (const CUresult result = find(handle, executable); result != CUDA_SUCCESS) return result;
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(stream_handle, meaning, stream); result != CUDA_SUCCESS) return result;
  return engine().submit(*stream, EmptyCommand{});
}

CUDA_KERNEL_NODE_PARAMS_v2 widen(const CUDA_KERNEL_NODE_PARAMS_v1& given) {
  return {given.func,      given.gridDimX,       given.gridDimY,     given.gridDimZ, given.blockDimX, given.blockDimY,
          given.blockDimZ, given.sharedMemBytes, given.kernelParams, given.extra,    nullptr,         nullptr};
}

}  // namespace
}  // namespace simgpu

using namespace simgpu;

SIMGPU_API cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode, char* logBuffer,
                              size_t bufferSize) {
  return instantiate_with_log(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}
SIMGPU_API cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode, char* logBuffer,
                                 size_t bufferSize) {
  return instantiate_with_log(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}
SIMGPU_API cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph, unsigned long long flags) {
  CUgraphInstantiateResult why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return instantiate(phGraphExec, hGraph, flags, why);
}
SIMGPU_PAIR(cuGraphInstantiateWithParams, _ptsz,
            (CUgraphExec * phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams),
            instantiate_with_parameters(phGraphExec, hGraph, instantiateParams))

SIMGPU_API cuGraphExecDestroy(CUgraphExec hGraphExec) {
  Executable* executable = nullptr;
  if (const CUresult result = find(hGraphExec, executable); result != CUDA_SUCCESS) return result;
  if (!slab<Executable>.retire(executable)) return CUDA_ERROR_INVALID_VALUE;
  slab<Executable>.release(executable);
  return CUDA_SUCCESS;
}

SIMGPU_API cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t* flags) {
  Executable* executable = nullptr;
  if (const CUresult result = find(hGraphExec, executable); result != CUDA_SUCCESS) return result;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = executable->flags();
  return CUDA_SUCCESS;
}

SIMGPU_PAIR(cuGraphLaunch, _ptsz, (CUgraphExec hGraphExec, CUstream hStream), launch(hGraphExec, hStream, meaning))
SIMGPU_PAIR(cuGraphUpload, _ptsz, (CUgraphExec hGraphExec, CUstream hStream), upload(hGraphExec, hStream, meaning))

SIMGPU_API cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                             const CUDA_KERNEL_NODE_PARAMS_v2* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return change(hGraphExec, hNode, [nodeParams](NodeBody& body) { return kernel_body(*nodeParams, body); });
}
SIMGPU_API cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS_v2 parameters = widen(*nodeParams);
  return cuGraphExecKernelNodeSetParams_v2(hGraphExec, hNode, &parameters);
}

SIMGPU_API cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D* copyParams,
                                          CUcontext ctx) {
  Context* context = nullptr;
  if (const CUresult result = find_context(ctx, context); result != CUDA_SUCCESS) return result;
  if (copyParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return change(hGraphExec, hNode, [copyParams](NodeBody& body) { return copy_body(*copyParams, body); });
}

SIMGPU_API cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          const CUDA_MEMSET_NODE_PARAMS_v1* memsetParams, CUcontext ctx) {
  Context* context = nullptr;
  if (const CUresult result = find_context(ctx, context); result != CUDA_SUCCESS) return result;
  if (memsetParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return change(hGraphExec, hNode, [memsetParams](NodeBody& body) { return set_body(*memsetParams, body); });
}

SIMGPU_API cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_HOST_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return change(hGraphExec, hNode,
                [nodeParams](NodeBody& body) { return host_body(nodeParams->fn, nodeParams->userData, body); });
}

SIMGPU_API cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event) {
  return change(hGraphExec, hNode, [event](NodeBody& body) { return event_body(event, true, body); });
}
SIMGPU_API cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event) {
  return change(hGraphExec, hNode, [event](NodeBody& body) { return event_body(event, false, body); });
}

SIMGPU_API cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                              const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return change(hGraphExec, hNode, [nodeParams](NodeBody& body) {
    return memory_operations_body(nodeParams->paramArray, nodeParams->count, body);
  });
}

SIMGPU_API cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph) {
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_GRAPH;
  parameters.graph.graph = childGraph;
  return change(hGraphExec, hNode, [&parameters](NodeBody& body) { return body_of(parameters, body); });
}

SIMGPU_API cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return change(hGraphExec, hNode, [nodeParams](NodeBody& body) { return body_of(*nodeParams, body); });
}

SIMGPU_API cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled) {
  Executable* executable = nullptr;
  Node* node = nullptr;
  if (const CUresult result = find(hGraphExec, hNode, executable, node); result != CUDA_SUCCESS) return result;
  return executable->enable(*node, isEnabled != 0);
}

SIMGPU_API cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int* isEnabled) {
  Executable* executable = nullptr;
  Node* node = nullptr;
  if (const CUresult result = find(hGraphExec, hNode, executable, node); result != CUDA_SUCCESS) return result;
  if (isEnabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
  bool enabled = false;
  const CUresult result = executable->is_enabled(*node, enabled);
  if (result == CUDA_SUCCESS) *isEnabled = enabled ? 1 : 0;
  return result;
}

SIMGPU_API cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo* resultInfo) {
  Executable* executable = nullptr;
  if (const CUresult result = find(hGraphExec, executable); result != CUDA_SUCCESS) return result;
  const GraphHandle* const graph = find_graph(hGraph);
  if (graph == nullptr || resultInfo == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return executable->update(*graph->graph, *resultInfo);
}

SIMGPU_API cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode* hErrorNode_out,
                             CUgraphExecUpdateResult* updateResult_out) {
  CUgraphExecUpdateResultInfo info{};
  if (updateResult_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
  *updateResult_out = info.result;
  if (hErrorNode_out != nullptr) *hErrorNode_out = info.errorNode;
  return result;
}
