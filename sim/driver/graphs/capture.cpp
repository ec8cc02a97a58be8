// Stream capture: turning submitted commands into nodes, forks and joins through events, and the rules that end a
// capture as invalid. See capture.h for the lock; the functions of capture_hooks.h say which of them take it
// themselves.
#include "graphs/capture.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "engine/capture_hooks.h"
#include "engine/engine.h"
#include "graphs/node_params.h"

namespace simgpu {
namespace {

std::atomic<int> active_captures{0};
thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

struct Captures {
  std::vector<std::shared_ptr<Capture>> all;  // [lock]
  std::uint64_t next_id = 1;
};

Captures& captures() {
  static auto* const instance = new Captures;
  return *instance;
}

std::shared_ptr<Capture> shared(const Capture* capture) {
  const auto found = std::find_if(captures().all.begin(), captures().all.end(),
                                  [capture](const auto& each) { return each.get() == capture; });
  return found == captures().all.end() ? nullptr : *found;
}

void finish(Capture& capture) {
  for (const auto& [stream, frontier] : capture.frontiers)
    if (stream->capture == &capture) stream->capture = nullptr;
  std::erase(captures().all, shared(&capture));
  active_captures.store(static_cast<int>(captures().all.size()), std::memory_order_release);
}

CUresult invalidate(Capture& capture, CUresult why) {
  capture.invalid = true;
  return why;
}

// Whether every node that other streams captured last leads to the origin stream.
bool joined(const Capture& capture) {
  std::set<const Node*> reached;
  std::vector<const Node*> open(capture.frontiers.at(capture.origin).begin(),
                                capture.frontiers.at(capture.origin).end());
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    if (!reached.insert(node).second) continue;
    open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
  }
  return std::all_of(capture.frontiers.begin(), capture.frontiers.end(), [&reached](const auto& branch) {
    return std::all_of(branch.second.begin(), branch.second.end(),
                       [&reached](const Node* node) { return reached.contains(node); });
  });
}

void unite(std::vector<Node*>& frontier, const std::vector<Node*>& more) {
  for (Node* node : more)
    if (std::find(frontier.begin(), frontier.end(), node) == frontier.end()) frontier.push_back(node);
}

CUresult capture_wait(Stream& stream, const WaitCommand& wait) {
  Capture* const own = stream.capture;
  if (own != nullptr && (wait.flags & CU_EVENT_WAIT_EXTERNAL) != 0) {
    NodeBody body;
    body.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    body.command = WaitCommand{wait.event, wait.flags, nullptr};
    return capture_node(stream, std::move(body));
  }
  if (wait.event->captured == nullptr) {
    if (wait.event->last == nullptr) return CUDA_SUCCESS;
    return invalidate(*own, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  }
  const std::shared_ptr<Capture> other = wait.event->captured->capture.lock();
  if (other == nullptr)
    return own == nullptr ? CUDA_ERROR_CAPTURED_EVENT : invalidate(*own, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  if (other->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (own == nullptr) {
    if (stream.kind == StreamKind::legacy) return invalidate(*other, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    stream.capture = other.get();
  } else if (own != other.get()) {
    own->invalid = true;
    return invalidate(*other, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  unite(other->frontiers[&stream], wait.event->captured->nodes);
  return CUDA_SUCCESS;
}

CUresult capture_record(Stream& stream, const RecordCommand& record) {
  if ((record.flags & CU_EVENT_RECORD_EXTERNAL) != 0) {
    NodeBody body;
    body.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    body.command = RecordCommand{record.event, record.flags, nullptr};
    return capture_node(stream, std::move(body));
  }
  auto point = std::make_shared<CapturedPoint>();
  point->capture = shared(stream.capture);
  point->nodes = stream.capture->frontiers[&stream];
  record.event->captured = std::move(point);
  return CUDA_SUCCESS;
}

// A launch with a priority of its own keeps it as an attribute of its node.
NodeBody kernel_node(const Stream& stream, KernelCommand command) {
  NodeBody body;
  body.type = CU_GRAPH_NODE_TYPE_KERNEL;
  body.priority = command.launch->has_priority ? command.launch->priority : stream.priority;
  if (command.launch->has_priority) command.launch = copy_launch(*command.launch);
  body.command = std::move(command);
  return body;
}

// A launch that may begin before the one ahead of it is over.
CUgraphEdgeData edge_between(const std::vector<Node*>& frontier, const NodeBody& body) {
  CUgraphEdgeData data{};
  if (body.type != CU_GRAPH_NODE_TYPE_KERNEL || !std::get<KernelCommand>(body.command).launch->programmatic ||
      frontier.size() != 1 || frontier.front()->body.type != CU_GRAPH_NODE_TYPE_KERNEL)
    return data;
  data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  return data;
}

// False for what cannot be in a graph.
bool body_of_command(const Stream& stream, Command&& command, NodeBody& body) {
  if (auto* kernel = std::get_if<KernelCommand>(&command)) {
    body = kernel_node(stream, std::move(*kernel));
    return true;
  }
  if (auto* operation = std::get_if<MemoryOperation>(&command)) {
    body.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    body.command =
        MemoryBatch{std::make_shared<const std::vector<MemoryOperation>>(std::vector<MemoryOperation>{*operation})};
    return true;
  }
  const auto* const host = std::get_if<HostCommand>(&command);
  if (host != nullptr && host->callback != nullptr) return false;
  if (host != nullptr)
    body.type = CU_GRAPH_NODE_TYPE_HOST;
  else if (std::holds_alternative<CopyCommand>(command))
    body.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  else if (std::holds_alternative<SetCommand>(command))
    body.type = CU_GRAPH_NODE_TYPE_MEMSET;
  else if (std::holds_alternative<MemoryBatch>(command))
    body.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  else if (std::holds_alternative<EmptyCommand>(command))
    body.type = CU_GRAPH_NODE_TYPE_EMPTY;
  else
    return false;
  body.command = std::move(command);
  return true;
}

// The rule of cuThreadExchangeStreamCaptureMode.
CUresult unsafe_for_thread() {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for (const std::shared_ptr<Capture>& capture : captures().all) {
    const bool own = capture->thread == std::this_thread::get_id() && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool global = thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (own || global) result = invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  return result;
}

// Every capture that has such a stream.
template <class Matches>
CUresult invalidate_where(Matches matches) {
  CUresult result = CUDA_SUCCESS;
  for (const std::shared_ptr<Capture>& capture : captures().all) {
    const bool is_there = std::any_of(capture->frontiers.begin(), capture->frontiers.end(),
                                      [&](const auto& branch) { return matches(*branch.first); });
    if (is_there) result = invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  return result;
}

}  // namespace

CUresult begin_capture(Stream& stream, CUstreamCaptureMode mode, CUgraph into, std::vector<Node*> dependencies) {
  if (stream.kind == StreamKind::legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream.capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = captures().next_id++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &stream;
  capture->into_given_graph = into != nullptr;
  capture->handle = into != nullptr ? into : new_handle(std::make_shared<Graph>());
  if (capture->handle == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  capture->graph = find_graph(capture->handle)->graph;
  capture->frontiers[&stream] = std::move(dependencies);
  stream.capture = capture.get();
  captures().all.push_back(std::move(capture));
  active_captures.store(static_cast<int>(captures().all.size()), std::memory_order_release);
  return CUDA_SUCCESS;
}

CUresult end_capture(Stream& stream, CUgraph& graph) {
  graph = nullptr;
  const std::shared_ptr<Capture> capture = shared(stream.capture);
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id())
    return invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  if (capture->origin != &stream) return invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  finish(*capture);
  CUresult result = CUDA_SUCCESS;
  if (capture->invalid)
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  else if (!joined(*capture))
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (result == CUDA_SUCCESS)
    graph = capture->handle;
  else if (!capture->into_given_graph)
    destroy_handle(capture->handle);
  return result;
}

CUresult capture_node(Stream& stream, NodeBody body) {
  Capture& capture = *stream.capture;
  if (capture.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  std::vector<Node*>& frontier = capture.frontiers[&stream];
  set_context(body, *stream.context);
  const CUgraphEdgeData data = edge_between(frontier, body);
  Node* const node = capture.graph->add(std::move(body), is_plain(data) ? frontier : std::vector<Node*>{});
  if (node != nullptr && !is_plain(data)) connect(*frontier.front(), *node, data);
  if (node == nullptr) return invalidate(capture, CUDA_ERROR_OUT_OF_MEMORY);
  frontier = {node};
  return CUDA_SUCCESS;
}

CUstreamCaptureMode exchange_thread_mode(CUstreamCaptureMode mode) {
  return std::exchange(thread_mode, mode);
}

CUresult capture_command(Stream& stream, Command&& command) {
  if (stream.capture != nullptr && stream.capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (const auto* wait = std::get_if<WaitCommand>(&command)) return capture_wait(stream, *wait);
  if (const auto* record = std::get_if<RecordCommand>(&command)) return capture_record(stream, *record);
  NodeBody body;
  if (!body_of_command(stream, std::move(command), body))
    return invalidate(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  return capture_node(stream, std::move(body));
}

CUresult capture_forbids_unsafe_call() {
  if (active_captures.load(std::memory_order_acquire) == 0) return CUDA_SUCCESS;
  const std::lock_guard lock(engine().lock());
  return unsafe_for_thread();
}

CUresult capture_forbids_use(Stream& stream) {
  if (active_captures.load(std::memory_order_acquire) == 0) return CUDA_SUCCESS;
  const std::lock_guard lock(engine().lock());
  if (stream.capture != nullptr) return invalidate(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  if (const CUresult result = capture_forbids_legacy(stream); result != CUDA_SUCCESS) return result;
  return unsafe_for_thread();
}

CUresult capture_forbids_use(Event& event) {
  const std::lock_guard lock(engine().lock());
  if (event.captured == nullptr) return unsafe_for_thread();
  if (const std::shared_ptr<Capture> capture = event.captured->capture.lock()) capture->invalid = true;
  return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult capture_forbids_context(const Context& context) {
  return invalidate_where([&](const Stream& stream) { return stream.context == &context; });
}

CUresult capture_forbids_synchronize(const Context& context) {
  return invalidate_where(
      [&](const Stream& stream) { return stream.context == &context || stream.context->green_of == &context; });
}

CUresult capture_forbids_event(Event& event) {
  if (const std::shared_ptr<Capture> capture = event.captured->capture.lock()) capture->invalid = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult capture_forbids_legacy(const Stream& stream) {
  if (stream.kind != StreamKind::legacy || active_captures.load(std::memory_order_acquire) == 0) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for (const std::shared_ptr<Capture>& capture : captures().all) {
    const bool waits = std::any_of(capture->frontiers.begin(), capture->frontiers.end(), [&stream](const auto& branch) {
      return branch.first->context == stream.context && branch.first->blocking();
    });
    if (waits) result = invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  }
  return result;
}

}  // namespace simgpu
