// See talks.h.
#include "trace/names/talks.h"

#include <algorithm>

namespace weft::names {
namespace {

constexpr const char* not_a_chain = "their messages make neither a chain nor a ring of ranks";

bool has_messages(const IssuedGroup& group) {
  return std::ranges::any_of(group.operations, [](const OperationRecord& each) { return is_message(each.kind); });
}

// All domains in which the rank sends or receives.
std::set<Domain> domains_of(const NamedRank& rank, std::size_t trace) {
  std::set<Domain> domains;
  for (const IterationShape& shape : rank.iterations->shapes())
    for (const IssuedGroup& group : shape.groups)
      if (has_messages(group)) domains.insert(domain_of(rank, trace, group.communicator));
  return domains;
}

// A rank's own messages in a domain.
void add_rank(Talk& talk, const NamedRank& rank, std::size_t trace, const Peers& peers) {
  std::map<Edge, std::uint64_t> seen;
  for (const IssuedGroup& group : main_shape(rank, trace, talk.domain)->groups) {
    if (domain_of(rank, trace, group.communicator) != talk.domain) continue;
    const CommunicatorRecord* const record = rank.iterations->communicator(group.communicator);
    if (talk.domain != pairs && record != nullptr) {
      talk.communicator_ranks = record->ranks;
      talk.communicator_rank[trace] = record->rank;
    }
    for (const OperationRecord& operation : group.operations) {
      if (!is_message(operation.kind)) continue;
      const Node node = *peers.node(trace, group.communicator, operation.peer);
      talk.communicator_rank[node] = operation.peer;
      talk.neighbours[trace].insert(node);
      talk.neighbours[node].insert(trace);
      ++seen[between(trace, node)];
    }
  }
  for (const auto& [edge, count] : seen) talk.messages[edge] = std::max(talk.messages[edge], count);
}

// The ranks of it that are joined with the first one; these are taken out.
Talk take_first(Talk& all) {
  Talk talk{.domain = all.domain, .communicator_ranks = all.communicator_ranks};
  std::vector<Node> reached{all.neighbours.begin()->first};
  while (!reached.empty()) {
    const Node node = reached.back();
    reached.pop_back();
    const auto found = all.neighbours.extract(node);
    if (found.empty()) continue;
    reached.insert(reached.end(), found.mapped().begin(), found.mapped().end());
    talk.neighbours[node] = found.mapped();
    if (const auto rank = all.communicator_rank.find(node); rank != all.communicator_rank.end())
      talk.communicator_rank.insert(*rank);
  }
  for (const auto& [edge, count] : all.messages)
    if (talk.neighbours.contains(edge.first)) talk.messages.insert({edge, count});
  return talk;
}

// Where some ranks have no trace their order is known only where each rank of one communicator talks to those beside
// it: one that nobody talked to may be of another pipeline.
std::vector<Node> order_of_communicator(const Talk& talk) {
  const std::int32_t ranks = talk.communicator_ranks;
  if (talk.domain == pairs || ranks < 2 || talk.communicator_rank.size() != static_cast<std::size_t>(ranks)) return {};
  std::vector<Node> order;
  std::map<std::int32_t, Node> by_rank;
  for (const auto& [node, rank] : talk.communicator_rank) by_rank[rank] = node;
  for (const auto& [rank, node] : by_rank) {
    if (rank != static_cast<std::int32_t>(order.size())) return {};
    if (!order.empty() && !talk.messages.contains(between(order.back(), node))) return {};
    order.push_back(node);
  }
  const bool is_closed = ranks > 2 && talk.messages.contains(between(order.front(), order.back()));
  if (talk.messages.size() != order.size() - (is_closed ? 0 : 1)) return {};
  return order;
}

}  // namespace

// Of a communicator without an id nobody else knows that it is the same.
Domain domain_of(const NamedRank& rank, std::size_t trace, CommunicatorId communicator) {
  const CommunicatorRecord* const record = rank.iterations->communicator(communicator);
  if (record != nullptr && record->ranks <= 2) return pairs;
  if (record != nullptr && record->id != 0) return record->id;
  return std::uint64_t{1} << 63U | trace << 32U | communicator;
}

Edge between(Node one, Node other) {
  return {std::min(one, other), std::max(one, other)};
}

const IterationShape* main_shape(const NamedRank& rank, std::size_t trace, Domain domain) {
  const IterationShape* best = nullptr;
  for (const IterationShape& shape : rank.iterations->shapes()) {
    const bool talks = std::ranges::any_of(shape.groups, [&](const IssuedGroup& group) {
      return has_messages(group) && domain_of(rank, trace, group.communicator) == domain;
    });
    if (talks && (best == nullptr || shape.iterations > best->iterations)) best = &shape;
  }
  return best;
}

std::vector<Talk> find_talks(std::span<const NamedRank> ranks, const Peers& peers) {
  std::map<Domain, Talk> domains;
  for (std::size_t trace = 0; trace < ranks.size(); ++trace)
    for (const Domain domain : domains_of(ranks[trace], trace)) {
      Talk& talk = domains[domain];
      talk.domain = domain;
      add_rank(talk, ranks[trace], trace, peers);
    }
  std::vector<Talk> talks;
  for (auto& [domain, all] : domains)
    while (!all.neighbours.empty()) talks.push_back(take_first(all));
  return talks;
}

LineUp line_up(const Talk& talk, const Peers& peers) {
  LineUp line;
  std::vector<Node> ends;
  for (const auto& [node, neighbours] : talk.neighbours) {
    if (neighbours.size() == 1) ends.push_back(node);
    if (neighbours.size() > 2 || neighbours.contains(node)) return {{}, false, not_a_chain};
  }
  if (!std::ranges::all_of(talk.neighbours, [&](const auto& entry) { return peers.has_trace(entry.first); })) {
    line.order = order_of_communicator(talk);
    if (line.order.empty()) return {{}, false, lacks_ranks};
    line.is_ring = line.order.size() > 2 && talk.messages.contains(between(line.order.front(), line.order.back()));
    return line;
  }
  line.is_ring = ends.empty();
  line.order.push_back(line.is_ring ? talk.neighbours.begin()->first : ends.front());
  while (line.order.size() < talk.neighbours.size()) {
    const std::set<Node>& neighbours = talk.neighbours.at(line.order.back());
    line.order.push_back(*std::ranges::find_if(
        neighbours, [&](Node node) { return line.order.size() < 2 || node != line.order[line.order.size() - 2]; }));
  }
  return line;
}

}  // namespace weft::names
