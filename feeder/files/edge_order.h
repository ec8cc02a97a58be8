// The edges of a file in the order in which jobs read them, with dense numbers for their vertices.
//
// Called by the reader of edge lists, in the feeder and in a fill job's trial. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "feeder/files/edge_list.h"

namespace weft {

// In the order of the file. No values: it has two columns.
struct UnorderedEdges {
  std::vector<std::int64_t> sources, targets;  // at least one edge, ids not below 0
  std::vector<float> values;
};

// With more vertices than 32 bits number there are their ids, and nothing else.
EdgeList in_order(UnorderedEdges edges, const StillReading& still_reading);

}  // namespace weft
