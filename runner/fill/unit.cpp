// Preparing a unit: warm-up, capture, a look at every node, timing, cutting, timing again. Threads: see the header.
#include "runner/fill/unit.h"

#include <algorithm>
#include <span>

#include "runner/fill/fill_wait.h"
#include "runner/fill/graph_nodes.h"
#include "runner/fill/slices.h"

namespace weft {
namespace {

using std::chrono::nanoseconds;

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

std::vector<nanoseconds> measure_nodes(const Driver& driver, std::span<const CUgraphNode> nodes, CUstream stream,
                                       const UnitOptions& options) {
  Executables single(driver);
  for (const CUgraphNode& node : nodes) single.graphs.push_back(instantiate(driver, {&node, 1}, stream));
  return measure(driver, single.graphs, stream, options.timing);
}

}  // namespace

Unit::Unit(const Driver& driver, FillJob& job, CUstream stream, const UnitOptions& options) : driver_(driver) {
  job.record_unit(stream);
  wait_for(driver, stream, options.timing.patience);
  Graph captured(driver);
  capture(driver, job, stream, captured);
  const std::vector<CUgraphNode> nodes = work_nodes(driver, captured.get(), options.max_blocks);
  const std::vector<nanoseconds> lengths = measure_nodes(driver, nodes, stream, options);

  // A tenth is kept free for what the timing of single nodes does not see.
  Executables executables(driver);
  for (const SliceRange& range : cut(lengths, options.slice_cap * 9 / 10))
    executables.graphs.push_back(instantiate(driver, std::span(nodes).subspan(range.first, range.count), stream));
  const std::vector<nanoseconds> alone = measure(driver, executables.graphs, stream, options.timing);
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
