// Who a peer is: ranks of communicators of one trace as ranks of the run, as far as the traces tell.
//
// Used by pipelines.cpp, roles.cpp and group_names.cpp, in the weft command and in tests only. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/names/rank_iterations.h"

namespace weft::names {

// A rank of the run: traces have the numbers from 0 on, ranks without one those behind them.
using Node = std::size_t;

class Peers {
 public:
  explicit Peers(std::span<const NamedRank> ranks);

  std::size_t traces() const { return traces_; }
  std::size_t nodes() const { return rank_of_.size(); }
  bool has_trace(Node node) const { return node < traces_; }

  // Of a trace's communicator the rank `peer`, to which some iteration sends, or from which it receives. Two nodes may
  // be one rank where it has no trace.
  std::optional<Node> node(std::size_t trace, CommunicatorId communicator, std::int32_t peer) const;
  // Its number among all ranks of the run; nothing: it is not known.
  std::optional<std::int64_t> rank_of(Node node) const {
    return node < rank_of_.size() ? rank_of_[node] : std::nullopt;
  }
  // All ranks of a communicator that have traces.
  const std::vector<Node>& members(std::uint64_t id) const;

 private:
  using Place = std::pair<std::uint64_t, std::int32_t>;  // communicator's key, rank in it

  std::uint64_t key_of(std::size_t trace, CommunicatorId communicator) const;
  void find_world_order(std::span<const NamedRank> ranks);
  void add_peers(std::size_t trace, const NamedRank& rank);
  std::optional<std::int64_t> world_rank(std::size_t trace, CommunicatorId communicator, std::int32_t peer) const;

  std::size_t traces_ = 0;
  std::vector<std::map<CommunicatorId, std::uint64_t>> keys_;  // of each trace
  std::map<Place, Node> nodes_;
  std::set<std::uint64_t> in_world_order_;  // communicators whose ranks are those of the run
  std::map<std::int64_t, Node> by_rank_;    // of ranks that have exactly one trace
  std::map<std::uint64_t, std::vector<Node>> members_;
  std::vector<std::optional<std::int64_t>> rank_of_;
};

// How people write it: "rank 3", or "rank 1 of PIPELINE_GROUP" where its number in the run is not known.
std::string name_of_peer(const Peers& peers, const NamedRank& rank, std::size_t trace, CommunicatorId communicator,
                         std::int32_t peer);

// That the program gave it, without the number that PyTorch puts behind it; "": none.
std::string name_of_communicator(const NamedRank& rank, CommunicatorId communicator);

}  // namespace weft::names
