// Between the parameter structures of the graph API and the commands of the engine, in both directions. Host threads;
// making a kernel's command may load the kernel, which waits next to a spinning kernel.
#pragma once

#include <cuda.h>

#include "engine/objects.h"
#include "graphs/graph.h"

namespace simgpu {

// The context that the work of a node runs in.
void set_context(NodeBody& body, const Context& context);
CUresult kernel_body(const CUDA_KERNEL_NODE_PARAMS_v2& parameters, NodeBody& body);
void read_kernel(const NodeBody& body, CUDA_KERNEL_NODE_PARAMS_v2& parameters);

// A copy with its own attributes: launches in graphs are shared and never change.
std::shared_ptr<KernelLaunch> copy_launch(const KernelLaunch& launch);
CUresult get_kernel_attribute(const NodeBody& body, CUkernelNodeAttrID attribute, CUkernelNodeAttrValue& value);
CUresult set_kernel_attribute(NodeBody& body, CUkernelNodeAttrID attribute, const CUkernelNodeAttrValue& value);

CUresult copy_body(const CUDA_MEMCPY3D& parameters, NodeBody& body);
void read_copy(const NodeBody& body, CUDA_MEMCPY3D& parameters);

CUresult set_body(const CUDA_MEMSET_NODE_PARAMS_v1& parameters, NodeBody& body);
void read_set(const NodeBody& body, CUDA_MEMSET_NODE_PARAMS_v1& parameters);

CUresult host_body(CUhostFn function, void* user_data, NodeBody& body);

CUresult event_body(CUevent handle, bool record, NodeBody& body);
CUevent read_event(const NodeBody& body);

CUresult memory_operations_body(const CUstreamBatchMemOpParams* operations, unsigned count, NodeBody& body);

// The union of all of them; what is not supported in graphs is CUDA_ERROR_NOT_SUPPORTED.
CUresult body_of(const CUgraphNodeParams& parameters, NodeBody& body);

}  // namespace simgpu
