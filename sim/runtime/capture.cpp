// Stream capture. Called on the application's thread; the driver keeps all of its state.
#include "context.h"

using simgpu::Driver;
using simgpu::with_context;
using simgpu::with_driver;

static_assert(cudaStreamCaptureModeGlobal == static_cast<int>(CU_STREAM_CAPTURE_MODE_GLOBAL) &&
              cudaStreamCaptureModeThreadLocal == static_cast<int>(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) &&
              cudaStreamCaptureModeRelaxed == static_cast<int>(CU_STREAM_CAPTURE_MODE_RELAXED));
static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData));

namespace {

CUstreamCaptureMode driver_mode(cudaStreamCaptureMode mode) {
  return static_cast<CUstreamCaptureMode>(mode);
}

CUresult is_capturing(const Driver& driver, simgpu::DefaultStream mode, cudaStream_t stream,
                      cudaStreamCaptureStatus* status) {
  CUstreamCaptureStatus value = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result =
      status != nullptr ? driver.cuStreamIsCapturing[mode](stream, &value) : CUDA_ERROR_INVALID_VALUE;
  if (result == CUDA_SUCCESS) {
    *status = static_cast<cudaStreamCaptureStatus>(value);
  }
  return result;
}

CUresult capture_info(const Driver& driver, simgpu::DefaultStream mode, cudaStream_t stream,
                      cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                      const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges, size_t* count) {
  CUstreamCaptureStatus value = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t sequence = 0;
  const CUresult result =
      status == nullptr ? CUDA_ERROR_INVALID_VALUE
                        : driver.cuStreamGetCaptureInfo[mode](stream, &value, &sequence, graph, dependencies,
                                                              reinterpret_cast<const CUgraphEdgeData**>(edges), count);
  if (result == CUDA_SUCCESS) {
    *status = static_cast<cudaStreamCaptureStatus>(value);
    if (id != nullptr) {
      *id = sequence;
    }
  }
  return result;
}

}  // namespace

SIMGPU_PAIR(cudaStreamBeginCapture, _ptsz, (cudaStream_t stream, cudaStreamCaptureMode capture_mode),
            driver.cuStreamBeginCapture[mode](stream, driver_mode(capture_mode)))
SIMGPU_PAIR(cudaStreamBeginCaptureToGraph, _ptsz,
            (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
             const cudaGraphEdgeData* edges, size_t count, cudaStreamCaptureMode capture_mode),
            driver.cuStreamBeginCaptureToGraph[mode](stream, graph, dependencies,
                                                     reinterpret_cast<const CUgraphEdgeData*>(edges), count,
                                                     driver_mode(capture_mode)))
SIMGPU_PAIR(cudaStreamEndCapture, _ptsz, (cudaStream_t stream, cudaGraph_t* graph),
            driver.cuStreamEndCapture[mode](stream, graph))
SIMGPU_PAIR(cudaStreamIsCapturing, _ptsz, (cudaStream_t stream, cudaStreamCaptureStatus* status),
            is_capturing(driver, mode, stream, status))
SIMGPU_PAIR(cudaStreamGetCaptureInfo, _ptsz,
            (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
             const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges, size_t* count),
            capture_info(driver, mode, stream, status, id, graph, dependencies, edges, count))
SIMGPU_PAIR(cudaStreamUpdateCaptureDependencies, _ptsz,
            (cudaStream_t stream, cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges, size_t count,
             unsigned int flags),
            driver.cuStreamUpdateCaptureDependencies[mode](stream, dependencies,
                                                           reinterpret_cast<const CUgraphEdgeData*>(edges), count,
                                                           flags))

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return with_driver([&](const Driver& driver) {
    if (mode == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    CUstreamCaptureMode value = driver_mode(*mode);
    const CUresult result = driver.cuThreadExchangeStreamCaptureMode(&value);
    *mode = static_cast<cudaStreamCaptureMode>(value);
    return result;
  });
}
