// Entry points of the code that nvcc generates: registration of fat binaries before main, launch configuration and
// launch of
// <<<>>>, unregistration at exit. The prototypes are those of the toolkit's crt/host_runtime.h and
// crt/device_functions.h.
#include "binaries.h"
#include "context.h"
#include "launch.h"

namespace {

struct Configuration {
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  cudaStream_t stream;
};

// <<<>>> pushes, evaluates the arguments, which may contain another launch, and pops in the stub. Trivially
// destructible, because static destructors may still launch.
constexpr unsigned max_depth = 32;
thread_local Configuration configurations[max_depth];
thread_local unsigned depth = 0;

simgpu::Binary* binary(void** handle) {
  return reinterpret_cast<simgpu::Binary*>(handle);
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* image) {
  return reinterpret_cast<void**>(simgpu::binaries().add(image));
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  simgpu::binaries().remove(binary(handle));
}

void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  simgpu::binaries().add_function(binary(handle), host, name);
}

void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t size, int, int) {
  simgpu::binaries().add_variable(binary(handle), host, name, size);
}

void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int, size_t size, int, int) {
  simgpu::binaries().add_managed_variable(binary(handle), host, name, size);
}

char __cudaInitModule(void** handle) {
  return simgpu::with_context([&](const simgpu::Driver& driver) {
           return simgpu::binaries().initialise_managed(driver, binary(handle));
         }) == cudaSuccess;
}

// Anything but 0 makes the generated code skip the launch.
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream) {
  if (depth == max_depth) {
    return static_cast<unsigned>(simgpu::remember(cudaErrorInvalidConfiguration));
  }
  configurations[depth++] = {grid, block, shared_bytes, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  if (depth == 0) {
    return simgpu::remember(cudaErrorMissingConfiguration);
  }
  const Configuration& top = configurations[--depth];
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return cudaGetKernel(kernel, function);
}

SIMGPU_PAIR(__cudaLaunchKernel, _ptsz,
            (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream),
            simgpu::launch(driver, mode, kernel, grid, block, arguments, shared_bytes, stream, false))

}  // extern "C"
