// Nodes of graphs: adding them, reading and changing their parameters, in graphs and in executable graphs. Called on
// the application's thread. A kernel is named by its host stub or by a handle, as in a launch.
#include <cstddef>

#include "binaries.h"
#include "context.h"
#include "copy_parameters.h"
#include "launch.h"

using simgpu::binaries;
using simgpu::device_pointer;
using simgpu::Driver;
using simgpu::to_runtime;
using simgpu::with_context;

static_assert(sizeof(cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS) &&
              offsetof(cudaHostNodeParams, userData) == offsetof(CUDA_HOST_NODE_PARAMS, userData));
static_assert(sizeof(cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS) &&
              offsetof(cudaMemsetParams, height) == offsetof(CUDA_MEMSET_NODE_PARAMS, height));
static_assert(sizeof(cudaKernelNodeAttrValue) == sizeof(CUkernelNodeAttrValue));

namespace {

CUcontext context(const Driver& driver) {
  CUcontext current = nullptr;
  driver.cuCtxGetCurrent(&current);
  return current;
}

template <class Parameters>
cudaError_t convert(const Driver& driver, const Parameters* parameters, CUDA_KERNEL_NODE_PARAMS& converted) {
  if (parameters == nullptr) {
    return cudaErrorInvalidValue;
  }
  CUkernel kernel = nullptr;
  cudaError_t error = binaries().kernel(driver, parameters->func, kernel);
  if (error == cudaSuccess) {
    error = simgpu::check_shape(parameters->gridDim, parameters->blockDim);
  }
  converted = {};
  converted.gridDimX = parameters->gridDim.x;
  converted.gridDimY = parameters->gridDim.y;
  converted.gridDimZ = parameters->gridDim.z;
  converted.blockDimX = parameters->blockDim.x;
  converted.blockDimY = parameters->blockDim.y;
  converted.blockDimZ = parameters->blockDim.z;
  converted.sharedMemBytes = parameters->sharedMemBytes;
  converted.kernelParams = parameters->kernelParams;
  converted.extra = parameters->extra;
  converted.kern = kernel;
  return error;
}

// Hands the kernel's parameters in the driver's terms to `apply`.
template <class Apply>
cudaError_t with_kernel_parameters(const cudaKernelNodeParams* parameters, Apply&& apply) {
  return with_context([&](const Driver& driver) {
    CUDA_KERNEL_NODE_PARAMS converted = {};
    const cudaError_t error = convert(driver, parameters, converted);
    return error != cudaSuccess ? error : to_runtime(apply(driver, converted));
  });
}

// `source` describes the copy; hands it, with the context it runs in, to `apply`.
template <class Convert, class Apply>
cudaError_t with_copy(Convert&& convert_to, Apply&& apply) {
  return with_context([&](const Driver& driver) {
    CUDA_MEMCPY3D converted = {};
    const cudaError_t error = convert_to(converted);
    return error != cudaSuccess ? error : to_runtime(apply(driver, converted, context(driver)));
  });
}

const CUDA_HOST_NODE_PARAMS* host_parameters(const cudaHostNodeParams* parameters) {
  return reinterpret_cast<const CUDA_HOST_NODE_PARAMS*>(parameters);
}

const CUDA_MEMSET_NODE_PARAMS* set_parameters(const cudaMemsetParams* parameters) {
  return reinterpret_cast<const CUDA_MEMSET_NODE_PARAMS*>(parameters);
}

CUlaunchAttributeID attribute_id(cudaKernelNodeAttrID id) {
  return static_cast<CUlaunchAttributeID>(id);
}

CUresult read_kernel(const Driver& driver, cudaGraphNode_t node, cudaKernelNodeParams& parameters) {
  CUDA_KERNEL_NODE_PARAMS found = {};
  const CUresult result = driver.cuGraphKernelNodeGetParams(node, &found);
  if (result != CUDA_SUCCESS) {
    return result;
  }
  const void* handle = found.kern != nullptr ? static_cast<const void*>(found.kern) : found.func;
  parameters.func = const_cast<void*>(binaries().host_function(handle));
  parameters.gridDim = dim3(found.gridDimX, found.gridDimY, found.gridDimZ);
  parameters.blockDim = dim3(found.blockDimX, found.blockDimY, found.blockDimZ);
  parameters.sharedMemBytes = found.sharedMemBytes;
  parameters.kernelParams = found.kernelParams;
  parameters.extra = found.extra;
  return CUDA_SUCCESS;
}

// The kinds of node whose parameters need a translation; the others are not supported by cudaGraphAddNode here.
cudaError_t convert(const Driver& driver, const cudaGraphNodeParams& parameters, CUgraphNodeParams& converted) {
  converted = {};
  converted.type = static_cast<CUgraphNodeType>(parameters.type);
  switch (parameters.type) {
    case cudaGraphNodeTypeKernel: {
      CUDA_KERNEL_NODE_PARAMS kernel = {};
      const cudaError_t error = convert(driver, &parameters.kernel, kernel);
      converted.kernel = {kernel.func,         kernel.gridDimX,  kernel.gridDimY,  kernel.gridDimZ,
                          kernel.blockDimX,    kernel.blockDimY, kernel.blockDimZ, kernel.sharedMemBytes,
                          kernel.kernelParams, kernel.extra,     kernel.kern,      kernel.ctx};
      return error;
    }
    case cudaGraphNodeTypeMemcpy:
      converted.memcpy.copyCtx = context(driver);
      return simgpu::convert(&parameters.memcpy.copyParams, converted.memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
      converted.memset = {device_pointer(parameters.memset.dst),
                          parameters.memset.pitch,
                          parameters.memset.value,
                          parameters.memset.elementSize,
                          parameters.memset.width,
                          parameters.memset.height,
                          context(driver)};
      return cudaSuccess;
    case cudaGraphNodeTypeHost:
      converted.host = {parameters.host.fn, parameters.host.userData};
      return cudaSuccess;
    case cudaGraphNodeTypeGraph:
      converted.graph.graph = parameters.graph.graph;
      converted.graph.ownership = static_cast<CUgraphChildGraphNodeOwnership>(parameters.graph.ownership);
      return cudaSuccess;
    case cudaGraphNodeTypeWaitEvent:
      converted.eventWait.event = parameters.eventWait.event;
      return cudaSuccess;
    case cudaGraphNodeTypeEventRecord:
      converted.eventRecord.event = parameters.eventRecord.event;
      return cudaSuccess;
    case cudaGraphNodeTypeEmpty:
      return cudaSuccess;
    default:
      return cudaErrorNotSupported;
  }
}

}  // namespace

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             const cudaGraphEdgeData* edges, size_t count, cudaGraphNodeParams* parameters) {
  return with_context([&](const Driver& driver) {
    CUgraphNodeParams converted = {};
    const cudaError_t error = parameters != nullptr ? convert(driver, *parameters, converted) : cudaErrorInvalidValue;
    return error != cudaSuccess
               ? error
               : to_runtime(driver.cuGraphAddNode(node, graph, dependencies,
                                                  reinterpret_cast<const CUgraphEdgeData*>(edges), count, &converted));
  });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaKernelNodeParams* parameters) {
  return with_kernel_parameters(parameters, [&](const Driver& driver, const CUDA_KERNEL_NODE_PARAMS& converted) {
    return driver.cuGraphAddKernelNode(node, graph, dependencies, count, &converted);
  });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
  return with_kernel_parameters(parameters, [&](const Driver& driver, const CUDA_KERNEL_NODE_PARAMS& converted) {
    return driver.cuGraphKernelNodeSetParams(node, &converted);
  });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  return with_kernel_parameters(parameters, [&](const Driver& driver, const CUDA_KERNEL_NODE_PARAMS& converted) {
    return driver.cuGraphExecKernelNodeSetParams(executable, node, &converted);
  });
}

SIMGPU_FORWARD(cudaGraphKernelNodeGetParams, (cudaGraphNode_t node, cudaKernelNodeParams* parameters),
               parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : read_kernel(driver, node, *parameters))
SIMGPU_FORWARD(cudaGraphKernelNodeCopyAttributes, (cudaGraphNode_t to, cudaGraphNode_t from),
               driver.cuGraphKernelNodeCopyAttributes(to, from))
SIMGPU_FORWARD(cudaGraphKernelNodeGetAttribute,
               (cudaGraphNode_t node, cudaKernelNodeAttrID id, cudaKernelNodeAttrValue* value),
               driver.cuGraphKernelNodeGetAttribute(node, attribute_id(id),
                                                    reinterpret_cast<CUkernelNodeAttrValue*>(value)))
SIMGPU_FORWARD(cudaGraphKernelNodeSetAttribute,
               (cudaGraphNode_t node, cudaKernelNodeAttrID id, const cudaKernelNodeAttrValue* value),
               driver.cuGraphKernelNodeSetAttribute(node, attribute_id(id),
                                                    reinterpret_cast<const CUkernelNodeAttrValue*>(value)))

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaMemcpy3DParms* parameters) {
  return with_copy([&](CUDA_MEMCPY3D& converted) { return simgpu::convert(parameters, converted); },
                   [&](const Driver& driver, const CUDA_MEMCPY3D& converted, CUcontext current) {
                     return driver.cuGraphAddMemcpyNode(node, graph, dependencies, count, &converted, current);
                   });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     size_t count, void* destination, const void* source, size_t bytes,
                                     cudaMemcpyKind kind) {
  return with_copy(
      [&](CUDA_MEMCPY3D& converted) { return simgpu::convert(destination, source, bytes, kind, converted); },
      [&](const Driver& driver, const CUDA_MEMCPY3D& converted, CUcontext current) {
        return driver.cuGraphAddMemcpyNode(node, graph, dependencies, count, &converted, current);
      });
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* parameters) {
  return with_copy([&](CUDA_MEMCPY3D& converted) { return simgpu::convert(parameters, converted); },
                   [&](const Driver& driver, const CUDA_MEMCPY3D& converted, CUcontext) {
                     return driver.cuGraphMemcpyNodeSetParams(node, &converted);
                   });
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* destination, const void* source, size_t bytes,
                                           cudaMemcpyKind kind) {
  return with_copy(
      [&](CUDA_MEMCPY3D& converted) { return simgpu::convert(destination, source, bytes, kind, converted); },
      [&](const Driver& driver, const CUDA_MEMCPY3D& converted, CUcontext) {
        return driver.cuGraphMemcpyNodeSetParams(node, &converted);
      });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* parameters) {
  return with_copy([&](CUDA_MEMCPY3D& converted) { return simgpu::convert(parameters, converted); },
                   [&](const Driver& driver, const CUDA_MEMCPY3D& converted, CUcontext current) {
                     return driver.cuGraphExecMemcpyNodeSetParams(executable, node, &converted, current);
                   });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void* destination,
                                               const void* source, size_t bytes, cudaMemcpyKind kind) {
  return with_copy(
      [&](CUDA_MEMCPY3D& converted) { return simgpu::convert(destination, source, bytes, kind, converted); },
      [&](const Driver& driver, const CUDA_MEMCPY3D& converted, CUcontext current) {
        return driver.cuGraphExecMemcpyNodeSetParams(executable, node, &converted, current);
      });
}

SIMGPU_FORWARD(cudaGraphAddMemsetNode,
               (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                const cudaMemsetParams* parameters),
               driver.cuGraphAddMemsetNode(node, graph, dependencies, count, set_parameters(parameters),
                                           context(driver)))
SIMGPU_FORWARD(cudaGraphMemsetNodeGetParams, (cudaGraphNode_t node, cudaMemsetParams* parameters),
               driver.cuGraphMemsetNodeGetParams(node, reinterpret_cast<CUDA_MEMSET_NODE_PARAMS*>(parameters)))
SIMGPU_FORWARD(cudaGraphMemsetNodeSetParams, (cudaGraphNode_t node, const cudaMemsetParams* parameters),
               driver.cuGraphMemsetNodeSetParams(node, set_parameters(parameters)))
SIMGPU_FORWARD(cudaGraphExecMemsetNodeSetParams,
               (cudaGraphExec_t executable, cudaGraphNode_t node, const cudaMemsetParams* parameters),
               driver.cuGraphExecMemsetNodeSetParams(executable, node, set_parameters(parameters), context(driver)))

SIMGPU_FORWARD(cudaGraphAddHostNode,
               (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                const cudaHostNodeParams* parameters),
               driver.cuGraphAddHostNode(node, graph, dependencies, count, host_parameters(parameters)))
SIMGPU_FORWARD(cudaGraphHostNodeGetParams, (cudaGraphNode_t node, cudaHostNodeParams* parameters),
               driver.cuGraphHostNodeGetParams(node, reinterpret_cast<CUDA_HOST_NODE_PARAMS*>(parameters)))
SIMGPU_FORWARD(cudaGraphHostNodeSetParams, (cudaGraphNode_t node, const cudaHostNodeParams* parameters),
               driver.cuGraphHostNodeSetParams(node, host_parameters(parameters)))
SIMGPU_FORWARD(cudaGraphExecHostNodeSetParams,
               (cudaGraphExec_t executable, cudaGraphNode_t node, const cudaHostNodeParams* parameters),
               driver.cuGraphExecHostNodeSetParams(executable, node, host_parameters(parameters)))

SIMGPU_FORWARD(cudaGraphAddChildGraphNode,
               (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                cudaGraph_t child),
               driver.cuGraphAddChildGraphNode(node, graph, dependencies, count, child))
SIMGPU_FORWARD(cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t* child),
               driver.cuGraphChildGraphNodeGetGraph(node, child))
SIMGPU_FORWARD(cudaGraphExecChildGraphNodeSetParams,
               (cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraph_t child),
               driver.cuGraphExecChildGraphNodeSetParams(executable, node, child))
SIMGPU_FORWARD(cudaGraphAddEmptyNode,
               (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count),
               driver.cuGraphAddEmptyNode(node, graph, dependencies, count))

SIMGPU_FORWARD(cudaGraphAddEventRecordNode,
               (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                cudaEvent_t event),
               driver.cuGraphAddEventRecordNode(node, graph, dependencies, count, event))
SIMGPU_FORWARD(cudaGraphEventRecordNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t* event),
               driver.cuGraphEventRecordNodeGetEvent(node, event))
SIMGPU_FORWARD(cudaGraphEventRecordNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),
               driver.cuGraphEventRecordNodeSetEvent(node, event))
SIMGPU_FORWARD(cudaGraphExecEventRecordNodeSetEvent,
               (cudaGraphExec_t executable, cudaGraphNode_t node, cudaEvent_t event),
               driver.cuGraphExecEventRecordNodeSetEvent(executable, node, event))
SIMGPU_FORWARD(cudaGraphAddEventWaitNode,
               (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                cudaEvent_t event),
               driver.cuGraphAddEventWaitNode(node, graph, dependencies, count, event))
SIMGPU_FORWARD(cudaGraphEventWaitNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t* event),
               driver.cuGraphEventWaitNodeGetEvent(node, event))
SIMGPU_FORWARD(cudaGraphEventWaitNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),
               driver.cuGraphEventWaitNodeSetEvent(node, event))
SIMGPU_FORWARD(cudaGraphExecEventWaitNodeSetEvent,
               (cudaGraphExec_t executable, cudaGraphNode_t node, cudaEvent_t event),
               driver.cuGraphExecEventWaitNodeSetEvent(executable, node, event))

SIMGPU_FORWARD(cudaGraphNodeSetEnabled, (cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int enabled),
               driver.cuGraphNodeSetEnabled(executable, node, enabled))
SIMGPU_FORWARD(cudaGraphNodeGetEnabled, (cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int* enabled),
               driver.cuGraphNodeGetEnabled(executable, node, enabled))

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return with_context([&](const Driver& driver) {
    CUgraphNodeType value = CU_GRAPH_NODE_TYPE_EMPTY;
    const CUresult result = type != nullptr ? driver.cuGraphNodeGetType(node, &value) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
      *type = static_cast<cudaGraphNodeType>(value);
    }
    return result;
  });
}
