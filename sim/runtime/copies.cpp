// Copies and fills of linear memory, synchronous and stream-ordered, in both default-stream variants. Called on the
// application's thread. Each kind of copy uses the driver function that the real runtime uses, because interposers tell
// them apart.
#include "binaries.h"
#include "context.h"
#include "copy_parameters.h"

using simgpu::DefaultStream;
using simgpu::device_pointer;
using simgpu::Driver;
using simgpu::to_runtime;
using simgpu::with_context;

namespace {

cudaError_t copy(const Driver& driver, DefaultStream mode, void* destination, const void* source, size_t count,
                 cudaMemcpyKind kind) {
  const CUdeviceptr to = device_pointer(destination);
  const CUdeviceptr from = device_pointer(source);
  if (count == 0) {
    return cudaSuccess;
  }
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return to_runtime(driver.cuMemcpyHtoD[mode](to, source, count));
    case cudaMemcpyDeviceToHost:
      return to_runtime(driver.cuMemcpyDtoH[mode](destination, from, count));
    case cudaMemcpyDeviceToDevice:
      return to_runtime(driver.cuMemcpyDtoD[mode](to, from, count));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
      return to_runtime(driver.cuMemcpy[mode](to, from, count));
  }
  return cudaErrorInvalidMemcpyDirection;
}

cudaError_t copy_async(const Driver& driver, DefaultStream mode, void* destination, const void* source, size_t count,
                       cudaMemcpyKind kind, CUstream stream) {
  const CUdeviceptr to = device_pointer(destination);
  const CUdeviceptr from = device_pointer(source);
  if (count == 0) {
    return cudaSuccess;
  }
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return to_runtime(driver.cuMemcpyHtoDAsync[mode](to, source, count, stream));
    case cudaMemcpyDeviceToHost:
      return to_runtime(driver.cuMemcpyDtoHAsync[mode](destination, from, count, stream));
    case cudaMemcpyDeviceToDevice:
      return to_runtime(driver.cuMemcpyDtoDAsync[mode](to, from, count, stream));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
      return to_runtime(driver.cuMemcpyAsync[mode](to, from, count, stream));
  }
  return cudaErrorInvalidMemcpyDirection;
}

// Rows: `stream` is null for the synchronous copy.
cudaError_t copy_rows(const Driver& driver, DefaultStream mode, void* destination, size_t destination_pitch,
                      const void* source, size_t source_pitch, size_t width, size_t rows, cudaMemcpyKind kind,
                      const CUstream* stream) {
  CUDA_MEMCPY2D parameters = {};
  const cudaError_t error =
      simgpu::convert(destination, destination_pitch, source, source_pitch, width, rows, kind, parameters);
  if (error != cudaSuccess || width == 0 || rows == 0) {
    return error;
  }
  return to_runtime(stream != nullptr ? driver.cuMemcpy2DAsync[mode](&parameters, *stream)
                                      : driver.cuMemcpy2DUnaligned[mode](&parameters));
}

cudaError_t copy_box(const Driver& driver, DefaultStream mode, const cudaMemcpy3DParms* box, const CUstream* stream) {
  CUDA_MEMCPY3D parameters = {};
  const cudaError_t error = simgpu::convert(box, parameters);
  if (error != cudaSuccess) {
    return error;
  }
  return to_runtime(stream != nullptr ? driver.cuMemcpy3DAsync[mode](&parameters, *stream)
                                      : driver.cuMemcpy3D[mode](&parameters));
}

// The address of `count` bytes at `offset` in a variable of the program.
cudaError_t locate(const Driver& driver, const void* symbol, size_t count, size_t offset, void*& address) {
  CUdeviceptr start = 0;
  size_t size = 0;
  const cudaError_t error = simgpu::binaries().variable(driver, symbol, start, size);
  if (error != cudaSuccess || offset > size || count > size - offset) {
    return error != cudaSuccess ? error : cudaErrorInvalidValue;
  }
  address = simgpu::host_pointer(start + offset);
  return cudaSuccess;
}

cudaError_t copy_to_symbol(const Driver& driver, DefaultStream mode, const void* symbol, const void* source,
                           size_t count, size_t offset, cudaMemcpyKind kind, const CUstream* stream) {
  void* address = nullptr;
  const cudaError_t error = locate(driver, symbol, count, offset, address);
  if (error != cudaSuccess) {
    return error;
  }
  return stream != nullptr ? copy_async(driver, mode, address, source, count, kind, *stream)
                           : copy(driver, mode, address, source, count, kind);
}

cudaError_t copy_from_symbol(const Driver& driver, DefaultStream mode, void* destination, const void* symbol,
                             size_t count, size_t offset, cudaMemcpyKind kind, const CUstream* stream) {
  void* address = nullptr;
  const cudaError_t error = locate(driver, symbol, count, offset, address);
  if (error != cudaSuccess) {
    return error;
  }
  return stream != nullptr ? copy_async(driver, mode, destination, address, count, kind, *stream)
                           : copy(driver, mode, destination, address, count, kind);
}

CUresult fill_rows(const Driver& driver, DefaultStream mode, void* pointer, size_t pitch, int value, size_t width,
                   size_t rows, const CUstream* stream) {
  if (width == 0 || rows == 0) {
    return CUDA_SUCCESS;
  }
  const auto byte = static_cast<unsigned char>(value);
  return stream != nullptr ? driver.cuMemsetD2D8Async[mode](device_pointer(pointer), pitch, byte, width, rows, *stream)
                           : driver.cuMemsetD2D8[mode](device_pointer(pointer), pitch, byte, width, rows);
}

CUresult fill_box(const Driver& driver, DefaultStream mode, const cudaPitchedPtr& box, int value,
                  const cudaExtent& extent, const CUstream* stream) {
  for (size_t slice = 0; slice < extent.depth; ++slice) {
    void* start = static_cast<char*>(box.ptr) + slice * box.pitch * box.ysize;
    const CUresult result = fill_rows(driver, mode, start, box.pitch, value, extent.width, extent.height, stream);
    if (result != CUDA_SUCCESS) {
      return result;
    }
  }
  return CUDA_SUCCESS;
}

unsigned char low_byte(int value) {
  return static_cast<unsigned char>(value);
}

}  // namespace

SIMGPU_PAIR(cudaMemcpy, _ptds, (void* to, const void* from, size_t count, cudaMemcpyKind kind),
            copy(driver, mode, to, from, count, kind))
SIMGPU_PAIR(cudaMemcpyAsync, _ptsz,
            (void* to, const void* from, size_t count, cudaMemcpyKind kind, cudaStream_t stream),
            copy_async(driver, mode, to, from, count, kind, stream))
SIMGPU_PAIR(cudaMemcpy2D, _ptds,
            (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows,
             cudaMemcpyKind kind),
            copy_rows(driver, mode, to, to_pitch, from, from_pitch, width, rows, kind, nullptr))
SIMGPU_PAIR(cudaMemcpy2DAsync, _ptsz,
            (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows,
             cudaMemcpyKind kind, cudaStream_t stream),
            copy_rows(driver, mode, to, to_pitch, from, from_pitch, width, rows, kind, &stream))
SIMGPU_PAIR(cudaMemcpy3D, _ptds, (const cudaMemcpy3DParms* box), copy_box(driver, mode, box, nullptr))
SIMGPU_PAIR(cudaMemcpy3DAsync, _ptsz, (const cudaMemcpy3DParms* box, cudaStream_t stream),
            copy_box(driver, mode, box, &stream))
SIMGPU_PAIR(cudaMemcpyToSymbol, _ptds,
            (const void* symbol, const void* from, size_t count, size_t offset, cudaMemcpyKind kind),
            copy_to_symbol(driver, mode, symbol, from, count, offset, kind, nullptr))
SIMGPU_PAIR(cudaMemcpyToSymbolAsync, _ptsz,
            (const void* symbol, const void* from, size_t count, size_t offset, cudaMemcpyKind kind,
             cudaStream_t stream),
            copy_to_symbol(driver, mode, symbol, from, count, offset, kind, &stream))
SIMGPU_PAIR(cudaMemcpyFromSymbol, _ptds,
            (void* to, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind),
            copy_from_symbol(driver, mode, to, symbol, count, offset, kind, nullptr))
SIMGPU_PAIR(cudaMemcpyFromSymbolAsync, _ptsz,
            (void* to, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind, cudaStream_t stream),
            copy_from_symbol(driver, mode, to, symbol, count, offset, kind, &stream))

SIMGPU_PAIR(cudaMemset, _ptds, (void* pointer, int value, size_t count),
            count == 0 ? CUDA_SUCCESS : driver.cuMemsetD8[mode](device_pointer(pointer), low_byte(value), count))
SIMGPU_PAIR(cudaMemsetAsync, _ptsz, (void* pointer, int value, size_t count, cudaStream_t stream),
            count == 0 ? CUDA_SUCCESS
                       : driver.cuMemsetD8Async[mode](device_pointer(pointer), low_byte(value), count, stream))
SIMGPU_PAIR(cudaMemset2D, _ptds, (void* pointer, size_t pitch, int value, size_t width, size_t rows),
            fill_rows(driver, mode, pointer, pitch, value, width, rows, nullptr))
SIMGPU_PAIR(cudaMemset2DAsync, _ptsz,
            (void* pointer, size_t pitch, int value, size_t width, size_t rows, cudaStream_t stream),
            fill_rows(driver, mode, pointer, pitch, value, width, rows, &stream))
SIMGPU_PAIR(cudaMemset3D, _ptds, (cudaPitchedPtr box, int value, cudaExtent extent),
            fill_box(driver, mode, box, value, extent, nullptr))
SIMGPU_PAIR(cudaMemset3DAsync, _ptsz, (cudaPitchedPtr box, int value, cudaExtent extent, cudaStream_t stream),
            fill_box(driver, mode, box, value, extent, &stream))

// Devices of one process share one address space here, so that a copy between them is a copy.
SIMGPU_FORWARD(cudaMemcpyPeer, (void* to, int, const void* from, int, size_t count),
               count == 0 ? CUDA_SUCCESS
                          : driver.cuMemcpy[simgpu::legacy](device_pointer(to), device_pointer(from), count))
SIMGPU_FORWARD(cudaMemcpyPeerAsync, (void* to, int, const void* from, int, size_t count, cudaStream_t stream),
               count == 0
                   ? CUDA_SUCCESS
                   : driver.cuMemcpyAsync[simgpu::legacy](device_pointer(to), device_pointer(from), count, stream))
