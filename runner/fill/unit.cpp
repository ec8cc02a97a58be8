// Preparing a unit: warm-up, capture, a look at every node, timing, cutting, timing again. Threads: see the header.
#include "runner/fill/unit.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "runner/clock.h"
#include "runner/fill/slices.h"

namespace weft {
namespace {

using std::chrono::nanoseconds;

// Launches timed between two waits: few enough that queues of the driver do not fill.
constexpr std::size_t batch = 64;

// A graph that is destroyed with its scope.
class Graph {
 public:
  explicit Graph(const Driver& driver, CUgraph graph = nullptr) : driver_(driver), graph_(graph) {}
  ~Graph() {
    if (graph_ != nullptr) driver_.cuGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  CUgraph get() const { return graph_; }
  CUgraph* out() { return &graph_; }

 private:
  const Driver& driver_;
  CUgraph graph_;
};

// Timing events, destroyed with their scope.
class Events {
 public:
  Events(const Driver& driver, std::size_t count) : driver_(driver) {
    for (std::size_t index = 0; index < count; ++index) {
      CUevent event = nullptr;
      check(driver_, driver_.cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
      events_.push_back(event);
    }
  }
  ~Events() {
    for (const CUevent event : events_) driver_.cuEventDestroy_v2(event);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  CUevent operator[](std::size_t index) const { return events_[index]; }

 private:
  const Driver& driver_;
  std::vector<CUevent> events_;
};

// Instantiated graphs, destroyed with their scope unless taken out.
struct Executables {
  explicit Executables(const Driver& table) : driver(table) {}
  ~Executables() {
    for (const CUgraphExec graph : graphs) driver.cuGraphExecDestroy(graph);
  }
  Executables(const Executables&) = delete;
  Executables& operator=(const Executables&) = delete;
  const Driver& driver;
  std::vector<CUgraphExec> graphs;
};

void capture(const Driver& driver, FillJob& job, CUstream stream, Graph& captured) {
  check(driver, driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
  try {
    job.record_unit(stream);
  } catch (...) {
    driver.cuStreamEndCapture(stream, captured.out());
    throw;
  }
  check(driver, driver.cuStreamEndCapture(stream, captured.out()), "capturing the unit");
  if (captured.get() == nullptr) throw SetUpError("the unit cannot be captured as a CUDA graph");
}

std::vector<CUgraphNode> nodes_in_order(const Driver& driver, CUgraph graph) {
  std::size_t count = 0;
  check(driver, driver.cuGraphGetNodes(graph, nullptr, &count), "cuGraphGetNodes");
  std::vector<CUgraphNode> nodes(count);
  if (count != 0) check(driver, driver.cuGraphGetNodes(graph, nodes.data(), &count), "cuGraphGetNodes");
  std::map<CUgraphNode, std::size_t> index;
  for (std::size_t node = 0; node < nodes.size(); ++node) index[nodes[node]] = node;

  std::size_t edge_count = 0;
  check(driver, driver.cuGraphGetEdges(graph, nullptr, nullptr, &edge_count), "cuGraphGetEdges");
  std::vector<CUgraphNode> from(edge_count), to(edge_count);
  if (edge_count != 0)
    check(driver, driver.cuGraphGetEdges(graph, from.data(), to.data(), &edge_count), "cuGraphGetEdges");
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  for (std::size_t edge = 0; edge < edge_count; ++edge) edges.emplace_back(index.at(from[edge]), index.at(to[edge]));

  const auto order = topological_order(nodes.size(), edges);
  if (!order) throw SetUpError("the graph of the unit has a cycle");
  std::vector<CUgraphNode> ordered;
  for (const std::size_t node : *order) ordered.push_back(nodes[node]);
  return ordered;
}

const char* refusal_of(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_HOST:
      return "a host function";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return "a memory allocation";
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return "a memory release";
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return "a conditional node";
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return "a child graph";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return "a wait for an event";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return "an event record";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return "a stream memory operation";
    default:
      return "a node of an unknown kind";
  }
}

void check_blocks(const Driver& driver, CUgraphNode node, std::size_t number, std::uint32_t max_blocks) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
  check(driver, driver.cuGraphKernelNodeGetParams_v2(node, &parameters), "cuGraphKernelNodeGetParams");
  const std::uint64_t blocks = std::uint64_t{parameters.gridDimX} * parameters.gridDimY * parameters.gridDimZ;
  if (blocks > max_blocks)
    throw SetUpError("kernel " + std::to_string(number) + " of the unit has " + std::to_string(blocks) +
                     " thread blocks, more than the " + std::to_string(max_blocks) +
                     " that WEFT_RESERVE_SMS leaves to fill work");
}

// The nodes that do work, checked.
std::vector<CUgraphNode> work_nodes(const Driver& driver, CUgraph graph, std::uint32_t max_blocks) {
  std::vector<CUgraphNode> work;
  for (const CUgraphNode node : nodes_in_order(driver, graph)) {
    CUgraphNodeType type{};
    check(driver, driver.cuGraphNodeGetType(node, &type), "cuGraphNodeGetType");
    if (type == CU_GRAPH_NODE_TYPE_EMPTY) continue;
    if (type == CU_GRAPH_NODE_TYPE_KERNEL)
      check_blocks(driver, node, work.size() + 1, max_blocks);
    else if (type != CU_GRAPH_NODE_TYPE_MEMCPY && type != CU_GRAPH_NODE_TYPE_MEMSET)
      throw SetUpError(std::string("the unit contains ") + refusal_of(type) + ", which cannot be sliced");
    work.push_back(node);
  }
  if (work.empty()) throw SetUpError("the unit contains no work");
  return work;
}

CUgraphNode append(const Driver& driver, CUgraph graph, CUgraphNode previous, CUgraphNode source, CUcontext context) {
  CUgraphNodeType type{};
  CUgraphNode added = nullptr;
  const std::size_t count = previous == nullptr ? 0 : 1;
  check(driver, driver.cuGraphNodeGetType(source, &type), "cuGraphNodeGetType");
  if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
    CUDA_KERNEL_NODE_PARAMS parameters{};
    check(driver, driver.cuGraphKernelNodeGetParams_v2(source, &parameters), "cuGraphKernelNodeGetParams");
    check(driver, driver.cuGraphAddKernelNode_v2(&added, graph, &previous, count, &parameters), "cuGraphAddKernelNode");
    check(driver, driver.cuGraphKernelNodeCopyAttributes(added, source), "cuGraphKernelNodeCopyAttributes");
  } else if (type == CU_GRAPH_NODE_TYPE_MEMCPY) {
    CUDA_MEMCPY3D parameters{};
    check(driver, driver.cuGraphMemcpyNodeGetParams(source, &parameters), "cuGraphMemcpyNodeGetParams");
    check(driver, driver.cuGraphAddMemcpyNode(&added, graph, &previous, count, &parameters, context),
          "cuGraphAddMemcpyNode");
  } else {
    CUDA_MEMSET_NODE_PARAMS parameters{};
    check(driver, driver.cuGraphMemsetNodeGetParams(source, &parameters), "cuGraphMemsetNodeGetParams");
    check(driver, driver.cuGraphAddMemsetNode(&added, graph, &previous, count, &parameters, context),
          "cuGraphAddMemsetNode");
  }
  return added;
}

// One linear graph of these nodes, instantiated and uploaded.
CUgraphExec instantiate(const Driver& driver, std::span<const CUgraphNode> nodes, CUstream stream) {
  CUcontext context = nullptr;
  check(driver, driver.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  Graph graph(driver);
  check(driver, driver.cuGraphCreate(graph.out(), 0), "cuGraphCreate");
  CUgraphNode previous = nullptr;
  for (const CUgraphNode node : nodes) previous = append(driver, graph.get(), previous, node, context);
  CUgraphExec executable = nullptr;
  check(driver, driver.cuGraphInstantiateWithFlags(&executable, graph.get(), 0), "cuGraphInstantiate");
  const CUresult uploaded = driver.cuGraphUpload(executable, stream);
  if (uploaded != CUDA_SUCCESS) driver.cuGraphExecDestroy(executable);
  check(driver, uploaded, "cuGraphUpload");
  return executable;
}

// One pass over all graphs, in order, back to back; adds what each took to `samples`.
void time_once(const Driver& driver, std::span<const CUgraphExec> graphs, CUstream stream, const Events& events,
               nanoseconds patience, std::vector<std::vector<nanoseconds>>& samples) {
  for (std::size_t first = 0; first < graphs.size(); first += batch) {
    const std::size_t count = std::min(batch, graphs.size() - first);
    check(driver, driver.cuEventRecord(events[0], stream), "cuEventRecord");
    for (std::size_t index = 0; index < count; ++index) {
      check(driver, driver.cuGraphLaunch(graphs[first + index], stream), "cuGraphLaunch");
      check(driver, driver.cuEventRecord(events[index + 1], stream), "cuEventRecord");
    }
    wait_for(driver, stream, patience);
    for (std::size_t index = 0; index < count; ++index) {
      float milliseconds = 0;
      check(driver, driver.cuEventElapsedTime(&milliseconds, events[index], events[index + 1]), "cuEventElapsedTime");
      samples[first + index].emplace_back(static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6));
    }
  }
}

// Median time of each graph. The first pass warms up and does not count.
std::vector<nanoseconds> measure(const Driver& driver, std::span<const CUgraphExec> graphs, CUstream stream,
                                 const UnitOptions& options) {
  const Events events(driver, std::min(batch, graphs.size()) + 1);
  std::vector<std::vector<nanoseconds>> samples(graphs.size());
  time_once(driver, graphs, stream, events, options.patience, samples);
  for (auto& sample : samples) sample.clear();
  for (int pass = 0; pass < options.repeats; ++pass)
    time_once(driver, graphs, stream, events, options.patience, samples);
  std::vector<nanoseconds> medians;
  for (auto& sample : samples) {
    const auto middle = sample.begin() + static_cast<std::ptrdiff_t>(sample.size() / 2);
    std::nth_element(sample.begin(), middle, sample.end());
    medians.push_back(std::max(*middle, nanoseconds{1}));
  }
  return medians;
}

std::vector<nanoseconds> measure_nodes(const Driver& driver, std::span<const CUgraphNode> nodes, CUstream stream,
                                       const UnitOptions& options) {
  Executables single(driver);
  for (const CUgraphNode& node : nodes) single.graphs.push_back(instantiate(driver, {&node, 1}, stream));
  return measure(driver, single.graphs, stream, options);
}

}  // namespace

void wait_for(const Driver& driver, CUstream stream, nanoseconds patience) {
  CUresult result = CUDA_ERROR_NOT_READY;
  const auto has_ended = [&] {
    result = driver.cuStreamQuery(stream);
    return result != CUDA_ERROR_NOT_READY;
  };
  if (!wait_at_most(patience, has_ended))
    throw SetUpError("work of the fill job did not end within " +
                     std::to_string(std::chrono::duration_cast<std::chrono::seconds>(patience).count()) + " s");
  check(driver, result, "work of the fill job");
}

Unit::Unit(const Driver& driver, FillJob& job, CUstream stream, const UnitOptions& options) : driver_(driver) {
  job.record_unit(stream);
  wait_for(driver, stream, options.patience);
  Graph captured(driver);
  capture(driver, job, stream, captured);
  const std::vector<CUgraphNode> nodes = work_nodes(driver, captured.get(), options.max_blocks);
  const std::vector<nanoseconds> lengths = measure_nodes(driver, nodes, stream, options);

  // A tenth is kept free for what the timing of single nodes does not see.
  Executables executables(driver);
  for (const SliceRange& range : cut(lengths, options.slice_cap * 9 / 10))
    executables.graphs.push_back(instantiate(driver, std::span(nodes).subspan(range.first, range.count), stream));
  const std::vector<nanoseconds> alone = measure(driver, executables.graphs, stream, options);
  for (std::size_t slice = 0; slice < alone.size(); ++slice)
    slices_.push_back({executables.graphs[slice], alone[slice]});
  executables.graphs.clear();
}

Unit::~Unit() {
  for (const Slice& slice : slices_) driver_.cuGraphExecDestroy(slice.graph);
}

nanoseconds Unit::longest() const {
  nanoseconds longest{0};
  for (const Slice& slice : slices_) longest = std::max(longest, slice.alone);
  return longest;
}

}  // namespace weft
