// See the header.
#include "descriptors.h"

namespace simgpu::cudnn {
namespace {

// Attributes of a descriptor have numbers in a row.
struct KnownDescriptor {
  int type, first_attribute, last_attribute;
};
constexpr KnownDescriptor known_descriptors[] = {
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, 0, 99},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, 100, 199},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, 200, 299},
    {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 300, 399},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, 400, 499},
    {CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, 600, 699},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 700, 705},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 706, 711},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, 712, 717},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 750, 769},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 800, 899},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, 900, 999},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, 1000, 1003},
    {CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1300, 1399},
    {CUDNN_BACKEND_MATMUL_DESCRIPTOR, 1500, 1519},
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, 1520, 1599},
    {CUDNN_BACKEND_REDUCTION_DESCRIPTOR, 1600, 1609},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, 1610, 1619},
    {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, 2200, 2299},
    {CUDNN_BACKEND_RNG_DESCRIPTOR, 2300, 2309},
    {CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR, 2310, 2319},
    {CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, 2800, 2849},
    {CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR, 2850, 2899},
};

const KnownDescriptor* known(int type) {
  for (const KnownDescriptor& descriptor : known_descriptors) {
    if (descriptor.type == type) return &descriptor;
  }
  return nullptr;
}

}  // namespace

const Attribute* Content::find(int name, int attribute_type) const {
  const auto found = attributes.find(name);
  return found == attributes.end() || found->second.type != attribute_type ? nullptr : &found->second;
}

const Content* Content::child(int name) const {
  const Attribute* attribute = find(name, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  return attribute == nullptr || attribute->contents.empty() ? nullptr : attribute->contents.front().get();
}

void Content::set(int name, int attribute_type, int64_t number) {
  Attribute attribute{attribute_type, 1, std::vector<std::byte>(bytes_of_attribute_type(attribute_type)), {}};
  std::memcpy(attribute.bytes.data(), &number, attribute.bytes.size());  // little endian: the low bytes come first
  attributes[name] = std::move(attribute);
}

void Content::set_empty(int name, int attribute_type) {
  attributes[name] = {attribute_type, 0, {}, {}};
}

bool is_known_descriptor(int type) {
  return known(type) != nullptr;
}

bool belongs(int descriptor_type, int attribute) {
  const KnownDescriptor* descriptor = known(descriptor_type);
  return descriptor != nullptr && attribute >= descriptor->first_attribute && attribute <= descriptor->last_attribute;
}

size_t bytes_of_attribute_type(int attribute_type) {
  switch (attribute_type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    case CUDNN_TYPE_FRACTION:
      return 16;
    default:
      return attribute_type >= 0 && attribute_type <= CUDNN_TYPE_MOE_GROUPED_MATMUL_MODE ? 4 : 0;
  }
}

size_t bytes_of_data_type(int data_type) {
  switch (data_type) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
      return 8;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
      return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_FP8_E4M3:
    case CUDNN_DATA_FP8_E5M2:
      return 1;
    default:
      return 0;
  }
}

}  // namespace simgpu::cudnn
