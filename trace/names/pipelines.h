// The pipelines of a run, from who sends to whom: chains of ranks, and rings where ranks have several chunks. A
// pipeline is taken only where the calls of all its ranks are in the order of one known schedule; else it says why not.
//
// Used by names.cpp and group_names.cpp, in the weft command and in tests only. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "trace/names/peers.h"
#include "trace/names/schedule.h"
#include "trace/names/talks.h"

namespace weft::names {

struct Pipeline {
  Domain domain = pairs;
  std::vector<Node> ranks;  // in the order of the forward pass; empty: it is not known
  bool is_ring = false;
  bool is_whole = false;      // iterations of its first and last rank are known
  ChainOrder order{};         // of a chain
  Looping looping{};          // of a ring; microbatches as in most iterations
  std::string unknown;        // why no names come from it; "": they do
  std::vector<Node> members;  // all that send or receive in it, sorted
  // Of ranks with traces the shapes of iterations whose messages have names.
  std::map<Node, std::set<std::uint32_t>> shapes{};
};

// For each message of a group the lane, and which of its messages in the iteration it is.
struct LaneOfOperation {
  Lane lane{};
  std::uint32_t number = 0;
};
// The messages of one iteration by their way; of each group and operation where it is there. Nothing: it is no message,
// or one of another domain.
struct SortedMessages {
  Lanes lanes;
  std::vector<std::vector<std::optional<LaneOfOperation>>> of_group;
};

class Pipelines {
 public:
  Pipelines(std::span<const NamedRank> ranks, const Peers& peers);

  const std::vector<Pipeline>& all() const { return all_; }
  // In which pipelines a trace takes part.
  std::vector<std::size_t> of_trace(std::size_t trace) const;
  // Nothing: it is not in its order.
  std::optional<Position> position(std::size_t pipeline, Node node) const;
  // Nothing where a message goes to somebody who is no neighbour.
  std::optional<SortedMessages> sort(std::size_t pipeline, std::size_t trace, const IterationShape& shape) const;
  // Nothing: its order is of no known schedule.
  std::optional<Labels> labels(std::size_t pipeline, std::size_t trace, const SortedMessages& messages) const;
  // Whether the rank sends or receives in iterations of this shape there.
  bool talks(std::size_t pipeline, std::size_t trace, const IterationShape& shape) const;

 private:
  void learn(const Talk& talk);
  // These say why not; "": it is known.
  std::string learn_chain(std::size_t pipeline, const std::vector<Node>& order);
  std::string learn_ring(std::size_t pipeline, const Talk& talk, std::vector<Node> order);
  std::string doubt(std::size_t pipeline) const;
  std::string try_order(std::size_t pipeline, const std::vector<Node>& order);
  void find_shapes(std::size_t pipeline);
  int microbatches_of_ring(std::size_t pipeline, int chunks) const;
  bool has_evidence(const Pipeline& pipeline) const;
  const IterationShape* main_shape_of(const Pipeline& pipeline, Node node) const;
  std::vector<Labels> labels_of_all(std::size_t pipeline) const;

  std::span<const NamedRank> ranks_;
  const Peers& peers_;
  std::vector<Pipeline> all_;
};

}  // namespace weft::names
