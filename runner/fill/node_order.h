// The order of a unit's nodes, from the edges of its graph. Pure.
//
// Called while a fill job is prepared.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weft {

// A topological order of `nodes` vertices that keeps the given order where the edges (from, to) leave a choice.
// Nothing when an edge is out of range or the edges form a cycle.
std::optional<std::vector<std::size_t>> topological_order(std::size_t nodes,
                                                          std::span<const std::pair<std::size_t, std::size_t>> edges);

}  // namespace weft
