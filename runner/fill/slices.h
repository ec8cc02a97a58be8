// Cutting a unit into slices: which consecutive nodes are launched together. Pure: lengths in, ranges out.
//
// Called while a fill job is prepared. Also the order of a unit's nodes, from the edges of its graph.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weft {

struct SliceRange {
  std::size_t first = 0;  // node
  std::size_t count = 0;
  friend bool operator==(const SliceRange&, const SliceRange&) = default;
};

// Greedy from the front: each slice takes nodes while their sum stays within `cap`. A node longer than `cap` is a slice
// of its own.
std::vector<SliceRange> cut(std::span<const std::chrono::nanoseconds> nodes, std::chrono::nanoseconds cap);

// A topological order of `nodes` vertices that keeps the given order where the edges (from, to) leave a choice.
// Nothing when an edge is out of range or the edges form a cycle.
std::optional<std::vector<std::size_t>> topological_order(std::size_t nodes,
                                                          std::span<const std::pair<std::size_t, std::size_t>> edges);

}  // namespace weft
