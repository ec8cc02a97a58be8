// Node parameters to commands and back; see node_params.h.
#include "graphs/node_params.h"

#include <utility>

#include "api/api.h"
#include "api/copy.h"
#include "api/launch.h"
#include "engine/slab.h"
#include "memory/ranges.h"
#include "modules/modules.h"

namespace simgpu {
namespace {

const KernelLaunch& launch_of(const NodeBody& body) {
  return *std::get<KernelCommand>(body.command).launch;
}

bool operation_of(const CUstreamBatchMemOpParams& given, MemoryOperation& operation) {
  switch (given.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      operation.kind = MemoryOperation::Kind::wait;
      operation.bytes = given.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ? 8 : 4;
      operation.comparison = static_cast<std::uint8_t>(given.waitValue.flags & 3U);
      operation.address = reinterpret_cast<void*>(given.waitValue.address);
      operation.value = operation.bytes == 8 ? given.waitValue.value64 : given.waitValue.value;
      return accessible_ranges().find(given.waitValue.address).has_value();
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      operation.kind = MemoryOperation::Kind::write;
      operation.bytes = given.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64 ? 8 : 4;
      operation.address = reinterpret_cast<void*>(given.writeValue.address);
      operation.value = operation.bytes == 8 ? given.writeValue.value64 : given.writeValue.value;
      return accessible_ranges().find(given.writeValue.address).has_value();
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      operation.kind = MemoryOperation::Kind::barrier;
      return true;
    default:
      return false;
  }
}

// A context counts for a kernel, which belongs to none; a function has that of its module.
CUresult context_of(const CUDA_KERNEL_NODE_PARAMS_v2& parameters, Context*& context) {
  const Function* const function = slab<Function>.find(parameters.func);
  if (function == nullptr || function->module == nullptr)
    return find_context(parameters.func == nullptr ? parameters.ctx : nullptr, context);
  return find_context(handle_of(*function->module->context), context);
}

CUresult child_body(const CUDA_CHILD_GRAPH_NODE_PARAMS& parameters, NodeBody& body) {
  const GraphHandle* const handle = find_graph(parameters.graph);
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (parameters.ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE) return CUDA_ERROR_NOT_SUPPORTED;
  body.type = CU_GRAPH_NODE_TYPE_GRAPH;
  body.child = handle->graph->clone();
  return body.child == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

}  // namespace

void set_context(NodeBody& body, const Context& context) {
  body.context = handle_of(context);
  body.is_green = context.green_of != nullptr;
  body.share = context.share;
}

CUresult kernel_body(const CUDA_KERNEL_NODE_PARAMS_v2& parameters, NodeBody& body) {
  Context* context = nullptr;
  if (const CUresult result = context_of(parameters, context); result != CUDA_SUCCESS) return result;
  LaunchRequest request;
  body.by_kernel = parameters.func == nullptr;
  request.function = body.by_kernel ? reinterpret_cast<CUfunction>(parameters.kern) : parameters.func;
  request.grid[0] = parameters.gridDimX;
  request.grid[1] = parameters.gridDimY;
  request.grid[2] = parameters.gridDimZ;
  request.block[0] = parameters.blockDimX;
  request.block[1] = parameters.blockDimY;
  request.block[2] = parameters.blockDimZ;
  request.shared_bytes = parameters.sharedMemBytes;
  request.parameters = parameters.kernelParams;
  request.extra = parameters.extra;
  KernelCommand command;
  if (const CUresult result = build_launch(request, *context, command.launch); result != CUDA_SUCCESS)
    return result;
  body.type = CU_GRAPH_NODE_TYPE_KERNEL;
  body.command = std::move(command);
  set_context(body, *context);
  return CUDA_SUCCESS;
}

// The parameter values are those of the node and stay valid until it changes, as documented.
void read_kernel(const NodeBody& body, CUDA_KERNEL_NODE_PARAMS_v2& parameters) {
  const KernelLaunch& launch = launch_of(body);
  parameters = {};
  if (body.by_kernel) {
    parameters.kern = reinterpret_cast<CUkernel>(launch.function);
    parameters.ctx = body.context;
  } else {
    parameters.func = launch.function;
  }
  parameters.gridDimX = launch.shape.grid[0];
  parameters.gridDimY = launch.shape.grid[1];
  parameters.gridDimZ = launch.shape.grid[2];
  parameters.blockDimX = launch.shape.block[0];
  parameters.blockDimY = launch.shape.block[1];
  parameters.blockDimZ = launch.shape.block[2];
  parameters.sharedMemBytes = launch.shape.shared_bytes;
  parameters.kernelParams = const_cast<void**>(const_cast<void* const*>(launch.shape.parameters));
}

std::shared_ptr<KernelLaunch> copy_launch(const KernelLaunch& launch) {
  auto copy = std::make_shared<KernelLaunch>();
  copy->image = launch.image;
  copy->function = launch.function;
  copy->shape = launch.shape;
  copy->shape.parameters = nullptr;
  copy->shape.parameter_count = 0;
  copy->cluster_blocks = launch.cluster_blocks;
  copy->cooperative = launch.cooperative;
  copy->programmatic = launch.programmatic;
  copy->set_parameters(const_cast<void* const*>(launch.shape.parameters));
  return copy;
}

CUresult get_kernel_attribute(const NodeBody& body, CUkernelNodeAttrID attribute, CUkernelNodeAttrValue& value) {
  const KernelLaunch& launch = launch_of(body);
  value = {};
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      value.priority = body.priority;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      value.cooperative = launch.cooperative ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      value.clusterDim.x = launch.cluster_blocks;
      value.clusterDim.y = 1;
      value.clusterDim.z = 1;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult set_kernel_attribute(NodeBody& body, CUkernelNodeAttrID attribute, const CUkernelNodeAttrValue& value) {
  std::shared_ptr<KernelLaunch> launch = copy_launch(launch_of(body));
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      body.priority = value.priority;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      launch->cooperative = value.cooperative != 0;
      break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: {
      const unsigned blocks = value.clusterDim.x * value.clusterDim.y * value.clusterDim.z;
      if (blocks == 0 || launch->block_count() % blocks != 0) return CUDA_ERROR_INVALID_VALUE;
      launch->cluster_blocks = blocks;
      break;
    }
    // Hints without a meaning for the simulated device.
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  body.command = KernelCommand{std::move(launch)};
  return CUDA_SUCCESS;
}

CUresult copy_body(const CUDA_MEMCPY3D& parameters, NodeBody& body) {
  CopyPlan plan;
  if (const CUresult result = plan_copy(parameters, plan); result != CUDA_SUCCESS) return result;
  if (plan.box.bytes() == 0) return CUDA_ERROR_INVALID_VALUE;
  body.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  body.command = CopyCommand{plan.kind, std::make_shared<const CopyBox>(std::move(plan.box))};
  return CUDA_SUCCESS;
}

void read_copy(const NodeBody& body, CUDA_MEMCPY3D& parameters) {
  const auto& command = std::get<CopyCommand>(body.command);
  const CopyBox& box = *command.box;
  const bool from_device = command.kind == CopyKind::device_to_host || command.kind == CopyKind::device_to_device;
  const bool to_device = command.kind == CopyKind::host_to_device || command.kind == CopyKind::device_to_device;
  parameters = {};
  parameters.srcMemoryType = from_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  parameters.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  if (from_device)
    parameters.srcDevice = reinterpret_cast<CUdeviceptr>(box.source);
  else
    parameters.srcHost = box.staged.empty() ? box.source : box.staged.data();
  if (to_device)
    parameters.dstDevice = reinterpret_cast<CUdeviceptr>(box.destination);
  else
    parameters.dstHost = box.destination;
  parameters.srcPitch = box.source_pitch;
  parameters.srcHeight = box.source_height;
  parameters.dstPitch = box.destination_pitch;
  parameters.dstHeight = box.destination_height;
  parameters.WidthInBytes = box.width;
  parameters.Height = box.height;
  parameters.Depth = box.depth;
}

CUresult set_body(const CUDA_MEMSET_NODE_PARAMS_v1& parameters, NodeBody& body) {
  const unsigned element = parameters.elementSize;
  const bool sized = (element == 1 || element == 2 || element == 4) && parameters.width != 0 && parameters.height != 0;
  if (!sized) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t pitch = parameters.height == 1 ? parameters.width * element : parameters.pitch;
  auto box = std::make_shared<SetBox>();
  if (const CUresult result =
          plan_set(parameters.dst, pitch, parameters.value, element, parameters.width, parameters.height, *box);
      result != CUDA_SUCCESS)
    return result;
  body.type = CU_GRAPH_NODE_TYPE_MEMSET;
  body.command = SetCommand{std::move(box)};
  return CUDA_SUCCESS;
}

void read_set(const NodeBody& body, CUDA_MEMSET_NODE_PARAMS_v1& parameters) {
  const SetBox& box = *std::get<SetCommand>(body.command).box;
  parameters = {};
  parameters.dst = reinterpret_cast<CUdeviceptr>(box.destination);
  parameters.pitch = box.pitch;
  parameters.value = box.value;
  parameters.elementSize = box.element_bytes;
  parameters.width = box.width;
  parameters.height = box.height;
}

CUresult host_body(CUhostFn function, void* user_data, NodeBody& body) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  HostCommand command;
  command.function = function;
  command.user_data = user_data;
  body.type = CU_GRAPH_NODE_TYPE_HOST;
  body.command = command;
  return CUDA_SUCCESS;
}

CUresult event_body(CUevent handle, bool record, NodeBody& body) {
  Event* event = nullptr;
  if (const CUresult result = find_event(handle, event); result != CUDA_SUCCESS) return result;
  body.type = record ? CU_GRAPH_NODE_TYPE_EVENT_RECORD : CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  if (record)
    body.command = RecordCommand{event, 0, nullptr};
  else
    body.command = WaitCommand{event, 0, nullptr};
  return CUDA_SUCCESS;
}

CUevent read_event(const NodeBody& body) {
  const auto* const record = std::get_if<RecordCommand>(&body.command);
  return handle_of(*(record != nullptr ? record->event : std::get<WaitCommand>(body.command).event));
}

CUresult memory_operations_body(const CUstreamBatchMemOpParams* operations, unsigned count, NodeBody& body) {
  if (operations == nullptr || count == 0 || count > 256) return CUDA_ERROR_INVALID_VALUE;
  auto list = std::make_shared<std::vector<MemoryOperation>>(count);
  for (unsigned index = 0; index < count; ++index)
    if (!operation_of(operations[index], (*list)[index])) return CUDA_ERROR_INVALID_VALUE;
  body.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  body.command = MemoryBatch{std::move(list)};
  return CUDA_SUCCESS;
}

CUresult body_of(const CUgraphNodeParams& parameters, NodeBody& body) {
  switch (parameters.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const CUDA_KERNEL_NODE_PARAMS_v3& given = parameters.kernel;
      const CUDA_KERNEL_NODE_PARAMS_v2 kernel = {
          given.func,      given.gridDimX,       given.gridDimY,     given.gridDimZ, given.blockDimX, given.blockDimY,
          given.blockDimZ, given.sharedMemBytes, given.kernelParams, given.extra,    given.kern,      given.ctx};
      return kernel_body(kernel, body);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return copy_body(parameters.memcpy.copyParams, body);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS_v2& given = parameters.memset;
      return set_body({given.dst, given.pitch, given.value, given.elementSize, given.width, given.height}, body);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      return host_body(parameters.host.fn, parameters.host.userData, body);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return child_body(parameters.graph, body);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      body.type = CU_GRAPH_NODE_TYPE_EMPTY;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return event_body(parameters.eventWait.event, false, body);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return event_body(parameters.eventRecord.event, true, body);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return memory_operations_body(parameters.memOp.paramArray, parameters.memOp.count, body);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace simgpu
