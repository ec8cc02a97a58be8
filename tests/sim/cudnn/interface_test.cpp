// The exported functions of the simulated cuDNN, as PyTorch calls them: names, statuses, and operations on a stream.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api.h"

namespace {

using namespace simgpu::cudnn;

#define EXPECT_STATUS(call, status) EXPECT_EQ(call, status) << last_error()
#define EXPECT_FINE(call) EXPECT_STATUS(call, CUDNN_STATUS_SUCCESS)

std::string last_error() {
  char text[256];
  cudnnGetLastErrorString(text, sizeof text);
  return text;
}

std::set<std::string> listed() {
  return {
#define SIMULATED(name) #name,
#define REFUSED(name) #name,
#include "functions.def"
#undef SIMULATED
#undef REFUSED
  };
}

TEST(Exports, AreThoseOfTheListWithTheVersionOfTheRealLibrary) {
  std::set<std::string> found;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(NM " -D --defined-only '" SIMULATED_CUDNN "'", "r"), pclose);
  std::array<char, 1024> line;
  while (fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    char name[512] = "";
    if (std::sscanf(line.data(), "%*x %*c %511s", name) != 1 || std::string(name) == "libcudnn.so.9") continue;
    const std::string text = name;
    const size_t version = text.find("@@libcudnn.so.9");
    EXPECT_NE(version, std::string::npos) << text;
    found.insert(text.substr(0, version));
  }
  EXPECT_EQ(found, listed());
}

TEST(Versions, AreThatOfPyTorchsOwn) {
  EXPECT_EQ(cudnnGetVersion(), 91900u);
  int major = 0, minor = 0;
  EXPECT_FINE(cudnnGetProperty(0, &major));
  EXPECT_FINE(cudnnGetProperty(1, &minor));
  EXPECT_EQ(major * 100 + minor, 919);
  EXPECT_STATUS(cudnnGetProperty(3, &major), CUDNN_STATUS_BAD_PARAM);
}

TEST(Refused, SayWhichFunctionOnce) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudnnCreateRNNDescriptor(), CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cudnnCreateRNNDescriptor(), CUDNN_STATUS_NOT_SUPPORTED);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "simulated cuDNN: cudnnCreateRNNDescriptor is not simulated (sim/cudnn/README.md)\n");
  EXPECT_EQ(said, "simulated cuDNN: " + last_error() + "\n");
  EXPECT_STREQ(cudnnGetErrorString(CUDNN_STATUS_NOT_SUPPORTED), "CUDNN_STATUS_NOT_SUPPORTED");
}

// A descriptor of the backend interface.
class Described {
 public:
  explicit Described(int type) { EXPECT_FINE(cudnnBackendCreateDescriptor(type, &raw)); }
  ~Described() { cudnnBackendDestroyDescriptor(raw); }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
  template <class Value>
  Described& set(int name, int type, const std::vector<Value>& values) {
    EXPECT_FINE(cudnnBackendSetAttribute(raw, name, type, static_cast<int64_t>(values.size()), values.data()));
    return *this;
  }
  Described& set(int name, const std::vector<int64_t>& values) { return set(name, CUDNN_TYPE_INT64, values); }
  Described& put(int name, const Described& child) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::vector<void*>{child.raw});
  }
  Described& finish() {
    EXPECT_FINE(cudnnBackendFinalize(raw));
    return *this;
  }
  void* raw = nullptr;
};

class Backend : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    // No context is current: cudnnCreate gets that of the first device.
    ASSERT_FINE(cudnnCreate(&handle_));
    CUcontext context = nullptr;
    ASSERT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
    ASSERT_NE(context, nullptr);
    ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_FINE(cudnnSetStream(handle_, stream_));
    CUstream found = nullptr;
    EXPECT_FINE(cudnnGetStream(handle_, &found));
    EXPECT_EQ(found, stream_);
  }
  void TearDown() override { EXPECT_FINE(cudnnDestroy(handle_)); }
  void ASSERT_FINE(Status status) { ASSERT_EQ(status, CUDNN_STATUS_SUCCESS) << last_error(); }

  // Device memory with the values; host code can read it.
  static float* device(const std::vector<float>& values) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc(&address, values.size() * sizeof(float)), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyHtoD(address, values.data(), values.size() * sizeof(float)), CUDA_SUCCESS);
    return reinterpret_cast<float*>(address);
  }

  static std::unique_ptr<Described> tensor(int64_t id, const std::vector<int64_t>& sizes, int type = CUDNN_DATA_FLOAT) {
    std::vector<int64_t> strides(sizes.size(), 1);
    for (size_t i = sizes.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * sizes[i];
    auto made = std::make_unique<Described>(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    made->set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id})
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes)
        .set(CUDNN_ATTR_TENSOR_STRIDES, strides)
        .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, std::vector<int>{type})
        .finish();
    return made;
  }

  // A forward convolution of one dimension, of 1 x 1 x 4 with 1 x 1 x 2.
  Status convolve(float* x, float* w, float* y, int64_t y_size = 3, int type = CUDNN_DATA_FLOAT) {
    Described how(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    how.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {1})
        .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {1})
        .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {1})
        .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {0})
        .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {0})
        .finish();
    Described operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    operation.put(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, how)
        .put(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, *tensor('x', {1, 1, 4}, type))
        .put(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, *tensor('w', {1, 1, 2}, type))
        .put(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, *tensor('y', {1, 1, y_size}, type))
        .finish();
    Described graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.put(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    if (const Status status = cudnnBackendFinalize(graph.raw); status != CUDNN_STATUS_SUCCESS) return status;
    return execute(graph, {'x', 'w', 'y'}, {x, w, y});
  }

  Status execute(const Described& graph, const std::vector<int64_t>& ids, const std::vector<float*>& pointers) {
    Described heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.put(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).finish();
    Described configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    int64_t count = 0;
    EXPECT_FINE(cudnnBackendGetAttribute(heuristics.raw, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                         1, &count, &configuration.raw));
    EXPECT_EQ(count, 1);
    Described plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.put(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration).finish();
    int64_t workspace = -1;
    EXPECT_FINE(cudnnBackendGetAttribute(plan.raw, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                         nullptr, &workspace));
    EXPECT_EQ(workspace, 0);
    Described pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers)
        .finish();
    const Status status = cudnnBackendExecute(handle_, plan.raw, pack.raw);
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    return status;
  }

  cudnnContext* handle_ = nullptr;
  CUstream stream_ = nullptr;
};

TEST_F(Backend, ConvolvesOnTheStreamOfTheHandle) {
  float *x = device({1, 2, 3, 4}), *w = device({1, 10}), *y = device({0, 0, 0});
  EXPECT_FINE(convolve(x, w, y));
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{21, 32, 43}));
}

TEST_F(Backend, OtherTypesTakeTimeAndWriteNothing) {
  float *x = device({1, 2, 3, 4}), *w = device({1, 10}), *y = device({5, 6, 7});
  EXPECT_FINE(convolve(x, w, y, 3, CUDNN_DATA_BFLOAT16));
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{5, 6, 7}));
}

TEST_F(Backend, RefusesTensorsThatDoNotFit) {
  float* some = device({1, 2, 3, 4});
  EXPECT_EQ(convolve(some, some, some, 2), CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
}

TEST_F(Backend, RefusesAPackThatLacksATensor) {
  float* some = device({1, 2, 3, 4});
  EXPECT_EQ(convolve(some, nullptr, some), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(Backend, RefusesWhatItDoesNotKnow) {
  void* descriptor = nullptr;
  EXPECT_EQ(cudnnBackendCreateDescriptor(29, &descriptor), CUDNN_STATUS_NOT_SUPPORTED);  // NORM_FORWARD
  Described tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const int64_t number = 1;
  EXPECT_EQ(cudnnBackendSetAttribute(tensor.raw, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &number),
            CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cudnnBackendSetAttribute(tensor.raw, CUDNN_ATTR_TENSOR_UNIQUE_ID, 99, 1, &number),
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  EXPECT_EQ(cudnnBackendFinalize(tensor.raw), CUDNN_STATUS_BAD_PARAM);  // it has no dimensions
  Described graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  EXPECT_EQ(
      cudnnBackendSetAttribute(graph.raw, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensor.raw),
      CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  EXPECT_EQ(cudnnBackendFinalize(graph.raw), CUDNN_STATUS_BAD_PARAM);
  // An operation that is none.
  graph.put(CUDNN_ATTR_OPERATIONGRAPH_OPS, Described(CUDNN_BACKEND_MATMUL_DESCRIPTOR).finish());
  EXPECT_EQ(cudnnBackendFinalize(graph.raw), CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
}

TEST_F(Backend, AFinalisedDescriptorStaysAsItIs) {
  const auto x = tensor(1, {2, 3});
  const int64_t number = 2;
  EXPECT_EQ(cudnnBackendSetAttribute(x->raw, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &number),
            CUDNN_STATUS_BAD_PARAM);
  int64_t sizes[4] = {}, count = 0;
  EXPECT_FINE(cudnnBackendGetAttribute(x->raw, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, &count, sizes));
  EXPECT_EQ(count, 2);
  EXPECT_EQ(sizes[0] * 10 + sizes[1], 23);
  EXPECT_EQ(cudnnBackendGetAttribute(x->raw, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_FLOAT, 4, &count, sizes),
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
}

TEST_F(Backend, NormalisesABatch) {
  cudnnTensorStruct* shape = nullptr;
  EXPECT_FINE(cudnnCreateTensorDescriptor(&shape));
  const int sizes[] = {4, 1, 1, 1}, strides[] = {1, 1, 1, 1};
  EXPECT_FINE(cudnnSetTensorNdDescriptor(shape, CUDNN_DATA_FLOAT, 4, sizes, strides));
  float *x = device({1, 1, 3, 3}), *y = device({0, 0, 0, 0}), *one = device({1}), *zero = device({0});
  const float alpha = 1, beta = 0;
  const auto train = [&](int mode, int operations) {
    return cudnnBatchNormalizationForwardTrainingEx(handle_, mode, operations, &alpha, &beta, shape, x, nullptr,
                                                    nullptr, shape, y, shape, one, zero, 0.1, nullptr, nullptr, 0,
                                                    nullptr, nullptr, nullptr, nullptr, 0, nullptr, 0);
  };
  EXPECT_FINE(train(CUDNN_BATCHNORM_SPATIAL, CUDNN_BATCHNORM_OPS_BN));
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{-1, -1, 1, 1}));
  EXPECT_EQ(train(CUDNN_BATCHNORM_SPATIAL, 1), CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(train(3, CUDNN_BATCHNORM_OPS_BN), CUDNN_STATUS_BAD_PARAM);
  int type = -1, dimensions = 0, found_sizes[4], found_strides[4];
  EXPECT_FINE(cudnnGetTensorNdDescriptor(shape, 4, &type, &dimensions, found_sizes, found_strides));
  EXPECT_EQ(dimensions * 100 + found_sizes[0] * 10 + type, 440);
  EXPECT_FINE(cudnnDestroyTensorDescriptor(shape));
}

}  // namespace
