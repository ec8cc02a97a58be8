// Who exchanges messages with whom: the ranks that are joined by sends and receives, and how many of these an iteration
// has between each two.
//
// Used by pipelines.cpp only. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "trace/names/peers.h"

namespace weft::names {

// Communicators of more than two ranks have pipelines of their own; those of two ranks make pipelines together, as
// programs have one for each pair of neighbours, or for each direction.
using Domain = std::uint64_t;
inline constexpr Domain pairs = 0;
Domain domain_of(const NamedRank& rank, std::size_t trace, CommunicatorId communicator);

using Edge = std::pair<Node, Node>;  // the smaller first
Edge between(Node one, Node other);

struct Talk {
  Domain domain = pairs;
  std::map<Node, std::set<Node>> neighbours{};  // of each of its ranks
  std::map<Edge, std::uint64_t> messages{};     // of an iteration, both ways; as the rank saw it that has most
  // Where it is one communicator: how many ranks that has, and which of them these are.
  std::int32_t communicator_ranks = 0;
  std::map<Node, std::int32_t> communicator_rank{};
};

std::vector<Talk> find_talks(std::span<const NamedRank> ranks, const Peers& peers);

// The shape of most iterations in which the rank sends or receives in this domain. nullptr: there is none.
const IterationShape* main_shape(const NamedRank& rank, std::size_t trace, Domain domain);

inline constexpr const char* lacks_ranks =
    "ranks of theirs left no trace, or no whole iteration, so their order is not known";

// The ranks from one end of a chain to the other, or around a ring from any of them.
struct LineUp {
  std::vector<Node> order;  // empty: `why`
  bool is_ring = false;
  const char* why = "";
};
LineUp line_up(const Talk& talk, const Peers& peers);

}  // namespace weft::names
