// Preparing a unit: warm-up, capture, a look at every node, confinement, timing, cutting, timing again. Threads: see
// the header.
#include "runner/fill/unit.h"

#include <algorithm>
#include <array>
#include <span>

#include "runner/fill/fill_wait.h"
#include "runner/fill/graph_nodes.h"

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

std::vector<nanoseconds> measure_nodes(const Driver& driver, std::span<const WorkNode> nodes, CUstream stream,
                                       const UnitOptions& options, CUcontext share) {
  Executables single(driver);
  for (const WorkNode& node : nodes) single.graphs.push_back(instantiate(driver, {&node, 1}, stream, share));
  return measure(driver, single.graphs, stream, options.timing);
}

}  // namespace

Unit::Unit(const Driver& driver, FillJob& job, FillLane& lane, const UnitOptions& options) : driver_(driver) {
  const CUstream stream = lane.stream();
  job.record_unit(stream);
  wait_for(driver, stream, options.timing.patience);
  Graph captured(driver);
  capture(driver, job, stream, captured);
  const std::vector<WorkNode> nodes = work_nodes(driver, captured.get());
  confined_ = confine(nodes, options.confine, lane);
  const std::vector<nanoseconds> lengths = confined_lengths(nodes, stream, options);
  take_lengths(nodes, lengths, options.slice_cap, options.confine, confined_);
  for (std::size_t node = 0; node < nodes.size(); ++node)
    nodes_.push_back({nodes[node].type, nodes[node].blocks, nodes[node].kernel, lengths[node]});
  cuts_ = Cuts(lengths, slice_lengths(options.slice_cap));
  Executables executables(driver);
  for (const SliceRange& range : cuts_.slices())
    executables.graphs.push_back(
        instantiate(driver, std::span(nodes).subspan(range.first, range.count), stream, confined_.share));
  for (const CUgraphExec graph : executables.graphs) slices_.push_back({graph, {}});
  for (const std::vector<std::uint32_t>& sequence : cuts_.sequences()) time(sequence, stream, options.timing);
  executables.graphs.clear();
}

// A green context may not take what the whole device does: a kernel whose blocks all run at once, a cluster.
std::vector<nanoseconds> Unit::confined_lengths(std::span<const WorkNode> nodes, CUstream stream,
                                                const UnitOptions& options) {
  try {
    return measure_nodes(driver_, nodes, stream, options, confined_.share);
  } catch (const SetUpError& error) {
    if (confined_.how != Confinement::green || options.confine.wish != Confine::automatic) throw;
    confined_ = {Confinement::none, nullptr, 0, error.what(), {}};
    return measure_nodes(driver_, nodes, stream, options, nullptr);
  }
}

// Always the whole unit, in order: its work may count on what comes before it.
void Unit::time(const std::vector<std::uint32_t>& sequence, CUstream stream, const TimingOptions& options) {
  std::vector<CUgraphExec> graphs;
  for (const std::uint32_t slice : sequence) graphs.push_back(slices_[slice].graph);
  const std::vector<nanoseconds> alone = measure(driver_, graphs, stream, options);
  for (std::size_t i = 0; i < alone.size(); ++i) slices_[sequence[i]].alone = alone[i];
}

Unit::Unit(const Driver& driver, std::vector<Slice> slices) : driver_(driver), slices_(std::move(slices)) {
  std::vector<nanoseconds> lengths;
  for (const Slice& slice : slices_) lengths.push_back(slice.alone);
  cuts_ = Cuts(lengths, std::array{nanoseconds{0}});
}

Unit::~Unit() {
  for (const Slice& slice : slices_) driver_.cuGraphExecDestroy(slice.graph);
}

std::vector<Slice> Unit::whole() const {
  std::vector<Slice> whole;
  for (std::size_t node = 0; node < cuts_.nodes();) {
    const std::uint32_t longest = cuts_.from(node).back();
    whole.push_back(slices_[longest]);
    node += cuts_.slices()[longest].count;
  }
  return whole;
}

nanoseconds Unit::longest() const {
  nanoseconds longest{0};
  for (const std::uint32_t slice : cuts_.sequences().front()) longest = std::max(longest, slices_[slice].alone);
  return longest;
}

}  // namespace weft
