// Stream capture: which streams are being captured into which graph, and what that forbids other calls. State is read
// and written under the engine's lock; the count of captures is an atomic, so that calls outside any capture pay one
// load.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "engine/objects.h"
#include "graphs/graph.h"

namespace simgpu {

struct Capture {
  std::uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  Stream* origin = nullptr;
  std::shared_ptr<Graph> graph;
  CUgraph handle = nullptr;       // of the graph
  bool into_given_graph = false;  // cuStreamBeginCaptureToGraph
  bool invalid = false;
  // For each stream in the capture, the nodes that the next one depends on.
  std::map<Stream*, std::vector<Node*>> frontiers;
};

// The place in a captured graph that an event stands for.
struct CapturedPoint {
  std::weak_ptr<Capture> capture;
  std::vector<Node*> nodes;
};

// All with the engine's lock held.
// `into` is the graph that the application gave, null for a new one.
CUresult begin_capture(Stream& stream, CUstreamCaptureMode mode, CUgraph into, std::vector<Node*> dependencies);
CUresult end_capture(Stream& stream, CUgraph& graph);
CUresult capture_node(Stream& stream, NodeBody body);

// The mode of the calling thread, see cuThreadExchangeStreamCaptureMode.
CUstreamCaptureMode exchange_thread_mode(CUstreamCaptureMode mode);

}  // namespace simgpu
