// The cost of graphs of operations of the simulated cuDNN, and the graphs that it refuses.
#include "operation_graph.h"

#include <gtest/gtest.h>

#include <cstring>

namespace {

using namespace simgpu::cudnn;
using Contents = std::vector<std::shared_ptr<const Content>>;

template <class Value>
void set(Content& content, int name, int type, const std::vector<Value>& values) {
  Attribute attribute{type, static_cast<int64_t>(values.size()), {}, {}};
  attribute.bytes.resize(values.size() * sizeof(Value));
  std::memcpy(attribute.bytes.data(), values.data(), attribute.bytes.size());
  content.attributes[name] = attribute;
}

void put(Content& content, int name, const Contents& children) {
  content.attributes[name] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(children.size()), {}, children};
}

std::shared_ptr<Content> tensor(int64_t id, const std::vector<int64_t>& sizes, int type = CUDNN_DATA_BFLOAT16,
                                bool is_virtual = false) {
  auto made = std::make_shared<Content>();
  made->type = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  set<int64_t>(*made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {id});
  set<int64_t>(*made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes);
  set<int64_t>(*made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, sizes);
  set<int>(*made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {type});
  set<char>(*made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, {static_cast<char>(is_virtual)});
  return made;
}

std::shared_ptr<Content> operation(int type, const std::map<int, std::shared_ptr<Content>>& children) {
  auto made = std::make_shared<Content>();
  made->type = type;
  for (const auto& [name, child] : children) put(*made, name, {child});
  return made;
}

std::shared_ptr<Content> matmul(std::shared_ptr<Content> left, std::shared_ptr<Content> right,
                                std::shared_ptr<Content> result) {
  return operation(
      CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
      {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, left}, {1521, right}, {CUDNN_ATTR_OPERATION_MATMUL_CDESC, result}});
}

Status build_of(const Contents& operations, OperationGraph* graph) {
  Content descriptor;
  descriptor.type = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
  put(descriptor, CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
  return build(descriptor, graph);
}

// A convolution of 1 x 2 x 5 x 5 with 3 x 2 x 3 x 3.
std::shared_ptr<Content> convolution(int type = CUDNN_DATA_FLOAT, const std::vector<int64_t>& strides = {1, 1},
                                     bool is_virtual = false) {
  auto how = std::make_shared<Content>();
  how->type = CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR;
  set<int64_t>(*how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, strides);
  for (const int name : {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS})
    set<int64_t>(*how, name, CUDNN_TYPE_INT64, {0, 0});
  set<int64_t>(*how, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, {1, 1});
  return operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                   {{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, how},
                    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensor(1, {1, 2, 5, 5}, type)},
                    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tensor(2, {3, 2, 3, 3}, type)},
                    {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, tensor(3, {1, 3, 3, 3}, type, is_virtual)}});
}

TEST(OperationGraph, AConvolutionInFloatAloneHasAnEffect) {
  OperationGraph graph;
  ASSERT_EQ(build_of({convolution()}, &graph), CUDNN_STATUS_SUCCESS) << last_error();
  EXPECT_TRUE(graph.convolution.has_value() && graph.only_convolution);
  EXPECT_EQ(graph.x_id * 100 + graph.w_id * 10 + graph.y_id, 123);
  EXPECT_EQ(graph.cost.flops, 2.0 * 27 * 18);
  EXPECT_EQ(graph.cost.bytes, 4.0 * (50 + 54 + 27));
  EXPECT_EQ(graph.largest_tensor, 54);
}

TEST(OperationGraph, OtherConvolutionsTakeTimeOnly) {
  OperationGraph half, fused;
  ASSERT_EQ(build_of({convolution(CUDNN_DATA_HALF)}, &half), CUDNN_STATUS_SUCCESS);
  EXPECT_TRUE(!half.convolution.has_value() && half.only_convolution);
  EXPECT_EQ(half.cost.bytes, 2.0 * (50 + 54 + 27));
  const auto relu = operation(
      CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
      {{751, tensor(3, {1, 3, 3, 3}, CUDNN_DATA_FLOAT, true)}, {753, tensor(4, {1, 3, 3, 3}, CUDNN_DATA_FLOAT)}});
  ASSERT_EQ(build_of({convolution(CUDNN_DATA_FLOAT, {1, 1}, true), relu}, &fused), CUDNN_STATUS_SUCCESS);
  EXPECT_TRUE(!fused.convolution.has_value() && !fused.only_convolution);
  EXPECT_EQ(fused.cost.flops, 2.0 * 27 * 18 + 27);
  EXPECT_EQ(fused.cost.bytes, 4.0 * (50 + 54 + 27));  // the tensor between them stays inside
}

TEST(OperationGraph, AConvolutionNeedsStridesForItsDimensions) {
  OperationGraph graph;
  EXPECT_EQ(build_of({convolution(CUDNN_DATA_FLOAT, {1})}, &graph), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(build_of({convolution(CUDNN_DATA_FLOAT, {2, 2})}, &graph), CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
}

TEST(OperationGraph, AttentionCostsTheSameInParts) {
  const auto q = tensor(1, {2, 4, 8, 16}), k = tensor(2, {2, 4, 16, 32}), v = tensor(3, {2, 4, 32, 16});
  const auto scores = tensor(9, {2, 4, 8, 32}, CUDNN_DATA_FLOAT, true), o = tensor(4, {2, 4, 8, 16});
  OperationGraph parts, whole, backward;
  ASSERT_EQ(build_of({matmul(q, k, scores), matmul(scores, v, o)}, &parts), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(parts.cost.flops, 2.0 * (2 * 4) * (8 * 32 * 16) * 2);
  EXPECT_EQ(parts.cost.bytes, 2.0 * 8 * (8 * 16 + 2 * 32 * 16 + 8 * 16));
  ASSERT_EQ(
      build_of({operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, {{CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, q},
                                                                        {2801, k},
                                                                        {CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, v},
                                                                        {CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, o}})},
               &whole),
      CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(whole.cost.flops, parts.cost.flops);
  EXPECT_EQ(whole.cost.bytes, parts.cost.bytes);
  ASSERT_EQ(
      build_of({operation(CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR, {{CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC, q},
                                                                        {CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC, v},
                                                                        {CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC, o}})},
               &backward),
      CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(backward.cost.flops, 2.5 * parts.cost.flops);
}

TEST(OperationGraph, WhatItDoesNotKnowIsRefused) {
  OperationGraph graph;
  EXPECT_EQ(build_of({}, &graph), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(build_of({operation(27, {})}, &graph), CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);  // a concatenation
  EXPECT_EQ(build_of({operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, {})}, &graph), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(build_of({operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, {})}, &graph), CUDNN_STATUS_BAD_PARAM);
}

}  // namespace
