// One unit of a fill job, ready to run: its slices, of several lengths, as instantiated, uploaded, warmed and timed
// graphs.
//
// Prepared on a thread of the main job inside the core's services, on a quiet device; afterwards the dispatcher thread
// only launches the graphs. Nothing here runs in a bubble except reading.
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "detector/dcheck.h"
#include "runner/core/driver.h"
#include "runner/fill/confined.h"
#include "runner/fill/fill_job.h"
#include "runner/fill/fill_lane.h"
#include "runner/fill/graph_timing.h"
#include "runner/policy/cuts.h"

namespace weft {

struct UnitOptions {
  std::chrono::nanoseconds slice_cap{300'000};
  ConfineOptions confine;
  TimingOptions timing;
};

struct Slice {
  CUgraphExec graph = nullptr;
  std::chrono::nanoseconds alone{};   // on the idle device, between slices that are launched back to back
  std::vector<CUgraphExec> others{};  // of copies of records: those of each slot; `graph` is for trial runs then

  CUgraphExec of_slot(std::uint32_t slot) const {
    WEFT_DCHECK(others.empty() || slot < others.size());
    return others.empty() ? graph : others[slot];
  }
};

// As it was recorded, and timed alone on the idle device.
struct MeasuredNode {
  CUgraphNodeType type{};
  std::uint64_t blocks = 0;
  CUkernel kernel = nullptr;  // see WorkNode
  std::chrono::nanoseconds alone{};
};

class Unit {
 public:
  // Records, captures, checks, confines, times and cuts one unit of `job`, with the copies of its records before and
  // behind it, which are slices of their own. Throws SetUpError.
  Unit(const Driver& driver, FillJob& job, FillLane& lane, const UnitOptions& options);
  // Takes over slices that are ready, one behind the other; some of them may be run more than once.
  Unit(const Driver& driver, std::vector<Slice> slices, const SliceRange& pass = {});
  ~Unit();
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  const Slice& slice(std::uint32_t number) const { return slices_[number]; }
  // Which slices may come next, by the node that the unit has got to.
  const Cuts& cuts() const { return cuts_; }
  const Confined& confined() const { return confined_; }
  const std::vector<MeasuredNode>& nodes() const { return nodes_; }
  std::vector<Slice> whole() const;  // from the begin to the end, in the longest slices
  // Likewise some nodes, between two fences of the cuts.
  std::vector<Slice> slices_of(const SliceRange& nodes) const;
  std::chrono::nanoseconds longest() const;  // of the slices that cannot be shorter

 private:
  // Of the nodes, in the context that confines them.
  std::vector<std::chrono::nanoseconds> confined_lengths(std::span<const WorkNode> nodes, CUstream stream,
                                                         const UnitOptions& options);
  void time(const std::vector<std::uint32_t>& sequence, CUstream stream, const TimingOptions& options);
  void warm_others(CUstream stream, const TimingOptions& options);

  const Driver& driver_;
  Confined confined_;
  std::vector<MeasuredNode> nodes_;  // in the order in which they run
  Cuts cuts_;
  std::vector<Slice> slices_;  // those of the cuts
};

}  // namespace weft
