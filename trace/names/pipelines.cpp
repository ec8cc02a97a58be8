// See pipelines.h.
#include "trace/names/pipelines.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace weft::names {
namespace {

constexpr const char* other_order = "the order of their messages is of no schedule that Weft knows";
constexpr const char* no_agreement = "the ranks begin their iterations with different messages";

// The first of an iteration's messages on one way.
struct First {
  std::uint64_t sequence = 0, count = 0;
};
using Way = std::tuple<std::uint64_t, Node, Node>;  // communicator, from, to

std::map<Way, First> first_messages(const NamedRank& rank, std::size_t trace, const Peers& peers,
                                    const IterationShape& shape, bool received) {
  std::map<Way, First> all;
  for (const IssuedGroup& group : shape.groups) {
    const CommunicatorRecord* const record = rank.iterations->communicator(group.communicator);
    if (record == nullptr || record->id == 0) continue;
    for (const OperationRecord& operation : group.operations) {
      if (operation.kind != (received ? Operation::receive : Operation::send) || operation.sequence == 0) continue;
      const Node peer = *peers.node(trace, group.communicator, operation.peer);
      First& first = all[{record->id, received ? peer : trace, received ? trace : peer}];
      if (first.count++ == 0) first.sequence = operation.sequence;
    }
  }
  return all;
}

// The k-th message of an iteration here has to be the k-th one of an iteration there: as each side numbers them, they
// are so many whole iterations apart.
class Agreement {
 public:
  void add_sent(const std::map<Way, First>& all) { sent_.insert(all.begin(), all.end()); }
  bool has(const std::map<Way, First>& received) const {
    return std::ranges::all_of(received, [&](const auto& entry) {
      const auto& [way, first] = entry;
      const auto other = sent_.find(way);
      if (other == sent_.end() || other->second.count != first.count) return true;
      const auto [less, more] = std::minmax(first.sequence, other->second.sequence);
      return (more - less) % first.count == 0;
    });
  }

 private:
  std::map<Way, First> sent_;
};

// The place in the ring behind which the last rank sends to the first one: there are fewer messages there, as those of
// the last chunk stay. And how many chunks each rank has. Nothing: it is no such ring.
std::optional<std::pair<std::size_t, int>> end_of_ring(const Talk& talk, const std::vector<Node>& order) {
  std::vector<std::uint64_t> messages;  // between each rank and the next one
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto found = talk.messages.find(between(order[place], order[(place + 1) % order.size()]));
    if (found == talk.messages.end()) return std::nullopt;
    messages.push_back(found->second);
  }
  const auto fewest = std::ranges::min_element(messages);
  const std::uint64_t most = *std::ranges::max_element(messages), missing = most - *fewest;
  const auto others = static_cast<std::size_t>(std::ranges::count(messages, most));
  if (missing == 0 || most % missing != 0 || others + 1 != order.size()) return std::nullopt;
  return std::pair(static_cast<std::size_t>(fewest - messages.begin()), static_cast<int>(most / missing));
}

}  // namespace

Pipelines::Pipelines(std::span<const NamedRank> ranks, const Peers& peers) : ranks_(ranks), peers_(peers) {
  for (const Talk& talk : find_talks(ranks, peers)) learn(talk);
}

void Pipelines::learn(const Talk& talk) {
  const std::size_t number = all_.size();
  Pipeline& pipeline = all_.emplace_back();
  pipeline.domain = talk.domain;
  for (const auto& [node, neighbours] : talk.neighbours) pipeline.members.push_back(node);
  const LineUp line = line_up(talk, peers_);
  pipeline.unknown = line.why;
  pipeline.is_ring = line.is_ring;
  if (line.order.empty()) return;
  if (line.is_ring ? learn_ring(number, talk, line.order) : learn_chain(number, line.order)) return;
  pipeline.ranks.clear();
  if (pipeline.unknown.empty()) pipeline.unknown = other_order;
}

// One of the two ways along it has to fit, and the other one not.
bool Pipelines::learn_chain(std::size_t number, const std::vector<Node>& order) {
  const bool fits_backward = try_order(number, {order.rbegin(), order.rend()});
  if (try_order(number, order)) return !fits_backward;
  return fits_backward && try_order(number, {order.rbegin(), order.rend()});
}

// Of the lengths that a round may have one has to fit, or all that fit have to mean the same.
bool Pipelines::learn_ring(std::size_t number, const Talk& talk, std::vector<Node> order) {
  const auto end = end_of_ring(talk, order);
  if (!end) return false;
  std::ranges::rotate(order, order.begin() + static_cast<std::ptrdiff_t>((end->first + 1) % order.size()));
  Pipeline& pipeline = all_[number];
  std::optional<std::pair<std::vector<Node>, Looping>> found;
  std::vector<Labels> meaning;
  for (int way = 0; way < 2; ++way, std::ranges::reverse(order)) {
    pipeline.ranks = order;
    const int microbatches = microbatches_of_ring(number, end->second);
    for (int round = 1; round <= microbatches; ++round) {
      pipeline.looping = {microbatches, end->second, round};
      if (!try_order(number, order) || !pipeline.is_whole) continue;
      std::vector<Labels> labels = labels_of_all(number);
      if (found && (found->first != order || meaning != labels)) return false;
      found = {order, pipeline.looping};
      meaning = std::move(labels);
    }
  }
  if (!found) return false;
  pipeline.looping = found->second;
  return try_order(number, found->first);
}

// As its first rank sends each of them once for every chunk. 0: that is not known.
int Pipelines::microbatches_of_ring(std::size_t number, int chunks) const {
  const Node first = all_[number].ranks.front();
  const IterationShape* const shape = main_shape_of(all_[number], first);
  const std::optional<SortedMessages> messages = shape != nullptr ? sort(number, first, *shape) : std::nullopt;
  return messages ? static_cast<int>(messages->lanes[Lane::activation_out].size()) / chunks : 0;
}

// Whether the calls of all ranks with traces are in the order of a schedule then.
bool Pipelines::try_order(std::size_t number, const std::vector<Node>& order) {
  Pipeline& pipeline = all_[number];
  pipeline.ranks = order;
  pipeline.unknown.clear();
  pipeline.is_whole =
      main_shape_of(pipeline, order.front()) != nullptr && main_shape_of(pipeline, order.back()) != nullptr;
  if (!has_evidence(pipeline)) {
    pipeline.unknown = lacks_ranks;
    return false;
  }
  if (labels_of_all(number).empty()) return false;
  Agreement agreement;
  bool agrees = true;
  for (const bool received : {false, true})
    for (const Node node : order) {
      const IterationShape* const shape = main_shape_of(pipeline, node);
      if (shape == nullptr) continue;
      const std::map<Way, First> first = first_messages(ranks_[node], node, peers_, *shape, received);
      if (received)
        agrees = agrees && agreement.has(first);
      else
        agreement.add_sent(first);
    }
  if (!agrees) pipeline.unknown = no_agreement;
  return agrees;
}

// The calls of the first rank alone, or of the last one, may be those of several schedules. A rank between them sees
// the messages of both neighbours.
bool Pipelines::has_evidence(const Pipeline& pipeline) const {
  const auto is_known = [&](Node node) { return main_shape_of(pipeline, node) != nullptr; };
  return std::ranges::all_of(pipeline.ranks, is_known) ||
         std::any_of(pipeline.ranks.begin() + 1, pipeline.ranks.end() - 1, is_known);
}

// nullptr: it has no trace, or none of its iterations is known.
const IterationShape* Pipelines::main_shape_of(const Pipeline& pipeline, Node node) const {
  return peers_.has_trace(node) ? main_shape(ranks_[node], node, pipeline.domain) : nullptr;
}

// Of the main iterations of all ranks that have some. Empty: one of them is of no schedule, or they disagree.
std::vector<Labels> Pipelines::labels_of_all(std::size_t number) const {
  std::vector<Labels> all;
  for (const Node node : all_[number].ranks) {
    const IterationShape* const shape = main_shape_of(all_[number], node);
    if (shape == nullptr) continue;
    const std::optional<SortedMessages> messages = sort(number, node, *shape);
    std::optional<Labels> own = messages ? labels(number, node, *messages) : std::nullopt;
    if (!own || (!all.empty() && own->microbatches != all.front().microbatches)) return {};
    all.push_back(std::move(*own));
  }
  return all;
}

std::vector<std::size_t> Pipelines::of_trace(std::size_t trace) const {
  std::vector<std::size_t> own;
  for (std::size_t number = 0; number < all_.size(); ++number)
    if (std::ranges::binary_search(all_[number].members, trace)) own.push_back(number);
  return own;
}

std::optional<Position> Pipelines::position(std::size_t number, Node node) const {
  const std::vector<Node>& ranks = all_[number].ranks;
  const auto found = std::ranges::find(ranks, node);
  if (found == ranks.end()) return std::nullopt;
  return Position{static_cast<int>(found - ranks.begin()), static_cast<int>(ranks.size())};
}

std::optional<SortedMessages> Pipelines::sort(std::size_t number, std::size_t trace,
                                              const IterationShape& shape) const {
  const Pipeline& pipeline = all_[number];
  const std::optional<Position> at = position(number, trace);
  if (!at) return std::nullopt;
  const std::size_t place = static_cast<std::size_t>(at->rank), ranks = pipeline.ranks.size();
  const auto lane_of = [&](Node peer, bool received) -> std::optional<Lane> {
    if ((pipeline.is_ring || !at->is_first()) && peer == pipeline.ranks[(place + ranks - 1) % ranks])
      return received ? Lane::activation_in : Lane::gradient_out;
    if ((pipeline.is_ring || !at->is_last()) && peer == pipeline.ranks[(place + 1) % ranks])
      return received ? Lane::gradient_in : Lane::activation_out;
    return std::nullopt;
  };
  SortedMessages sorted;
  for (std::uint32_t index = 0; index < shape.groups.size(); ++index) {
    const IssuedGroup& group = shape.groups[index];
    std::vector<std::optional<LaneOfOperation>>& own = sorted.of_group.emplace_back(group.operations.size());
    if (domain_of(ranks_[trace], trace, group.communicator) != pipeline.domain) continue;
    for (std::size_t i = 0; i < group.operations.size(); ++i) {
      const OperationRecord& operation = group.operations[i];
      if (!is_message(operation.kind)) continue;
      const std::optional<Node> peer = peers_.node(trace, group.communicator, operation.peer);
      const std::optional<Lane> lane = lane_of(*peer, operation.kind == Operation::receive);
      if (!lane) return std::nullopt;
      std::vector<std::uint32_t>& groups = sorted.lanes[*lane];
      if (groups.empty() || groups.back() != index) groups.push_back(index);
      own[i] = {*lane, static_cast<std::uint32_t>(groups.size() - 1)};
    }
  }
  return sorted;
}

// In a ring also iterations with another number of microbatches could be known, but not how long their rounds are.
std::optional<Labels> Pipelines::labels(std::size_t number, std::size_t trace, const SortedMessages& messages) const {
  const Pipeline& pipeline = all_[number];
  const std::optional<Position> at = position(number, trace);
  if (!at) return std::nullopt;
  if (pipeline.is_ring) return label_ring(messages.lanes, *at, pipeline.looping);
  return label_chain(messages.lanes, *at, pipeline.is_whole);
}

}  // namespace weft::names
