// Executable graphs; see executable.h for threads.
#include "graphs/executable.h"

#include <algorithm>
#include <utility>

namespace simgpu {
namespace {

// Lays out a graph and the graphs inside its child nodes as one list. A node stands for the list entries where it
// begins and where it ends; those of a child graph node are the roots and the leaves of its graph.
class Layout {
 public:
  explicit Layout(bool use_priorities) : use_priorities_(use_priorities) {}

  struct Ends {
    std::vector<std::uint32_t> begin;
    std::vector<std::uint32_t> end;
  };

  Ends add(const Graph& graph) {
    std::unordered_map<const Node*, Ends> placed;
    for (const Node* node : graph.nodes) placed.emplace(node, place(*node));
    Ends all;
    for (const Node* node : graph.nodes) {
      const Ends& ends = placed.at(node);
      for (const Node* dependency : node->dependencies) connect(placed.at(dependency).end, ends.begin);
      if (node->dependencies.empty()) all.begin.insert(all.begin.end(), ends.begin.begin(), ends.begin.end());
      if (node->dependents.empty()) all.end.insert(all.end.end(), ends.end.begin(), ends.end.end());
    }
    return all;
  }

  GraphProgram take() { return std::move(program_); }

 private:
  Ends place(const Node& node) {
    if (node.body.child != nullptr && !node.body.child->nodes.empty()) return add(*node.body.child);
    GraphProgram::Node entry;
    if (node.enabled) entry.command = node.body.command;
    entry.has_priority = use_priorities_ && node.body.type == CU_GRAPH_NODE_TYPE_KERNEL;
    entry.priority = node.body.priority;
    entry.share = node.body.share;
    std::vector<CUcontext>& green = program_.contexts;
    if (node.body.is_green && std::find(green.begin(), green.end(), node.body.context) == green.end())
      green.push_back(node.body.context);
    const auto index = static_cast<std::uint32_t>(program_.nodes.size());
    program_.nodes.push_back(std::move(entry));
    return {{index}, {index}};
  }

  void connect(const std::vector<std::uint32_t>& from, const std::vector<std::uint32_t>& to) {
    for (const std::uint32_t first : from) {
      for (const std::uint32_t second : to) {
        program_.nodes[first].successors.push_back(second);
        ++program_.nodes[second].dependencies;
      }
    }
  }

  const bool use_priorities_;
  GraphProgram program_;
};

bool any_cycle(const Graph& graph) {
  if (graph.has_cycle()) return true;
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node* node) { return node->body.child != nullptr && any_cycle(*node->body.child); });
}

bool same_edges(const Node& left, const Graph& left_graph, const Node& right, const Graph& right_graph) {
  const auto positions = [](const Node& node, const Graph& graph) {
    std::vector<std::ptrdiff_t> result;
    for (const Node* dependency : node.dependencies)
      result.push_back(std::find(graph.nodes.begin(), graph.nodes.end(), dependency) - graph.nodes.begin());
    std::sort(result.begin(), result.end());
    return result;
  };
  return positions(left, left_graph) == positions(right, right_graph);
}

CUgraphExecUpdateResult compare(const Graph& now, const Graph& next, const Node*& culprit) {
  culprit = nullptr;
  if (now.nodes.size() != next.nodes.size()) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (std::size_t index = 0; index < now.nodes.size(); ++index) {
    const Node& old_node = *now.nodes[index];
    const Node& new_node = *next.nodes[index];
    culprit = &new_node;
    if (old_node.body.type != new_node.body.type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (!same_edges(old_node, now, new_node, next)) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (old_node.body.child == nullptr) continue;
    const Node* inner = nullptr;
    const CUgraphExecUpdateResult result = compare(*old_node.body.child, *new_node.body.child, inner);
    if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return result;
  }
  culprit = nullptr;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

}  // namespace

Executable::Executable(const Graph& graph, std::uint64_t flags) : flags_(flags) {
  if (any_cycle(graph)) {
    result_ = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    return;
  }
  graph_ = graph.clone();
  if (graph_ == nullptr)
    result_ = CUDA_GRAPH_INSTANTIATE_ERROR;
  else
    index(*graph_);
}

void Executable::index(const Graph& copy) {
  for (Node* node : copy.nodes) {
    copies_[node->original] = node;
    if (node->body.child != nullptr) index(*node->body.child);
  }
}

Node* Executable::find(const Node& node) const {
  const auto found = copies_.find(&node);
  return found == copies_.end() ? nullptr : found->second;
}

std::shared_ptr<const GraphProgram> Executable::program() {
  const std::lock_guard lock(mutex_);
  if (program_ == nullptr) {
    Layout layout((flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0);
    layout.add(*graph_);
    program_ = std::make_shared<const GraphProgram>(layout.take());
  }
  return program_;
}

std::shared_ptr<Graph> Executable::copy() {
  const std::lock_guard lock(mutex_);
  return graph_->clone();
}

CUresult Executable::replace(const Node& node, NodeBody body) {
  const std::lock_guard lock(mutex_);
  Node* const copy = find(node);
  if (copy == nullptr || copy->body.type != body.type) return CUDA_ERROR_INVALID_VALUE;
  if (body.child != nullptr) {
    const Node* culprit = nullptr;
    if (compare(*copy->body.child, *body.child, culprit) != CU_GRAPH_EXEC_UPDATE_SUCCESS)
      return CUDA_ERROR_INVALID_VALUE;
  }
  copy->body = std::move(body);
  program_.reset();
  return CUDA_SUCCESS;
}

CUresult Executable::enable(const Node& node, bool enabled) {
  const std::lock_guard lock(mutex_);
  Node* const copy = find(node);
  if (copy == nullptr || copy->body.type > CU_GRAPH_NODE_TYPE_MEMSET) return CUDA_ERROR_INVALID_VALUE;
  copy->enabled = enabled;
  program_.reset();
  return CUDA_SUCCESS;
}

CUresult Executable::is_enabled(const Node& node, bool& enabled) {
  const std::lock_guard lock(mutex_);
  const Node* const copy = find(node);
  if (copy == nullptr || copy->body.type > CU_GRAPH_NODE_TYPE_MEMSET) return CUDA_ERROR_INVALID_VALUE;
  enabled = copy->enabled;
  return CUDA_SUCCESS;
}

CUresult Executable::update(const Graph& graph, CUgraphExecUpdateResultInfo& info) {
  const std::lock_guard lock(mutex_);
  info = {};
  const Node* culprit = nullptr;
  info.result = compare(*graph_, graph, culprit);
  info.errorNode = handle_of(const_cast<Node*>(culprit));
  if (info.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  std::shared_ptr<Graph> next = graph.clone();
  if (next == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  // The nodes of the graph instantiated first stay valid names for the nodes in the same places.
  for (auto& [original, copy] : copies_) {
    const auto place = std::find(graph_->nodes.begin(), graph_->nodes.end(), copy);
    if (place != graph_->nodes.end()) copy = next->nodes[static_cast<std::size_t>(place - graph_->nodes.begin())];
  }
  index(*next);
  graph_ = std::move(next);
  program_.reset();
  return CUDA_SUCCESS;
}

CUresult Executable::body(const Node& node, NodeBody& body) {
  const std::lock_guard lock(mutex_);
  const Node* const copy = find(node);
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  body = copy->body;
  return CUDA_SUCCESS;
}

}  // namespace simgpu
