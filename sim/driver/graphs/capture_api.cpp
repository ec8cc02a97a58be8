// The driver API for stream capture. Host threads; everything under the engine's lock, so that a capture cannot change
// between two looks at it.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "api/api.h"
#include "engine/capture_hooks.h"
#include "graphs/capture.h"

namespace simgpu {
namespace {

bool valid(CUstreamCaptureMode mode) {
  return mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
         mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

bool plain(const CUgraphEdgeData* data, std::size_t count) {
  return data == nullptr || std::all_of(data, data + count, [](const CUgraphEdgeData& edge) {
           return edge.from_port == 0 && edge.to_port == 0 && edge.type == 0;
         });
}

bool collect(const CUgraphNode* handles, std::size_t count, const Graph& graph, std::vector<Node*>& nodes) {
  if (count != 0 && handles == nullptr) return false;
  for (std::size_t index = 0; index < count; ++index) {
    Node* const node = find_node(handles[index]);
    if (node == nullptr || node->graph != &graph) return false;
    nodes.push_back(node);
  }
  return true;
}

CUresult begin(CUstream handle, DefaultStream meaning, CUstreamCaptureMode mode) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (!valid(mode)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(engine().lock());
  return begin_capture(*stream, mode, nullptr, {});
}

CUresult begin_to_graph(CUstream handle, DefaultStream meaning, CUgraph graph, const CUgraphNode* dependencies,
                        const CUgraphEdgeData* data, std::size_t count, CUstreamCaptureMode mode) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  const GraphHandle* const given = find_graph(graph);
  if (!valid(mode) || given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!plain(data, count)) return CUDA_ERROR_NOT_SUPPORTED;
  std::vector<Node*> nodes;
  if (!collect(dependencies, count, *given->graph, nodes)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(engine().lock());
  return begin_capture(*stream, mode, graph, std::move(nodes));
}

CUresult end(CUstream handle, DefaultStream meaning, CUgraph* graph) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(engine().lock());
  return end_capture(*stream, *graph);
}

CUstreamCaptureStatus status_of(const Stream& stream) {
  if (stream.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult is_capturing(CUstream handle, DefaultStream meaning, CUstreamCaptureStatus* status) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(engine().lock());
  if (const CUresult result = capture_forbids_legacy(*stream); result != CUDA_SUCCESS) return result;
  *status = status_of(*stream);
  return CUDA_SUCCESS;
}

struct InfoOutput {
  CUstreamCaptureStatus* status = nullptr;
  cuuint64_t* id = nullptr;
  CUgraph* graph = nullptr;
  const CUgraphNode** dependencies = nullptr;
  const CUgraphEdgeData** edges = nullptr;
  std::size_t* count = nullptr;
};

// The arrays belong to the driver and stay valid until the next call for the stream, as documented; here they are kept
// per thread.
CUresult info(CUstream handle, DefaultStream meaning, const InfoOutput& out) {
  thread_local std::vector<CUgraphNode> dependencies;
  thread_local std::vector<CUgraphEdgeData> edges;
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (out.status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(engine().lock());
  if (const CUresult result = capture_forbids_legacy(*stream); result != CUDA_SUCCESS) return result;
  *out.status = status_of(*stream);
  if (*out.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  const Capture& capture = *stream->capture;
  dependencies.clear();
  for (Node* node : capture.frontiers.at(stream)) dependencies.push_back(handle_of(node));
  edges.assign(dependencies.size(), CUgraphEdgeData{});
  if (out.id != nullptr) *out.id = capture.id;
  if (out.graph != nullptr) *out.graph = capture.handle;
  if (out.dependencies != nullptr) *out.dependencies = dependencies.data();
  if (out.edges != nullptr) *out.edges = edges.data();
  if (out.count != nullptr) *out.count = dependencies.size();
  return CUDA_SUCCESS;
}

CUresult update_dependencies(CUstream handle, DefaultStream meaning, const CUgraphNode* given,
                             const CUgraphEdgeData* data, std::size_t count, unsigned flags) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (flags != CU_STREAM_ADD_CAPTURE_DEPENDENCIES && flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES)
    return CUDA_ERROR_INVALID_VALUE;
  if (!plain(data, count)) return CUDA_ERROR_NOT_SUPPORTED;
  const std::lock_guard lock(engine().lock());
  if (stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (stream->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  std::vector<Node*> nodes;
  if (!collect(given, count, *stream->capture->graph, nodes)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Node*>& frontier = stream->capture->frontiers[stream];
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) frontier.clear();
  for (Node* node : nodes)
    if (std::find(frontier.begin(), frontier.end(), node) == frontier.end()) frontier.push_back(node);
  return CUDA_SUCCESS;
}

constexpr DefaultStream legacy = DefaultStream::legacy;
constexpr DefaultStream per_thread = DefaultStream::per_thread;

}  // namespace
}  // namespace simgpu

using namespace simgpu;

SIMGPU_API cuStreamBeginCapture(CUstream hStream) {
  return begin(hStream, legacy, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
SIMGPU_API cuStreamBeginCapture_ptsz(CUstream hStream) {
  return begin(hStream, per_thread, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
SIMGPU_API cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
  return begin(hStream, legacy, mode);
}
SIMGPU_API cuStreamBeginCapture_v2_ptsz(CUstream hStream, CUstreamCaptureMode mode) {
  return begin(hStream, per_thread, mode);
}

SIMGPU_API cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode* dependencies,
                                       const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                       CUstreamCaptureMode mode) {
  return begin_to_graph(hStream, legacy, hGraph, dependencies, dependencyData, numDependencies, mode);
}
SIMGPU_API cuStreamBeginCaptureToGraph_ptsz(CUstream hStream, CUgraph hGraph, const CUgraphNode* dependencies,
                                            const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                            CUstreamCaptureMode mode) {
  return begin_to_graph(hStream, per_thread, hGraph, dependencies, dependencyData, numDependencies, mode);
}

SIMGPU_API cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
  return end(hStream, legacy, phGraph);
}
SIMGPU_API cuStreamEndCapture_ptsz(CUstream hStream, CUgraph* phGraph) {
  return end(hStream, per_thread, phGraph);
}

SIMGPU_API cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  return is_capturing(hStream, legacy, captureStatus);
}
SIMGPU_API cuStreamIsCapturing_ptsz(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  return is_capturing(hStream, per_thread, captureStatus);
}

SIMGPU_API cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out) {
  return info(hStream, legacy, {captureStatus_out, id_out});
}
SIMGPU_API cuStreamGetCaptureInfo_ptsz(CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out) {
  return info(hStream, per_thread, {captureStatus_out, id_out});
}
SIMGPU_API cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out,
                                     CUgraph* graph_out, const CUgraphNode** dependencies_out,
                                     size_t* numDependencies_out) {
  return info(hStream, legacy, {captureStatus_out, id_out, graph_out, dependencies_out, nullptr, numDependencies_out});
}
SIMGPU_API cuStreamGetCaptureInfo_v2_ptsz(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                          cuuint64_t* id_out, CUgraph* graph_out, const CUgraphNode** dependencies_out,
                                          size_t* numDependencies_out) {
  return info(hStream, per_thread,
              {captureStatus_out, id_out, graph_out, dependencies_out, nullptr, numDependencies_out});
}
SIMGPU_API cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out,
                                     CUgraph* graph_out, const CUgraphNode** dependencies_out,
                                     const CUgraphEdgeData** edgeData_out, size_t* numDependencies_out) {
  return info(hStream, legacy,
              {captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out});
}
SIMGPU_API cuStreamGetCaptureInfo_v3_ptsz(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                          cuuint64_t* id_out, CUgraph* graph_out, const CUgraphNode** dependencies_out,
                                          const CUgraphEdgeData** edgeData_out, size_t* numDependencies_out) {
  return info(hStream, per_thread,
              {captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out});
}

SIMGPU_API cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode* dependencies, size_t numDependencies,
                                             unsigned int flags) {
  return update_dependencies(hStream, legacy, dependencies, nullptr, numDependencies, flags);
}
SIMGPU_API cuStreamUpdateCaptureDependencies_ptsz(CUstream hStream, CUgraphNode* dependencies, size_t numDependencies,
                                                  unsigned int flags) {
  return update_dependencies(hStream, per_thread, dependencies, nullptr, numDependencies, flags);
}
SIMGPU_API cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode* dependencies,
                                                const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                                unsigned int flags) {
  return update_dependencies(hStream, legacy, dependencies, dependencyData, numDependencies, flags);
}
SIMGPU_API cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream hStream, CUgraphNode* dependencies,
                                                     const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                                     unsigned int flags) {
  return update_dependencies(hStream, per_thread, dependencies, dependencyData, numDependencies, flags);
}

SIMGPU_API cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (mode == nullptr || !valid(*mode)) return CUDA_ERROR_INVALID_VALUE;
  *mode = exchange_thread_mode(*mode);
  return CUDA_SUCCESS;
}
