// The backend interface: descriptors with attributes, from which plans are made and executed. On the program's threads.
#include <algorithm>
#include <cstring>

#include "api.h"
#include "descriptors.h"
#include "operation_graph.h"

namespace simgpu::cudnn {
namespace {

std::shared_ptr<Content> finalised(int type) {
  auto content = std::make_shared<Content>();
  content->type = type;
  content->finalised = true;
  return content;
}

Attribute one(std::shared_ptr<const Content> content) {
  return {CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {std::move(content)}};
}

void describe_engine(Content& engine) {
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 0);
  engine.set_empty(CUDNN_ATTR_ENGINE_KNOB_INFO, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  engine.set_empty(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE);
  engine.set_empty(CUDNN_ATTR_ENGINE_LAYOUT_INFO, CUDNN_TYPE_LAYOUT_TYPE);
  engine.set_empty(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE);
}

void describe_configuration(Content& configuration) {
  configuration.set(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 0);
  configuration.set(CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED, CUDNN_TYPE_INT32, 0);
  if (configuration.attributes.count(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES) == 0)
    configuration.set_empty(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR);
}

// There is one engine, the first, and it takes every graph that could be built.
void find_engine(Content& heuristics) {
  const auto engine = finalised(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine->attributes[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] =
      heuristics.attributes.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  describe_engine(*engine);
  const auto configuration = finalised(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  configuration->attributes[CUDNN_ATTR_ENGINECFG_ENGINE] = one(engine);
  describe_configuration(*configuration);
  heuristics.attributes[CUDNN_ATTR_ENGINEHEUR_RESULTS] = one(configuration);
}

Status needs(const Content& content, int name) {
  if (content.child(name) != nullptr) return CUDNN_STATUS_SUCCESS;
  return fail(CUDNN_STATUS_BAD_PARAM, "a descriptor of type %d lacks its attribute %d", content.type, name);
}

Status check_tensor(const Content& tensor) {
  const Attribute* sizes = tensor.find(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64);
  const Attribute* strides = tensor.find(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64);
  if (sizes == nullptr || strides == nullptr || sizes->count != strides->count || sizes->count < 1 ||
      tensor.find(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE) == nullptr ||
      tensor.find(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64) == nullptr)
    return fail(CUDNN_STATUS_BAD_PARAM, "a tensor needs dimensions, as many strides, a data type and an id");
  return CUDNN_STATUS_SUCCESS;
}

Status check_pack(const Content& pack) {
  const Attribute* ids = pack.find(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64);
  const Attribute* pointers = pack.find(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR);
  if (ids == nullptr || pointers == nullptr || ids->count != pointers->count)
    return fail(CUDNN_STATUS_BAD_PARAM, "a variant pack needs ids and as many pointers");
  return CUDNN_STATUS_SUCCESS;
}

Status finalise_graph(Content& content) {
  const auto graph = std::make_shared<OperationGraph>();
  if (const Status status = build(content, graph.get()); status != CUDNN_STATUS_SUCCESS) return status;
  content.graph = graph;
  content.set(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, 1);
  return CUDNN_STATUS_SUCCESS;
}

Status finalise(Content& content) {
  Status status = CUDNN_STATUS_SUCCESS;
  switch (content.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return check_tensor(content);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return check_pack(content);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return finalise_graph(content);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      status = needs(content, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
      if (status == CUDNN_STATUS_SUCCESS) find_engine(content);
      return status;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      if (content.value<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 0) != 0)
        return fail(CUDNN_STATUS_NOT_SUPPORTED, "the only engine has the index 0");
      describe_engine(content);
      return needs(content, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      describe_configuration(content);
      return needs(content, CUDNN_ATTR_ENGINECFG_ENGINE);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      content.set(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 0);
      return needs(content, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    default:
      return status;
  }
}

Content* content_of(void* descriptor) {
  return descriptor == nullptr ? nullptr : static_cast<Descriptor*>(descriptor)->content.get();
}

Status copy_in(int type, int64_t count, const void* elements, Attribute* attribute) {
  *attribute = {type, count, {}, {}};
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* first = static_cast<const std::byte*>(elements);
    attribute->bytes.assign(first, first + count * static_cast<int64_t>(bytes_of_attribute_type(type)));
    return CUDNN_STATUS_SUCCESS;
  }
  for (int64_t i = 0; i < count; ++i) {
    auto* const child = static_cast<Descriptor* const*>(elements)[i];
    if (child == nullptr || !child->content->finalised)
      return fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor within a descriptor is not finalised");
    attribute->contents.push_back(child->content);
  }
  return CUDNN_STATUS_SUCCESS;
}

Status copy_out(const Attribute& attribute, int64_t count, void* elements) {
  if (attribute.type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    if (count > 0)
      std::memcpy(elements, attribute.bytes.data(),
                  static_cast<size_t>(count) * bytes_of_attribute_type(attribute.type));
    return CUDNN_STATUS_SUCCESS;
  }
  for (int64_t i = 0; i < count; ++i) {
    auto* const child = static_cast<Descriptor* const*>(elements)[i];
    const auto& content = attribute.contents[static_cast<size_t>(i)];
    if (child == nullptr || child->content->type != content->type)
      return fail(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "no descriptor of type %d to write to", content->type);
    *child = {std::const_pointer_cast<Content>(content)};  // finalised: nobody writes to it any more
  }
  return CUDNN_STATUS_SUCCESS;
}

// The operation graph at the end of plan -> configuration -> engine -> graph.
const OperationGraph* graph_of(const Content& plan) {
  const Content* content = &plan;
  for (const int name :
       {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_ATTR_ENGINE_OPERATION_GRAPH}) {
    content = content->child(name);
    if (content == nullptr) return nullptr;
  }
  return content->graph.get();
}

// Null when the pack does not have the id.
float* pointer_of(const Content& pack, int64_t id) {
  const auto ids = pack.values<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64);
  const auto pointers = pack.values<float*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR);
  const auto found = std::find(ids.begin(), ids.end(), id);
  return found == ids.end() ? nullptr : pointers[static_cast<size_t>(found - ids.begin())];
}

Status execute(const cudnnContext& handle, const OperationGraph& graph, const Content& pack) {
  if (!graph.convolution.has_value()) {
    const char* name = graph.only_convolution ? convolution_without_effect : operations_without_effect;
    return launch_time_only(handle, name, graph.cost, graph.largest_tensor);
  }
  Convolution convolution = *graph.convolution;
  convolution.x.data = pointer_of(pack, graph.x_id);
  convolution.w.data = pointer_of(pack, graph.w_id);
  convolution.y.data = pointer_of(pack, graph.y_id);
  if (convolution.x.data == nullptr || convolution.w.data == nullptr || convolution.y.data == nullptr)
    return fail(CUDNN_STATUS_BAD_PARAM, "the variant pack lacks a tensor of the convolution");
  return launch(handle, convolution, graph.cost, graph.largest_tensor);
}

}  // namespace
}  // namespace simgpu::cudnn

using namespace simgpu::cudnn;

extern "C" {

Status cudnnBackendCreateDescriptor(int type, void** descriptor) {
  if (descriptor == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no place for the descriptor");
  if (!is_known_descriptor(type))
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "descriptors of type %d are not simulated", type);
  auto content = std::make_shared<Content>();
  content->type = type;
  *descriptor = new Descriptor{std::move(content)};
  return CUDNN_STATUS_SUCCESS;
}

Status cudnnBackendDestroyDescriptor(void* descriptor) {
  delete static_cast<Descriptor*>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

Status cudnnBackendSetAttribute(void* descriptor, int name, int type, int64_t count, const void* elements) {
  Content* const content = content_of(descriptor);
  if (content == nullptr || count < 0 || (elements == nullptr && count > 0))
    return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "attribute %d: a null pointer", name);
  if (content->finalised) return fail(CUDNN_STATUS_BAD_PARAM, "attribute %d of a finalised descriptor", name);
  if (!belongs(content->type, name))
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "descriptors of type %d have no attribute %d here", content->type, name);
  if (bytes_of_attribute_type(type) == 0)
    return fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "attribute %d: unknown type %d", name, type);
  Attribute attribute;
  if (const Status status = copy_in(type, count, elements, &attribute); status != CUDNN_STATUS_SUCCESS) return status;
  content->attributes[name] = std::move(attribute);
  return CUDNN_STATUS_SUCCESS;
}

Status cudnnBackendGetAttribute(void* descriptor, int name, int type, int64_t wanted, int64_t* count, void* elements) {
  const Content* const content = content_of(descriptor);
  if (content == nullptr || wanted < 0)
    return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "attribute %d: no descriptor", name);
  if (!content->finalised) return fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "attribute %d: not finalised", name);
  const auto found = content->attributes.find(name);
  if (found == content->attributes.end())
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "descriptors of type %d have no attribute %d here", content->type, name);
  const Attribute& attribute = found->second;
  if (attribute.type != type)
    return fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "attribute %d has the type %d, not %d", name, attribute.type,
                type);
  if (count != nullptr) *count = attribute.count;
  if (elements == nullptr) return CUDNN_STATUS_SUCCESS;
  return copy_out(attribute, std::min(wanted, attribute.count), elements);
}

Status cudnnBackendFinalize(void* descriptor) {
  Content* const content = content_of(descriptor);
  if (content == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnBackendFinalize: no descriptor");
  if (content->finalised) return fail(CUDNN_STATUS_BAD_PARAM, "a descriptor is finalised twice");
  const Status status = finalise(*content);
  content->finalised = status == CUDNN_STATUS_SUCCESS;
  return status;
}

Status cudnnBackendExecute(cudnnContext* handle, void* plan, void* pack) {
  const Content *const plan_content = content_of(plan), *const pack_content = content_of(pack);
  if (handle == nullptr || plan_content == nullptr || pack_content == nullptr)
    return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnBackendExecute: a null pointer");
  if (!plan_content->finalised || !pack_content->finalised)
    return fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "cudnnBackendExecute: plan or pack is not finalised");
  const OperationGraph* const graph = graph_of(*plan_content);
  if (graph == nullptr || pack_content->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return fail(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "cudnnBackendExecute: no plan, or no variant pack");
  return execute(*handle, *graph, *pack_content);
}

}  // extern "C"
