// The exported functions, as cuDNN's public headers declare them but for the names of types: numbers are int,
// descriptors of the backend interface void*. functions.def is the list; the refused ones take whatever they are given.
#ifndef SIMGPU_CUDNN_API_H
#define SIMGPU_CUDNN_API_H

#include <cstddef>
#include <cstdint>

#include "launch.h"
#include "numbers.h"

// A tensor of the older interface.
struct cudnnTensorStruct;

#pragma GCC visibility push(default)
extern "C" {

size_t cudnnGetVersion();
size_t cudnnGetCudartVersion();
simgpu::cudnn::Status cudnnGetProperty(int kind, int* value);
const char* cudnnGetErrorString(simgpu::cudnn::Status status);
void cudnnGetLastErrorString(char* message, size_t size);
simgpu::cudnn::Status cudnnCreate(cudnnContext** handle);
simgpu::cudnn::Status cudnnDestroy(cudnnContext* handle);
simgpu::cudnn::Status cudnnSetStream(cudnnContext* handle, CUstream stream);
simgpu::cudnn::Status cudnnGetStream(cudnnContext* handle, CUstream* stream);

simgpu::cudnn::Status cudnnBackendCreateDescriptor(int type, void** descriptor);
simgpu::cudnn::Status cudnnBackendDestroyDescriptor(void* descriptor);
simgpu::cudnn::Status cudnnBackendSetAttribute(void* descriptor, int name, int type, int64_t count,
                                               const void* elements);
simgpu::cudnn::Status cudnnBackendGetAttribute(void* descriptor, int name, int type, int64_t wanted, int64_t* count,
                                               void* elements);
simgpu::cudnn::Status cudnnBackendFinalize(void* descriptor);
simgpu::cudnn::Status cudnnBackendExecute(cudnnContext* handle, void* plan, void* pack);

simgpu::cudnn::Status cudnnCreateTensorDescriptor(cudnnTensorStruct** descriptor);
simgpu::cudnn::Status cudnnDestroyTensorDescriptor(cudnnTensorStruct* descriptor);
simgpu::cudnn::Status cudnnSetTensorNdDescriptor(cudnnTensorStruct* descriptor, int type, int dimensions,
                                                 const int* sizes, const int* strides);
simgpu::cudnn::Status cudnnGetTensorNdDescriptor(const cudnnTensorStruct* descriptor, int wanted, int* type,
                                                 int* dimensions, int* sizes, int* strides);
simgpu::cudnn::Status cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnContext* handle, int mode, int operations, const cudnnTensorStruct* x, const cudnnTensorStruct* z,
    const cudnnTensorStruct* y, const cudnnTensorStruct* parameters, void* activation, size_t* bytes);
simgpu::cudnn::Status cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnContext* handle, int mode, int operations, const cudnnTensorStruct* x, const cudnnTensorStruct* y,
    const cudnnTensorStruct* dy, const cudnnTensorStruct* dz, const cudnnTensorStruct* dx,
    const cudnnTensorStruct* parameters, void* activation, size_t* bytes);
simgpu::cudnn::Status cudnnGetBatchNormalizationTrainingExReserveSpaceSize(cudnnContext* handle, int mode,
                                                                           int operations, void* activation,
                                                                           const cudnnTensorStruct* x, size_t* bytes);
simgpu::cudnn::Status cudnnBatchNormalizationForwardTrainingEx(
    cudnnContext* handle, int mode, int operations, const void* alpha, const void* beta, const cudnnTensorStruct* x,
    const void* x_data, const cudnnTensorStruct* z, const void* z_data, const cudnnTensorStruct* y, void* y_data,
    const cudnnTensorStruct* parameters, const void* scale, const void* bias, double factor, void* running_mean,
    void* running_variance, double epsilon, void* saved_mean, void* saved_inverse_deviation, void* activation,
    void* workspace, size_t workspace_bytes, void* reserve, size_t reserve_bytes);
simgpu::cudnn::Status cudnnBatchNormalizationForwardInference(cudnnContext* handle, int mode, const void* alpha,
                                                              const void* beta, const cudnnTensorStruct* x,
                                                              const void* x_data, const cudnnTensorStruct* y,
                                                              void* y_data, const cudnnTensorStruct* parameters,
                                                              const void* scale, const void* bias, const void* mean,
                                                              const void* variance, double epsilon);
simgpu::cudnn::Status cudnnBatchNormalizationBackwardEx(
    cudnnContext* handle, int mode, int operations, const void* alpha, const void* beta, const void* parameter_alpha,
    const void* parameter_beta, const cudnnTensorStruct* x, const void* x_data, const cudnnTensorStruct* y,
    const void* y_data, const cudnnTensorStruct* dy, const void* dy_data, const cudnnTensorStruct* dz, void* dz_data,
    const cudnnTensorStruct* dx, void* dx_data, const cudnnTensorStruct* parameters, const void* scale,
    const void* bias, void* scale_gradient, void* bias_gradient, double epsilon, const void* saved_mean,
    const void* saved_inverse_deviation, void* activation, void* workspace, size_t workspace_bytes, void* reserve,
    size_t reserve_bytes);

#define SIMULATED(name)
#define REFUSED(name) simgpu::cudnn::Status name();
#include "functions.def"
#undef SIMULATED
#undef REFUSED

}  // extern "C"
#pragma GCC visibility pop

#endif
