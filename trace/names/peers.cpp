// See peers.h.
#include "trace/names/peers.h"

#include <algorithm>
#include <string_view>

#include "trace/formatted.h"
#include "trace/read/printable.h"

namespace weft::names {
namespace {

// A key for a communicator whose id is not known: it is nobody else's.
constexpr std::uint64_t own_key = std::uint64_t{1} << 63;

}  // namespace

Peers::Peers(std::span<const NamedRank> ranks) : traces_(ranks.size()), keys_(ranks.size()) {
  std::map<std::int64_t, std::size_t> traces_of_rank;
  for (const NamedRank& rank : ranks) ++traces_of_rank[rank.rank];
  for (std::size_t trace = 0; trace < ranks.size(); ++trace) {
    const NamedRank& rank = ranks[trace];
    rank_of_.emplace_back(rank.rank);
    if (traces_of_rank[rank.rank] == 1) by_rank_[rank.rank] = trace;
    for (const auto& [number, communicator] : rank.iterations->communicators()) {
      const std::uint64_t key = communicator.id != 0 ? communicator.id : own_key | (trace << 32U) | number;
      keys_[trace][number] = key;
      if (nodes_.try_emplace({key, communicator.rank}, trace).second) members_[key].push_back(trace);
    }
  }
  find_world_order(ranks);
  for (std::size_t trace = 0; trace < ranks.size(); ++trace) add_peers(trace, ranks[trace]);
}

void Peers::add_peers(std::size_t trace, const NamedRank& rank) {
  for (const IterationShape& shape : rank.iterations->shapes())
    for (const IssuedGroup& group : shape.groups)
      for (const OperationRecord& operation : group.operations) {
        if (operation.peer < 0) continue;
        const Place place{key_of(trace, group.communicator), operation.peer};
        if (nodes_.contains(place)) continue;
        const std::optional<std::int64_t> number = world_rank(trace, group.communicator, operation.peer);
        const auto known = number ? by_rank_.find(*number) : by_rank_.end();
        if (known != by_rank_.end()) {
          nodes_[place] = known->second;
          continue;
        }
        nodes_[place] = rank_of_.size();
        rank_of_.push_back(number);
      }
}

// In a communicator of all ranks of the run they may have their numbers of the run. One trace alone proves nothing: the
// program may have the others in another order.
void Peers::find_world_order(std::span<const NamedRank> ranks) {
  std::map<std::uint64_t, std::set<std::int64_t>> alike;
  std::set<std::uint64_t> others;
  for (const NamedRank& rank : ranks)
    for (const auto& [number, communicator] : rank.iterations->communicators()) {
      if (communicator.id == 0) continue;
      if (communicator.ranks == rank.ranks && communicator.rank == rank.rank)
        alike[communicator.id].insert(rank.rank);
      else
        others.insert(communicator.id);
    }
  for (const auto& [id, traces] : alike)
    if (traces.size() > 1 && !others.contains(id)) in_world_order_.insert(id);
}

std::optional<std::int64_t> Peers::world_rank(std::size_t trace, CommunicatorId communicator, std::int32_t peer) const {
  return in_world_order_.contains(key_of(trace, communicator)) ? std::optional<std::int64_t>(peer) : std::nullopt;
}

std::uint64_t Peers::key_of(std::size_t trace, CommunicatorId communicator) const {
  const auto found = keys_[trace].find(communicator);
  return found == keys_[trace].end() ? own_key | (trace << 32U) | communicator : found->second;
}

std::optional<Node> Peers::node(std::size_t trace, CommunicatorId communicator, std::int32_t peer) const {
  const auto found = nodes_.find({key_of(trace, communicator), peer});
  if (found == nodes_.end()) return std::nullopt;
  return found->second;
}

const std::vector<Node>& Peers::members(std::uint64_t id) const {
  static const std::vector<Node> none;
  const auto found = members_.find(id);
  return found == members_.end() ? none : found->second;
}

std::string name_of_communicator(const NamedRank& rank, CommunicatorId communicator) {
  const CommunicatorRecord* const record = rank.iterations->communicator(communicator);
  if (record == nullptr) return "";
  std::string_view name = record->name;
  // PyTorch writes "<description>:<number>".
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && colon > 0 && colon + 1 < name.size() &&
      name.find_first_not_of("0123456789", colon + 1) == std::string_view::npos)
    name = name.substr(0, colon);
  return name == "undefined" ? "" : printable(name);
}

std::string name_of_peer(const Peers& peers, const NamedRank& rank, std::size_t trace, CommunicatorId communicator,
                         std::int32_t peer) {
  const std::optional<Node> node = peers.node(trace, communicator, peer);
  if (const std::optional<std::int64_t> number = node ? peers.rank_of(*node) : std::nullopt)
    return "rank " + std::to_string(*number);
  const std::string name = name_of_communicator(rank, communicator);
  return formatted("rank %d of ", peer) + (name.empty() ? formatted("communicator %u", communicator) : name);
}

}  // namespace weft::names
