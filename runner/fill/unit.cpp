// Preparing a unit: warm-up, capture, a look at every node, confinement, timing, cutting, timing again. Threads: see
// the header.
#include "runner/fill/unit.h"

#include <algorithm>
#include <array>
#include <span>

#include "runner/fill/fill_wait.h"
#include "runner/fill/graph_nodes.h"
#include "runner/fill/slot_copies.h"

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

// The slices of the cuts, which are of the copies in, of the work, or of the copies out: of copies one for each slot.
std::vector<Slice> instantiated(const Driver& driver, const Cuts& cuts, std::span<const WorkNode> work,
                                const SlotCopies& copies, CUstream stream, CUcontext share, Executables& executables) {
  const std::size_t before = copies.in(0).size(), behind = before + work.size();
  std::vector<Slice> slices;
  const auto add = [&](std::span<const WorkNode> nodes, CUcontext context) {
    return executables.graphs.emplace_back(instantiate(driver, nodes, stream, context));
  };
  for (const SliceRange& range : cuts.slices()) {
    Slice& slice = slices.emplace_back();
    const bool copies_in = range.first < before;
    if (!copies_in && range.first < behind) {
      slice.graph = add(work.subspan(range.first - before, range.count), share);
      continue;
    }
    for (std::size_t slot = 0; slot < copies.slots(); ++slot) {
      const std::span nodes(copies_in ? copies.in(slot) : copies.out(slot));
      const CUgraphExec graph = add(nodes.subspan(range.first - (copies_in ? 0 : behind), range.count), nullptr);
      slot == 0 ? void(slice.graph = graph) : slice.others.push_back(graph);
    }
  }
  return slices;
}

}  // namespace

Unit::Unit(const Driver& driver, FillJob& job, FillLane& lane, const UnitOptions& options) : driver_(driver) {
  const CUstream stream = lane.stream();
  job.record_unit(stream);
  wait_for(driver, stream, options.timing.patience);
  Graph captured(driver);
  capture(driver, job, stream, captured);
  const std::vector<WorkNode> work = work_nodes(driver, captured.get());
  confined_ = confine(work, options.confine, lane);
  std::vector<nanoseconds> lengths = confined_lengths(work, stream, options);
  take_lengths(work, lengths, options.slice_cap, options.confine, confined_);
  const SlotCopies copies(driver, job.feed(), stream);
  const std::vector<WorkNode>&in = copies.in(0), &out = copies.out(0);
  const std::vector<nanoseconds> before = measure_nodes(driver, in, stream, options, nullptr),
                                 behind = measure_nodes(driver, out, stream, options, nullptr);
  lengths.insert(lengths.begin(), before.begin(), before.end());
  lengths.insert(lengths.end(), behind.begin(), behind.end());
  std::vector<WorkNode> nodes = in;
  nodes.insert(nodes.end(), work.begin(), work.end());
  nodes.insert(nodes.end(), out.begin(), out.end());
  for (std::size_t node = 0; node < nodes.size(); ++node)
    nodes_.push_back({nodes[node].type, nodes[node].blocks, nodes[node].kernel, lengths[node]});
  const std::array<std::size_t, 2> fences{in.size(), in.size() + work.size()};
  cuts_ = Cuts(lengths, slice_lengths(options.slice_cap), fences);
  if (job.has_passes()) cuts_.set_pass({in.size(), work.size()});
  Executables executables(driver);
  slices_ = instantiated(driver, cuts_, work, copies, stream, confined_.share, executables);
  for (const std::vector<std::uint32_t>& sequence : cuts_.sequences()) time(sequence, stream, options.timing);
  warm_others(stream, options.timing);
  executables.graphs.clear();
}

// A first launch may load and wait, which must not happen in a bubble. Slots that are filled meanwhile lose nothing:
// their outputs count once their unit has ended.
void Unit::warm_others(CUstream stream, const TimingOptions& options) {
  for (const Slice& slice : slices_)
    for (const CUgraphExec graph : slice.others)
      check(driver_, driver_.cuGraphLaunch(graph, stream), "launching the copies of records");
  wait_for(driver_, stream, options.patience);
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

Unit::Unit(const Driver& driver, std::vector<Slice> slices, const SliceRange& pass)
    : driver_(driver), slices_(std::move(slices)) {
  std::vector<nanoseconds> lengths;
  for (const Slice& slice : slices_) lengths.push_back(slice.alone);
  cuts_ = Cuts(lengths, std::array{nanoseconds{0}});
  cuts_.set_pass(pass);
}

Unit::~Unit() {
  for (const Slice& slice : slices_) {
    driver_.cuGraphExecDestroy(slice.graph);
    for (const CUgraphExec graph : slice.others) driver_.cuGraphExecDestroy(graph);
  }
}

std::vector<Slice> Unit::whole() const {
  return slices_of({0, cuts_.nodes()});
}

std::vector<Slice> Unit::slices_of(const SliceRange& nodes) const {
  std::vector<Slice> slices;
  for (std::size_t node = nodes.first; node < nodes.first + nodes.count;) {
    const std::uint32_t longest = cuts_.from(node).back();
    slices.push_back(slices_[longest]);
    node += cuts_.slices()[longest].count;
  }
  return slices;
}

nanoseconds Unit::longest() const {
  nanoseconds longest{0};
  for (const std::uint32_t slice : cuts_.sequences().front()) longest = std::max(longest, slices_[slice].alone);
  return longest;
}

}  // namespace weft
