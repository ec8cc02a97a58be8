// Tensors of the older interface, and batch normalisation, which PyTorch calls through it. On the program's threads.
#include <algorithm>
#include <vector>

#include "api.h"
#include "descriptors.h"

struct cudnnTensorStruct {
  int type = -1;
  std::vector<int> sizes, strides;
};

namespace simgpu::cudnn {
namespace {

constexpr size_t least_dimensions = 4, most_dimensions = 5;

// The first two dimensions stay in front; missing spatial ones have the size 1.
std::array<int64_t, 5> widened(const std::vector<int>& values, int64_t otherwise) {
  std::array<int64_t, 5> all = {values[0], values[1], otherwise, otherwise, otherwise};
  std::copy(values.begin() + 2, values.end(), all.end() - static_cast<long>(values.size() - 2));
  return all;
}

BatchNormTensor tensor_of(const cudnnTensorStruct& tensor, const void* data) {
  return {widened(tensor.strides, 0), const_cast<float*>(static_cast<const float*>(data))};
}

// Alpha and beta of the caller: double with tensors of double, else float.
float factor_of(const void* factor, int data_type) {
  return data_type == CUDNN_DATA_DOUBLE ? static_cast<float>(*static_cast<const double*>(factor))
                                        : *static_cast<const float*>(factor);
}

// The tensors of a call, of which `others` have the sizes and the type of the first.
Status check(const cudnnContext* handle, int mode, std::initializer_list<const void*> pointers,
             const cudnnTensorStruct* x, std::initializer_list<const cudnnTensorStruct*> others) {
  if (handle == nullptr || x == nullptr || std::count(pointers.begin(), pointers.end(), nullptr) != 0)
    return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "batch normalisation: a null pointer");
  if (x->sizes.size() < least_dimensions || x->sizes.size() > most_dimensions || bytes_of_data_type(x->type) == 0)
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "batch normalisation: %zu dimensions, data type %d", x->sizes.size(),
                x->type);
  for (const cudnnTensorStruct* other : others) {
    if (other == nullptr || other->type != x->type || other->sizes != x->sizes)
      return fail(CUDNN_STATUS_BAD_PARAM, "batch normalisation: tensors of different sizes or types");
  }
  const bool one_place = std::all_of(x->sizes.begin() + 2, x->sizes.end(), [](int size) { return size == 1; });
  if (mode == CUDNN_BATCHNORM_PER_ACTIVATION && !one_place)
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "batch normalisation for each activation is not simulated");
  if (mode < CUDNN_BATCHNORM_PER_ACTIVATION || mode > CUDNN_BATCHNORM_SPATIAL_PERSISTENT)
    return fail(CUDNN_STATUS_BAD_PARAM, "batch normalisation: no mode %d", mode);
  return CUDNN_STATUS_SUCCESS;
}

Status check_operations(int operations) {
  if (operations == CUDNN_BATCHNORM_OPS_BN) return CUDNN_STATUS_SUCCESS;
  return fail(CUDNN_STATUS_NOT_SUPPORTED, "batch normalisation with an activation or a sum is not simulated");
}

// Its effect is simulated for float32.
Status run(const cudnnContext& handle, const BatchNorm& norm, int data_type) {
  const simgpu_cost cost = cost_of(norm, static_cast<double>(bytes_of_data_type(data_type)));
  if (data_type == CUDNN_DATA_FLOAT) return launch(handle, norm, cost, norm.elements());
  return launch_time_only(handle, batch_norm_without_effect, cost, norm.elements());
}

Status no_bytes(int operations, size_t* bytes) {
  if (bytes == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no place for a size");
  *bytes = 0;
  return check_operations(operations);
}

float* floats(const void* data) {
  return const_cast<float*>(static_cast<const float*>(data));
}

}  // namespace
}  // namespace simgpu::cudnn

using namespace simgpu::cudnn;

extern "C" {

Status cudnnCreateTensorDescriptor(cudnnTensorStruct** descriptor) {
  if (descriptor == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no place for the descriptor");
  *descriptor = new cudnnTensorStruct;
  return CUDNN_STATUS_SUCCESS;
}

Status cudnnDestroyTensorDescriptor(cudnnTensorStruct* descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

Status cudnnSetTensorNdDescriptor(cudnnTensorStruct* descriptor, int type, int dimensions, const int* sizes,
                                  const int* strides) {
  if (descriptor == nullptr || sizes == nullptr || strides == nullptr || dimensions < 1)
    return fail(CUDNN_STATUS_BAD_PARAM, "cudnnSetTensorNdDescriptor: no sizes or strides");
  *descriptor = {type, {sizes, sizes + dimensions}, {strides, strides + dimensions}};
  return CUDNN_STATUS_SUCCESS;
}

Status cudnnGetTensorNdDescriptor(const cudnnTensorStruct* descriptor, int wanted, int* type, int* dimensions,
                                  int* sizes, int* strides) {
  if (descriptor == nullptr || type == nullptr || dimensions == nullptr || sizes == nullptr || strides == nullptr)
    return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnGetTensorNdDescriptor: a null pointer");
  *type = descriptor->type;
  *dimensions = static_cast<int>(descriptor->sizes.size());
  const int count = std::clamp(wanted, 0, *dimensions);
  std::copy_n(descriptor->sizes.begin(), count, sizes);
  std::copy_n(descriptor->strides.begin(), count, strides);
  return CUDNN_STATUS_SUCCESS;
}

Status cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(cudnnContext*, int, int operations,
                                                                const cudnnTensorStruct*, const cudnnTensorStruct*,
                                                                const cudnnTensorStruct*, const cudnnTensorStruct*,
                                                                void*, size_t* bytes) {
  return no_bytes(operations, bytes);
}

Status cudnnGetBatchNormalizationBackwardExWorkspaceSize(cudnnContext*, int, int operations, const cudnnTensorStruct*,
                                                         const cudnnTensorStruct*, const cudnnTensorStruct*,
                                                         const cudnnTensorStruct*, const cudnnTensorStruct*,
                                                         const cudnnTensorStruct*, void*, size_t* bytes) {
  return no_bytes(operations, bytes);
}

Status cudnnGetBatchNormalizationTrainingExReserveSpaceSize(cudnnContext*, int, int operations, void*,
                                                            const cudnnTensorStruct*, size_t* bytes) {
  return no_bytes(operations, bytes);
}

Status cudnnBatchNormalizationForwardTrainingEx(cudnnContext* handle, int mode, int operations, const void* alpha,
                                                const void* beta, const cudnnTensorStruct* x, const void* x_data,
                                                const cudnnTensorStruct*, const void*, const cudnnTensorStruct* y,
                                                void* y_data, const cudnnTensorStruct*, const void* scale,
                                                const void* bias, double factor, void* running_mean,
                                                void* running_variance, double epsilon, void* saved_mean,
                                                void* saved_inverse_deviation, void*, void*, size_t, void*, size_t) {
  Status status = check_operations(operations);
  if (status == CUDNN_STATUS_SUCCESS) status = check(handle, mode, {alpha, beta, x_data, y_data, scale, bias}, x, {y});
  if (status != CUDNN_STATUS_SUCCESS) return status;
  BatchNorm norm{};
  norm.pass = BatchNorm::Pass::training;
  norm.sizes = widened(x->sizes, 1);
  norm.x = tensor_of(*x, x_data), norm.y = tensor_of(*y, y_data);
  norm.scale = floats(scale), norm.bias = floats(bias);
  norm.running_mean = floats(running_mean), norm.running_variance = floats(running_variance);
  norm.saved_mean = floats(saved_mean), norm.saved_inverse_deviation = floats(saved_inverse_deviation);
  norm.factor = factor, norm.epsilon = epsilon;
  norm.alpha = factor_of(alpha, x->type), norm.beta = factor_of(beta, x->type);
  return run(*handle, norm, x->type);
}

Status cudnnBatchNormalizationForwardInference(cudnnContext* handle, int mode, const void* alpha, const void* beta,
                                               const cudnnTensorStruct* x, const void* x_data,
                                               const cudnnTensorStruct* y, void* y_data, const cudnnTensorStruct*,
                                               const void* scale, const void* bias, const void* mean,
                                               const void* variance, double epsilon) {
  const Status status = check(handle, mode, {alpha, beta, x_data, y_data, scale, bias, mean, variance}, x, {y});
  if (status != CUDNN_STATUS_SUCCESS) return status;
  BatchNorm norm{};
  norm.pass = BatchNorm::Pass::inference;
  norm.sizes = widened(x->sizes, 1);
  norm.x = tensor_of(*x, x_data), norm.y = tensor_of(*y, y_data);
  norm.scale = floats(scale), norm.bias = floats(bias);
  norm.running_mean = floats(mean), norm.running_variance = floats(variance);
  norm.epsilon = epsilon;
  norm.alpha = factor_of(alpha, x->type), norm.beta = factor_of(beta, x->type);
  return run(*handle, norm, x->type);
}

Status cudnnBatchNormalizationBackwardEx(cudnnContext* handle, int mode, int operations, const void* alpha,
                                         const void* beta, const void* parameter_alpha, const void* parameter_beta,
                                         const cudnnTensorStruct* x, const void* x_data, const cudnnTensorStruct*,
                                         const void*, const cudnnTensorStruct* dy, const void* dy_data,
                                         const cudnnTensorStruct*, void*, const cudnnTensorStruct* dx, void* dx_data,
                                         const cudnnTensorStruct*, const void* scale, const void*, void* scale_gradient,
                                         void* bias_gradient, double epsilon, const void* saved_mean,
                                         const void* saved_inverse_deviation, void*, void*, size_t, void*, size_t) {
  Status status = check_operations(operations);
  if (status == CUDNN_STATUS_SUCCESS)
    status = check(
        handle, mode,
        {alpha, beta, parameter_alpha, parameter_beta, x_data, dy_data, dx_data, scale, scale_gradient, bias_gradient},
        x, {dy, dx});
  if (status != CUDNN_STATUS_SUCCESS) return status;
  BatchNorm norm{};
  norm.pass = BatchNorm::Pass::backward;
  norm.sizes = widened(x->sizes, 1);
  norm.x = tensor_of(*x, x_data), norm.y = tensor_of(*dy, dy_data), norm.dx = tensor_of(*dx, dx_data);
  norm.scale = floats(scale);
  norm.saved_mean = floats(saved_mean), norm.saved_inverse_deviation = floats(saved_inverse_deviation);
  norm.scale_gradient = floats(scale_gradient), norm.bias_gradient = floats(bias_gradient);
  norm.epsilon = epsilon;
  norm.alpha = factor_of(alpha, x->type), norm.beta = factor_of(beta, x->type);
  norm.parameter_alpha = factor_of(parameter_alpha, x->type);
  norm.parameter_beta = factor_of(parameter_beta, x->type);
  return run(*handle, norm, x->type);
}

}  // extern "C"
