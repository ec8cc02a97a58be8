// Common to every runtime call: the driver is there, the thread has a context, the result is remembered as the
// thread's last error. Any thread; nothing here may throw into the caller.
#pragma once

#include <cuda_runtime_api.h>

#include "driver.h"

namespace simgpu {

cudaError_t to_runtime(CUresult result);
inline cudaError_t to_runtime(cudaError_t error) {
  return error;
}

// Remembers `error` for cudaGetLastError of this thread unless it is success; returns it.
cudaError_t remember(cudaError_t error);

// Loads and initialises the driver at the first call. On success `table` is set.
cudaError_t acquire_driver(const Driver*& table);

// Makes sure that this thread has a current context: the one it has, else the primary context of its device.
cudaError_t acquire_context(const Driver& table);

// The device the thread's calls go to, its primary context (retained once for the process) made current.
cudaError_t select_device(const Driver& table, int device);
cudaError_t current_device(const Driver& table, int& device);
// Destroys the primary context of the thread's device; the next call makes a new one.
cudaError_t reset_device(const Driver& table);

template <class Body>
cudaError_t with_driver(Body&& body) {
  const Driver* table = nullptr;
  const cudaError_t error = acquire_driver(table);
  return remember(error != cudaSuccess ? error : to_runtime(body(*table)));
}

template <class Body>
cudaError_t with_context(Body&& body) {
  return with_driver([&](const Driver& table) {
    const cudaError_t error = acquire_context(table);
    return error != cudaSuccess ? error : to_runtime(body(table));
  });
}

inline CUdeviceptr device_pointer(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}
inline void* host_pointer(CUdeviceptr pointer) {
  return reinterpret_cast<void*>(pointer);
}

}  // namespace simgpu

// Defines a runtime function in both its variants; the body is an expression that uses `driver` and `mode`.
#define SIMGPU_PAIR(name, suffix, parameters, expression)                                  \
  cudaError_t name parameters {                                                            \
    constexpr simgpu::DefaultStream mode = simgpu::legacy;                                 \
    return simgpu::with_context([&](const simgpu::Driver& driver) { return expression; }); \
  }                                                                                        \
  cudaError_t name##suffix parameters {                                                    \
    constexpr simgpu::DefaultStream mode = simgpu::per_thread;                             \
    return simgpu::with_context([&](const simgpu::Driver& driver) { return expression; }); \
  }

// Defines a runtime function that the driver has too and that needs a context.
#define SIMGPU_FORWARD(name, parameters, expression)                                       \
  cudaError_t name parameters {                                                            \
    return simgpu::with_context([&](const simgpu::Driver& driver) { return expression; }); \
  }
