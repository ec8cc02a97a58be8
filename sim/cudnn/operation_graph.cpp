// See the header.
#include "operation_graph.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace simgpu::cudnn {
namespace {

// The attributes of the three kinds of convolution stand in the same order.
struct ConvolutionNames {
  int type, alpha, beta, descriptor, w, x, y;
  Convolution::Result result;
};
constexpr ConvolutionNames convolutions[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, Convolution::Result::y},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, Convolution::Result::x},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, Convolution::Result::w},
};

const ConvolutionNames* convolution_names(int type) {
  const auto* found = std::find_if(std::begin(convolutions), std::end(convolutions),
                                   [&](const ConvolutionNames& names) { return names.type == type; });
  return found == std::end(convolutions) ? nullptr : found;
}

std::vector<int64_t> sizes_of(const Content& tensor) {
  return tensor.values<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64);
}

int64_t elements_of(const Content& tensor) {
  const std::vector<int64_t> sizes = sizes_of(tensor);
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

int data_type_of(const Content& tensor) {
  return tensor.value<int>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, -1);
}

bool is_set(const Content& tensor, int flag) {
  return tensor.value<char>(flag, CUDNN_TYPE_BOOLEAN, 0) != 0;
}

bool is_plain_float(const Content& tensor) {
  return data_type_of(tensor) == CUDNN_DATA_FLOAT && !is_set(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL) &&
         tensor.value<int64_t>(CUDNN_ATTR_TENSOR_VECTOR_COUNT, CUDNN_TYPE_INT64, 1) == 1;
}

// `sizes` and `strides` of as many dimensions as the spatial ones and two.
ConvolutionTensor tensor_of(const Content& descriptor) {
  const std::vector<int64_t> sizes = sizes_of(descriptor);
  const std::vector<int64_t> strides = descriptor.values<int64_t>(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64);
  ConvolutionTensor tensor{sizes[0], sizes[1], {1, 1, 1}, strides[0], strides[1], {0, 0, 0}, nullptr};
  const size_t missing = most_spatial_dimensions + 2 - sizes.size();
  std::copy(sizes.begin() + 2, sizes.end(), tensor.extents.begin() + missing);
  std::copy(strides.begin() + 2, strides.end(), tensor.strides.begin() + missing);
  return tensor;
}

// Alpha and beta: one number of float or double.
float factor_of(const Content& operation, int name, float otherwise) {
  const auto single = operation.value<float>(name, CUDNN_TYPE_FLOAT, otherwise);
  return static_cast<float>(operation.value<double>(name, CUDNN_TYPE_DOUBLE, single));
}

// One number for each of the spatial dimensions; fewer of them than three stand at the end. False where there are
// others.
bool extents_of(const Content& how, int name, size_t spatial, int64_t otherwise, Extents* out) {
  const std::vector<int64_t> values = how.values<int64_t>(name, CUDNN_TYPE_INT64);
  if (values.size() != spatial) return false;
  *out = {otherwise, otherwise, otherwise};
  std::copy(values.begin(), values.end(), out->end() - spatial);
  return true;
}

// Strides, dilations and paddings.
Status geometry_of(const Content& how, size_t spatial, Convolution* out) {
  if (spatial < 1 || spatial > most_spatial_dimensions)
    return fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "convolutions have 1 to 3 spatial dimensions, not %zu", spatial);
  if (!extents_of(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, spatial, 1, &out->stride) ||
      !extents_of(how, CUDNN_ATTR_CONVOLUTION_DILATIONS, spatial, 1, &out->dilation) ||
      !extents_of(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, spatial, 0, &out->padding_before) ||
      !extents_of(how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, spatial, 0, &out->padding_after))
    return fail(CUDNN_STATUS_BAD_PARAM, "a convolution needs strides, dilations and paddings for %zu dimensions",
                spatial);
  out->flipped = how.value<int>(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                                CUDNN_CROSS_CORRELATION) == CUDNN_CONVOLUTION;
  return CUDNN_STATUS_SUCCESS;
}

Status convolution_of(const Content& operation, const ConvolutionNames& names, Convolution* out) {
  const Content* const how = operation.child(names.descriptor);
  const Content* const tensors[] = {operation.child(names.x), operation.child(names.w), operation.child(names.y)};
  if (how == nullptr || std::count(std::begin(tensors), std::end(tensors), nullptr) != 0)
    return fail(CUDNN_STATUS_BAD_PARAM, "a convolution lacks one of its descriptors");
  const size_t dimensions = sizes_of(*tensors[0]).size();
  if (const Status status = geometry_of(*how, dimensions < 2 ? 0 : dimensions - 2, out); status != CUDNN_STATUS_SUCCESS)
    return status;
  for (const Content* tensor : tensors) {
    if (sizes_of(*tensor).size() != dimensions)
      return fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "the tensors of a convolution have different dimensions");
  }
  out->result = names.result;
  out->x = tensor_of(*tensors[0]), out->w = tensor_of(*tensors[1]), out->y = tensor_of(*tensors[2]);
  out->alpha = factor_of(operation, names.alpha, 1), out->beta = factor_of(operation, names.beta, 0);
  if (!consistent(*out)) return fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "the tensors of a convolution do not fit");
  return CUDNN_STATUS_SUCCESS;
}

Status add_convolution(const Content& operation, const ConvolutionNames& names, bool alone, OperationGraph* graph) {
  Convolution convolution{};
  if (const Status status = convolution_of(operation, names, &convolution); status != CUDNN_STATUS_SUCCESS)
    return status;
  graph->cost.flops += cost_of(convolution, 0).flops;
  const Content &x = *operation.child(names.x), &w = *operation.child(names.w), &y = *operation.child(names.y);
  graph->only_convolution = alone;
  if (!alone || !is_plain_float(x) || !is_plain_float(w) || !is_plain_float(y)) return CUDNN_STATUS_SUCCESS;
  const auto id = [](const Content& tensor) {
    return tensor.value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 0);
  };
  graph->x_id = id(x), graph->w_id = id(w), graph->y_id = id(y);
  graph->convolution = convolution;
  return CUDNN_STATUS_SUCCESS;
}

// All tensors of an operation.
std::vector<const Content*> tensors_of(const Content& operation) {
  std::vector<const Content*> tensors;
  for (const auto& [name, attribute] : operation.attributes) {
    for (const auto& content : attribute.contents) {
      if (content->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) tensors.push_back(content.get());
    }
  }
  return tensors;
}

Status add_matmul(const Content& operation, OperationGraph* graph) {
  const Content* const left = operation.child(CUDNN_ATTR_OPERATION_MATMUL_ADESC);
  const Content* const result = operation.child(CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  if (left == nullptr || result == nullptr || sizes_of(*left).empty())
    return fail(CUDNN_STATUS_BAD_PARAM, "a matmul lacks one of its tensors");
  graph->cost.flops += 2 * static_cast<double>(elements_of(*result)) * static_cast<double>(sizes_of(*left).back());
  return CUDNN_STATUS_SUCCESS;
}

// Attention as one operation: matmuls of the sizes q x keys and o x keys, of either kind one forward, and three and two
// backward.
struct Attention {
  int q, v, o;
  double over_q, over_o;
};
constexpr Attention forward_attention = {CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC,
                                         CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, 1, 1};
constexpr Attention backward_attention = {CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC, CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC,
                                          CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC, 3, 2};

Status add_attention(const Content& operation, const Attention& attention, OperationGraph* graph) {
  const Content *const q = operation.child(attention.q), *const v = operation.child(attention.v),
                       *const o = operation.child(attention.o);
  // v: batch, heads, keys, size of a head
  if (q == nullptr || v == nullptr || o == nullptr || sizes_of(*v).size() != 4)
    return fail(CUDNN_STATUS_BAD_PARAM, "attention lacks one of its tensors");
  graph->cost.flops += 2 * static_cast<double>(sizes_of(*v)[2]) *
                       (attention.over_q * static_cast<double>(elements_of(*q)) +
                        attention.over_o * static_cast<double>(elements_of(*o)));
  return CUDNN_STATUS_SUCCESS;
}

Status add(const Content& operation, bool alone, OperationGraph* graph) {
  if (const ConvolutionNames* names = convolution_names(operation.type))
    return add_convolution(operation, *names, alone, graph);
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return add_matmul(operation, graph);
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
      return add_attention(operation, forward_attention, graph);
    case CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR:
      return add_attention(operation, backward_attention, graph);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR:
      break;
    default:
      return fail(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "operations of descriptor type %d are not simulated",
                  operation.type);
  }
  int64_t most = 0;
  for (const Content* tensor : tensors_of(operation)) most = std::max(most, elements_of(*tensor));
  graph->cost.flops += static_cast<double>(most);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

Status build(const Content& descriptor, OperationGraph* graph) {
  const Attribute* const operations = descriptor.find(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  if (operations == nullptr || operations->contents.empty())
    return fail(CUDNN_STATUS_BAD_PARAM, "an operation graph without operations");
  std::set<int64_t> seen;
  for (const auto& operation : operations->contents) {
    if (const Status status = add(*operation, operations->contents.size() == 1, graph); status != CUDNN_STATUS_SUCCESS)
      return status;
    for (const Content* tensor : tensors_of(*operation)) {
      graph->largest_tensor = std::max(graph->largest_tensor, elements_of(*tensor));
      if (is_set(*tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL) || is_set(*tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE)) continue;
      if (!seen.insert(tensor->value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 0)).second) continue;
      graph->cost.bytes +=
          static_cast<double>(elements_of(*tensor)) * static_cast<double>(bytes_of_data_type(data_type_of(*tensor)));
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace simgpu::cudnn
