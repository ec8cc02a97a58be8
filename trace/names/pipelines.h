// The pipelines of a run, from who sends to whom: chains of ranks, and rings where ranks have several chunks. A
// pipeline is taken only where the calls of all its ranks are in the order of one known schedule; else it says why not.
//
// Used by names.cpp and group_names.cpp, in the weft command and in tests only. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
  Looping looping{};          // of a ring; microbatches as in most iterations
  std::string unknown;        // why no names come from it; "": they do
  std::vector<Node> members;  // all that send or receive in it, sorted
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

 private:
  void learn(const Talk& talk);
  bool learn_chain(std::size_t pipeline, const std::vector<Node>& order);
  bool learn_ring(std::size_t pipeline, const Talk& talk, std::vector<Node> order);
  int microbatches_of_ring(std::size_t pipeline, int chunks) const;
  bool try_order(std::size_t pipeline, const std::vector<Node>& order);
  bool has_evidence(const Pipeline& pipeline) const;
  const IterationShape* main_shape_of(const Pipeline& pipeline, Node node) const;
  std::vector<Labels> labels_of_all(std::size_t pipeline) const;

  std::span<const NamedRank> ranks_;
  const Peers& peers_;
  std::vector<Pipeline> all_;
};

}  // namespace weft::names
