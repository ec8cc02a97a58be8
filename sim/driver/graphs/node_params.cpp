// Node parameters to commands and back; see node_params.h.
#include "graphs/node_params.h"

#include <algorithm>
#include <utility>

#include "api/api.h"
#include "engine/capture_hooks.h"
#include "memory/ranges.h"

namespace simgpu {
namespace {

// How CUDA_MEMCPY3D names one end of a copy: the two ends have the same fields under other names.
struct CopyEnd {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  std::size_t x, y, z, pitch, height;
};

CopyEnd source_of(const CUDA_MEMCPY3D& copy) {
  return {copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcXInBytes,
          copy.srcY,          copy.srcZ,    copy.srcPitch,  copy.srcHeight};
}

CopyEnd destination_of(const CUDA_MEMCPY3D& copy) {
  return {copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstXInBytes,
          copy.dstY,          copy.dstZ,    copy.dstPitch,  copy.dstHeight};
}

bool on_device(std::uintptr_t address) {
  const auto range = accessible_ranges().find(address);
  return range && !range->on_host();
}

CUresult locate(const CopyEnd& end, std::size_t width, std::uintptr_t& address, std::size_t& pitch, bool& device) {
  std::uintptr_t base = 0;
  switch (end.type) {
    case CU_MEMORYTYPE_HOST: base = reinterpret_cast<std::uintptr_t>(end.host); break;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED: base = end.device; break;
    case CU_MEMORYTYPE_ARRAY: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  device = on_device(base);
  if (base == 0 || (end.type == CU_MEMORYTYPE_DEVICE && !accessible_ranges().find(base))) return CUDA_ERROR_INVALID_VALUE;
  pitch = end.pitch == 0 ? width : end.pitch;
  if (pitch < width) return CUDA_ERROR_INVALID_VALUE;
  address = base + (end.z * end.height + end.y) * pitch + end.x;
  return CUDA_SUCCESS;
}

CopyKind kind_of(bool from_device, bool to_device) {
  if (from_device) return to_device ? CopyKind::device_to_device : CopyKind::device_to_host;
  return to_device ? CopyKind::host_to_device : CopyKind::host_to_host;
}

CUresult buffer_of(void** extra, const void*& buffer, std::size_t& size) {
  buffer = nullptr;
  size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<const std::size_t*>(extra[1]);
    else return CUDA_ERROR_INVALID_VALUE;
  }
  return buffer == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

bool valid_shape(const KernelLaunch& launch, const LaunchableFunction& function) {
  const simgpu_launch& shape = launch.shape;
  const bool empty = std::count(shape.grid, shape.grid + 3, 0U) + std::count(shape.block, shape.block + 3, 0U) > 0;
  return !empty && launch.block_threads() <= function.max_threads_per_block &&
         shape.shared_bytes <= function.max_dynamic_shared_bytes;
}

const KernelLaunch& launch_of(const NodeBody& body) { return *std::get<KernelCommand>(body.command).launch; }

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
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: operation.kind = MemoryOperation::Kind::barrier; return true;
    default: return false;
  }
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

CUresult kernel_body(const CUDA_KERNEL_NODE_PARAMS_v2& parameters, NodeBody& body) {
  Context* context = nullptr;
  if (const CUresult result = find_context(parameters.ctx, context); result != CUDA_SUCCESS) return result;
  CUfunction handle = parameters.func;
  if (handle == nullptr) handle = reinterpret_cast<CUfunction>(parameters.kern);
  LaunchableFunction function;
  if (const CUresult result = launchable_function(handle, *context->device, function); result != CUDA_SUCCESS)
    return result;
  auto launch = std::make_shared<KernelLaunch>();
  launch->image = function.image;
  launch->function = handle;
  launch->shape.grid[0] = parameters.gridDimX;
  launch->shape.grid[1] = parameters.gridDimY;
  launch->shape.grid[2] = parameters.gridDimZ;
  launch->shape.block[0] = parameters.blockDimX;
  launch->shape.block[1] = parameters.blockDimY;
  launch->shape.block[2] = parameters.blockDimZ;
  launch->shape.shared_bytes = parameters.sharedMemBytes;
  if (!valid_shape(*launch, function)) return CUDA_ERROR_INVALID_VALUE;
  if (parameters.extra != nullptr) {
    const void* buffer = nullptr;
    std::size_t size = 0;
    if (const CUresult result = buffer_of(parameters.extra, buffer, size); result != CUDA_SUCCESS) return result;
    if (!launch->set_parameter_buffer(buffer, size)) return CUDA_ERROR_INVALID_VALUE;
  } else {
    launch->set_parameters(parameters.kernelParams);
  }
  body.type = CU_GRAPH_NODE_TYPE_KERNEL;
  body.command = KernelCommand{std::move(launch)};
  return CUDA_SUCCESS;
}

// The parameter values are those of the node and stay valid until it changes, as documented.
void read_kernel(const NodeBody& body, CUDA_KERNEL_NODE_PARAMS_v2& parameters) {
  const KernelLaunch& launch = launch_of(body);
  parameters = {};
  parameters.func = launch.function;
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
  copy->set_parameters(const_cast<void* const*>(launch.shape.parameters));
  return copy;
}

CUresult get_kernel_attribute(const NodeBody& body, CUkernelNodeAttrID attribute, CUkernelNodeAttrValue& value) {
  const KernelLaunch& launch = launch_of(body);
  value = {};
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: value.priority = body.priority; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: value.cooperative = launch.cooperative ? 1 : 0; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      value.clusterDim.x = launch.cluster_blocks;
      value.clusterDim.y = 1;
      value.clusterDim.z = 1;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult set_kernel_attribute(NodeBody& body, CUkernelNodeAttrID attribute, const CUkernelNodeAttrValue& value) {
  std::shared_ptr<KernelLaunch> launch = copy_launch(launch_of(body));
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: body.priority = value.priority; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: launch->cooperative = value.cooperative != 0; break;
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
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  body.command = KernelCommand{std::move(launch)};
  return CUDA_SUCCESS;
}

CUresult copy_body(const CUDA_MEMCPY3D& parameters, NodeBody& body) {
  if (parameters.WidthInBytes == 0 || parameters.Height == 0 || parameters.Depth == 0) return CUDA_ERROR_INVALID_VALUE;
  auto box = std::make_shared<CopyBox>();
  box->width = parameters.WidthInBytes;
  box->height = parameters.Height;
  box->depth = parameters.Depth;
  std::uintptr_t from = 0;
  std::uintptr_t to = 0;
  bool from_device = false;
  bool to_device = false;
  const CopyEnd source = source_of(parameters);
  const CopyEnd destination = destination_of(parameters);
  if (const CUresult result = locate(source, box->width, from, box->source_pitch, from_device); result != CUDA_SUCCESS)
    return result;
  if (const CUresult result = locate(destination, box->width, to, box->destination_pitch, to_device);
      result != CUDA_SUCCESS)
    return result;
  box->source = reinterpret_cast<const std::byte*>(from);
  box->destination = reinterpret_cast<std::byte*>(to);
  box->source_height = source.height == 0 ? box->height : source.height;
  box->destination_height = destination.height == 0 ? box->height : destination.height;
  body.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  body.command = CopyCommand{kind_of(from_device, to_device), std::move(box)};
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
  if (from_device) parameters.srcDevice = reinterpret_cast<CUdeviceptr>(box.source);
  else parameters.srcHost = box.staged.empty() ? box.source : box.staged.data();
  if (to_device) parameters.dstDevice = reinterpret_cast<CUdeviceptr>(box.destination);
  else parameters.dstHost = box.destination;
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
  if (!sized || !accessible_ranges().find(parameters.dst)) return CUDA_ERROR_INVALID_VALUE;
  auto box = std::make_shared<SetBox>();
  box->destination = reinterpret_cast<std::byte*>(parameters.dst);
  box->pitch = parameters.height == 1 ? parameters.width * element : parameters.pitch;
  if (box->pitch < parameters.width * element) return CUDA_ERROR_INVALID_VALUE;
  box->value = parameters.value;
  box->element_bytes = element;
  box->width = parameters.width;
  box->height = parameters.height;
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
  if (record) body.command = RecordCommand{event, 0, nullptr};
  else body.command = WaitCommand{event, 0, nullptr};
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
          given.func,      given.gridDimX,  given.gridDimY,       given.gridDimZ,     given.blockDimX, given.blockDimY,
          given.blockDimZ, given.sharedMemBytes, given.kernelParams, given.extra, given.kern,      given.ctx};
      return kernel_body(kernel, body);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: return copy_body(parameters.memcpy.copyParams, body);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS_v2& given = parameters.memset;
      return set_body({given.dst, given.pitch, given.value, given.elementSize, given.width, given.height}, body);
    }
    case CU_GRAPH_NODE_TYPE_HOST: return host_body(parameters.host.fn, parameters.host.userData, body);
    case CU_GRAPH_NODE_TYPE_GRAPH: return child_body(parameters.graph, body);
    case CU_GRAPH_NODE_TYPE_EMPTY: body.type = CU_GRAPH_NODE_TYPE_EMPTY; return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return event_body(parameters.eventWait.event, false, body);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return event_body(parameters.eventRecord.event, true, body);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return memory_operations_body(parameters.memOp.paramArray, parameters.memOp.count, body);
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace simgpu
