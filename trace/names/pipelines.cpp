// See pipelines.h.
#include "trace/names/pipelines.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace weft::names {
namespace {

constexpr const char* other_order = "the order of their messages is of no schedule that Weft knows";
constexpr const char* one_way = "they go one way only, so nothing tells for which passes they are";
constexpr const char* of_two_ranks = "between two ranks the order of their messages may be that of several schedules";
constexpr const char* no_start =
    "nothing tells whether their iterations begin with the forward or with the backward passes";
constexpr const char* no_turns =
    "all forward passes come before all backward passes, and nothing tells whether these take the microbatches in "
    "reverse";
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

// All that a ring may be.
std::vector<Looping> loopings(int microbatches, int chunks) {
  std::vector<Looping> all;
  for (int round = 1; round <= microbatches; ++round) {
    all.push_back({microbatches, chunks, round});
    for (const int ahead_per_rank : {2, 1}) all.push_back({microbatches, chunks, round, ahead_per_rank, true});
  }
  return all;
}

bool has_sum(const IssuedGroup& group) {
  return std::ranges::any_of(group.operations, [](const OperationRecord& each) {
    return each.kind == Operation::all_reduce || each.kind == Operation::reduce ||
           each.kind == Operation::reduce_scatter;
  });
}

// Where all activations come before all gradients it could also be the other way round, in iterations that are cut
// between the two. Sums behind the last message, as of an optimizer, tell that it is not, if there are none between the
// two but those of each pass.
bool has_known_start(const IterationShape& shape, const Lanes& lanes) {
  const Turns turns = turns_of(lanes);
  std::set<CommunicatorId> forward, backward, between_these;
  bool closes = false;
  for (std::uint32_t index = 0; index < shape.groups.size(); ++index) {
    const IssuedGroup& group = shape.groups[index];
    if (!has_sum(group)) continue;
    closes = closes || index > turns.last_message;
    std::set<CommunicatorId>& passes = index < turns.last_activation  ? forward
                                       : index < turns.first_gradient ? between_these
                                                                      : backward;
    passes.insert(group.communicator);
  }
  if (turns.last_message < turns.first_gradient) return closes;  // forward passes alone
  return closes && std::ranges::all_of(between_these, [&](CommunicatorId communicator) {
           return forward.contains(communicator) && backward.contains(communicator);
         });
}

// Of each microbatch the gradient has the bytes of its activation. Between two ranks, which have one way for each.
bool has_equal_bytes(const IterationShape& shape, const SortedMessages& messages) {
  std::map<std::uint32_t, std::array<std::uint64_t, 2>> bytes;  // by microbatch
  for (std::size_t group = 0; group < shape.groups.size(); ++group)
    for (std::size_t i = 0; i < shape.groups[group].operations.size(); ++i)
      if (const auto& where = messages.of_group[group][i])
        bytes[where->number][is_forward(where->lane)] += shape.groups[group].operations[i].bytes;
  return std::ranges::all_of(bytes, [](const auto& entry) { return entry.second[0] == entry.second[1]; });
}

using ShapePair = std::pair<std::uint32_t, std::uint32_t>;

// The shapes that two ranks had in the same iterations.
std::set<ShapePair> shapes_at_once(const RankIterations& one, const RankIterations& other) {
  std::set<ShapePair> pairs_at_once;
  if (one.runs() == nullptr || other.runs() == nullptr) return pairs_at_once;
  auto left = one.runs()->begin(), right = other.runs()->begin();
  while (left != one.runs()->end() && right != other.runs()->end()) {
    const IterationNumber left_end{left->first.count, left->last}, right_end{right->first.count, right->last};
    if (std::max(left->first, right->first) <= std::min(left_end, right_end))
      pairs_at_once.insert({left->shape, right->shape});
    ++(left_end < right_end ? left : right);
  }
  return pairs_at_once;
}

// How many microbatches an iteration has, and whether it trains.
struct Contents {
  int microbatches = 0;  // 0: its order is not known
  bool trains = false;
  friend bool operator==(const Contents&, const Contents&) = default;
};

// Which iterations of the ranks of a pipeline match those of their neighbours at the same time.
class Matching {
 public:
  void add(Node node, std::uint32_t main, std::vector<Contents> contents) {
    ranks_[node] = {main, std::move(contents)};
  }
  // `disagree`: pairs of shapes whose first messages are not the same ones.
  void add_neighbours(Node one, Node other, const std::set<ShapePair>& at_once, const std::set<ShapePair>& disagree) {
    for (const ShapePair& pair : at_once) {
      links_[{one, other}][pair.first].insert(pair.second);
      links_[{other, one}][pair.second].insert(pair.first);
      if (!disagree.contains(pair)) continue;
      unmatched_.insert({one, pair.first});
      unmatched_.insert({other, pair.second});
    }
    neighbours_[one].insert(other);
    neighbours_[other].insert(one);
  }

  // Those of most iterations are known to match.
  std::map<Node, std::set<std::uint32_t>> matched() {
    std::map<Node, std::set<std::uint32_t>> shapes;
    for (const auto& [node, rank] : ranks_)
      for (std::uint32_t shape = 0; shape < rank.contents.size(); ++shape)
        if (shape == rank.main || (rank.contents[shape].microbatches > 0 && !unmatched_.contains({node, shape})))
          shapes[node].insert(shape);
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& [node, own] : shapes)
        changed = std::erase_if(own,
                                [&, node = node](std::uint32_t shape) {
                                  return shape != ranks_.at(node).main && !matches(node, shape, shapes);
                                }) > 0 ||
                  changed;
    }
    return shapes;
  }

 private:
  struct Rank {
    std::uint32_t main = 0;
    std::vector<Contents> contents;  // of each shape
  };

  bool matches(Node node, std::uint32_t shape, const std::map<Node, std::set<std::uint32_t>>& shapes) const {
    const auto found = neighbours_.find(node);
    if (found == neighbours_.end()) return false;
    return std::ranges::all_of(found->second, [&](Node neighbour) {
      const auto links = links_.find({node, neighbour});
      if (links == links_.end() || !links->second.contains(shape)) return false;
      return std::ranges::all_of(links->second.at(shape), [&](std::uint32_t other) {
        return shapes.at(neighbour).contains(other) &&
               ranks_.at(neighbour).contents[other] == ranks_.at(node).contents[shape];
      });
    });
  }

  std::map<Node, Rank> ranks_;
  std::map<Node, std::set<Node>> neighbours_;
  std::map<std::pair<Node, Node>, std::map<std::uint32_t, std::set<std::uint32_t>>> links_;
  std::set<std::pair<Node, std::uint32_t>> unmatched_;
};

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
  pipeline.is_ring = line.is_ring;
  pipeline.unknown = line.why;
  if (line.order.empty()) return;
  pipeline.unknown = line.is_ring ? learn_ring(number, talk, line.order) : learn_chain(number, line.order);
  if (pipeline.unknown.empty()) pipeline.unknown = doubt(number);
  if (pipeline.unknown.empty())
    find_shapes(number);
  else
    pipeline.ranks.clear();
}

// One of the two ways along it has to fit, and the other one not.
std::string Pipelines::learn_chain(std::size_t number, const std::vector<Node>& order) {
  Pipeline& pipeline = all_[number];
  std::optional<std::pair<std::vector<Node>, ChainOrder>> found;
  std::string why = other_order;
  for (const ChainOrder schedule : {ChainOrder::one_f_one_b, ChainOrder::gpipe, ChainOrder::forward})
    for (const bool turned : {false, true}) {
      pipeline.order = schedule;
      const std::string misfit = try_order(number, turned ? std::vector<Node>(order.rbegin(), order.rend()) : order);
      if (!misfit.empty()) {
        if (misfit != other_order) why = misfit;
      } else if (!found) {
        found = {pipeline.ranks, schedule};
      } else if (found->first != pipeline.ranks) {
        return other_order;
      }
    }
  if (!found) return why;
  std::tie(pipeline.ranks, pipeline.order) = *found;
  return try_order(number, found->first);
}

// Of the lengths that a round may have one has to fit, or all that fit have to mean the same.
std::string Pipelines::learn_ring(std::size_t number, const Talk& talk, std::vector<Node> order) {
  constexpr int most_microbatches = 512;  // each may be the length of a round
  const auto end = end_of_ring(talk, order);
  if (!end) return other_order;
  std::ranges::rotate(order, order.begin() + static_cast<std::ptrdiff_t>((end->first + 1) % order.size()));
  Pipeline& pipeline = all_[number];
  std::optional<std::pair<std::vector<Node>, Looping>> found;
  std::vector<Labels> meaning;
  std::string why = other_order;
  for (int way = 0; way < 2; ++way, std::ranges::reverse(order)) {
    pipeline.ranks = order;
    const int microbatches = microbatches_of_ring(number, end->second);
    if (microbatches > most_microbatches)
      return "more than " + std::to_string(most_microbatches) + " microbatches of several chunks are not looked at";
    for (const Looping& looping : loopings(microbatches, end->second)) {
      pipeline.looping = looping;
      if (const std::string misfit = try_order(number, order); !misfit.empty() || !pipeline.is_whole) {
        if (!misfit.empty() && misfit != other_order) why = misfit;
        continue;
      }
      std::vector<Labels> labels = labels_of_all(number);
      if (found && (found->first != order || meaning != labels)) return other_order;
      if (found) continue;
      found = {order, looping};
      meaning = std::move(labels);
    }
  }
  if (!found) return why;
  pipeline.looping = found->second;
  return try_order(number, found->first);
}

// Whether iterations that are no such schedule, or one that is cut elsewhere, may make the same calls.
std::string Pipelines::doubt(std::size_t number) const {
  const Pipeline& pipeline = all_[number];
  if (!pipeline.is_ring && pipeline.order == ChainOrder::forward) return one_way;
  bool forward_first = true, known_start = true, equal_bytes = true, sees_end = true, has_gradients = false;
  int microbatches = 0;
  for (const Node node : pipeline.ranks) {
    const IterationShape* const shape = main_shape_of(pipeline, node);
    if (shape == nullptr) continue;
    const SortedMessages messages = *sort(number, node, *shape);
    const Position at = *position(number, node);
    microbatches = labels(number, node, messages)->microbatches;
    has_gradients = has_gradients || trains(messages.lanes);
    forward_first = forward_first && is_forward_first(messages.lanes);
    known_start = known_start && has_known_start(*shape, messages.lanes);
    equal_bytes = equal_bytes && (at.ranks > 2 || has_equal_bytes(*shape, messages));
    sees_end = sees_end && microbatches > at.ranks - 1 - at.rank;
  }
  if (!pipeline.is_ring && pipeline.ranks.size() == 2 && (forward_first || microbatches < 3 || !equal_bytes))
    return of_two_ranks;
  if (!pipeline.is_ring && !pipeline.is_whole && (pipeline.order != ChainOrder::one_f_one_b || !sees_end))
    return lacks_ranks;
  if (forward_first && !known_start) return no_start;
  if (pipeline.is_ring && forward_first && has_gradients) return no_turns;
  return "";
}

// Iterations that differ from most have to match those of the neighbours.
void Pipelines::find_shapes(std::size_t number) {
  Pipeline& pipeline = all_[number];
  Matching matching;
  for (const Node node : pipeline.ranks) {
    const IterationShape* const main = main_shape_of(pipeline, node);
    if (main == nullptr) continue;
    const std::vector<IterationShape>& shapes = ranks_[node].iterations->shapes();
    std::vector<Contents> contents;
    for (const IterationShape& shape : shapes) {
      Contents& own = contents.emplace_back();
      const std::optional<SortedMessages> messages = sort(number, node, shape);
      const std::optional<Labels> known = messages ? labels(number, node, *messages) : std::nullopt;
      if (!known) continue;
      own.trains = trains(messages->lanes);
      if (own.trains || has_known_start(shape, messages->lanes)) own.microbatches = known->microbatches;
    }
    matching.add(node, static_cast<std::uint32_t>(main - shapes.data()), std::move(contents));
  }
  for (std::size_t place = 0; place < pipeline.ranks.size(); ++place) {
    const Node one = pipeline.ranks[place], other = pipeline.ranks[(place + 1) % pipeline.ranks.size()];
    if ((!pipeline.is_ring && place + 1 == pipeline.ranks.size()) || main_shape_of(pipeline, one) == nullptr ||
        main_shape_of(pipeline, other) == nullptr)
      continue;
    const RankIterations& left = *ranks_[one].iterations;
    const RankIterations& right = *ranks_[other].iterations;
    const std::set<ShapePair> at_once = shapes_at_once(left, right);
    std::set<ShapePair> disagree;
    for (const ShapePair& pair : at_once) {
      const IterationShape& here = left.shapes()[pair.first];
      const IterationShape& there = right.shapes()[pair.second];
      if (here.first != there.first) continue;
      Agreement forward, backward;
      forward.add_sent(first_messages(ranks_[one], one, peers_, here, false));
      backward.add_sent(first_messages(ranks_[other], other, peers_, there, false));
      if (!forward.has(first_messages(ranks_[other], other, peers_, there, true)) ||
          !backward.has(first_messages(ranks_[one], one, peers_, here, true)))
        disagree.insert(pair);
    }
    matching.add_neighbours(one, other, at_once, disagree);
  }
  pipeline.shapes = matching.matched();
}

// As its first rank sends each of them once for every chunk. 0: that is not known.
int Pipelines::microbatches_of_ring(std::size_t number, int chunks) const {
  const Node first = all_[number].ranks.front();
  const IterationShape* const shape = main_shape_of(all_[number], first);
  const std::optional<SortedMessages> messages = shape != nullptr ? sort(number, first, *shape) : std::nullopt;
  return messages ? static_cast<int>(messages->lanes[Lane::activation_out].size()) / chunks : 0;
}

// Whether the calls of all ranks with traces are in the order of a schedule then. Says why not; "": they are.
std::string Pipelines::try_order(std::size_t number, const std::vector<Node>& order) {
  Pipeline& pipeline = all_[number];
  pipeline.ranks = order;
  pipeline.is_whole =
      main_shape_of(pipeline, order.front()) != nullptr && main_shape_of(pipeline, order.back()) != nullptr;
  if (!has_evidence(pipeline)) return lacks_ranks;
  if (labels_of_all(number).empty()) return other_order;
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
  return agrees ? "" : no_agreement;
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
    const bool is_forward_alone = !all_[number].is_ring && all_[number].order == ChainOrder::forward;
    std::optional<Labels> own =
        messages && trains(messages->lanes) != is_forward_alone ? labels(number, node, *messages) : std::nullopt;
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
  return label_chain(messages.lanes, *at, trains(messages.lanes) ? pipeline.order : ChainOrder::forward);
}

bool Pipelines::talks(std::size_t number, std::size_t trace, const IterationShape& shape) const {
  return std::ranges::any_of(shape.groups, [&](const IssuedGroup& group) {
    return is_message(group.operations.front().kind) &&
           domain_of(ranks_[trace], trace, group.communicator) == all_[number].domain;
  });
}

}  // namespace weft::names
