// See the header.
#include "runner/fill/confined.h"

#include <algorithm>

namespace weft {
namespace {

// "kernel 3 of the unit has 5000 thread blocks, more than the 124 that WEFT_RESERVE_SMS leaves to fill work"
std::string too_large(std::size_t number, std::uint64_t blocks, const ConfineOptions& options) {
  return "kernel " + std::to_string(number + 1) + " of the unit has " + std::to_string(blocks) +
         " thread blocks, more than the " + std::to_string(options.max_blocks) +
         " that WEFT_RESERVE_SMS leaves to fill work";
}

Confined confine_by_green_context(std::span<const WorkNode> nodes, const ConfineOptions& options, FillLane& lane) {
  lane.check_share();
  if (options.shared_gpu)
    throw SetUpError("the GPU is shared by MPS, which may give a green context more multiprocessors than it asks for");
  const auto bound = std::ranges::find_if(
      nodes, [](const WorkNode& node) { return node.type == CU_GRAPH_NODE_TYPE_KERNEL && node.kernel == nullptr; });
  if (bound != nodes.end())
    throw SetUpError("kernel " + std::to_string(bound - nodes.begin() + 1) +
                     " of the unit belongs to one context: it is of a module (cuModuleLoad), or the driver does not "
                     "say that it is of a library (cuLibraryLoadData, or the runtime's)");
  const GreenShare& share = lane.share(options.reserved);
  return {Confinement::green, share.context(), share.multiprocessors(), "", {}};
}

}  // namespace

Confined confine(std::span<const WorkNode> nodes, const ConfineOptions& options, FillLane& lane) {
  const auto largest = std::ranges::max_element(nodes, {}, &WorkNode::blocks);
  const bool fits = largest->blocks <= options.max_blocks;
  if (fits && options.wish != Confine::green) return {};
  if (options.wish == Confine::job)
    throw SetUpError(too_large(static_cast<std::size_t>(largest - nodes.begin()), largest->blocks, options) +
                     ", and WEFT_CONFINE=job allows no other way");
  if (options.wish == Confine::none) return {Confinement::none, nullptr, 0, "WEFT_CONFINE=none", {}};
  try {
    return confine_by_green_context(nodes, options, lane);
  } catch (const SetUpError& error) {
    if (options.wish == Confine::green)
      throw SetUpError(std::string("WEFT_CONFINE=green cannot be kept: ") + error.what());
    return {Confinement::none, nullptr, 0, error.what(), {}};
  }
}

void take_lengths(std::span<const WorkNode> nodes, const std::vector<std::chrono::nanoseconds>& lengths,
                  std::chrono::nanoseconds slice_cap, const ConfineOptions& options, Confined& confined) {
  if (confined.how != Confinement::none || !options.bounds_lengths) return;
  const auto microseconds = [](std::chrono::nanoseconds time) { return std::to_string((time.count() + 999) / 1000); };
  for (std::size_t number = 0; number < nodes.size(); ++number) {
    if (nodes[number].blocks <= options.max_blocks) continue;
    confined.longest = std::max(confined.longest, lengths[number]);
    if (lengths[number] > slice_cap)
      throw SetUpError(too_large(number, nodes[number].blocks, options) + ", and takes " +
                       microseconds(lengths[number]) + " us, longer than a slice (WEFT_SLICE) of " +
                       microseconds(slice_cap) + " us: NCCL would wait for it, as nothing confines it (" +
                       confined.why_not + ")");
  }
}

}  // namespace weft
