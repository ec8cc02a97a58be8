// See group_names.h.
#include "trace/names/group_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "trace/formatted.h"

namespace weft::names {
namespace {

// An iteration whose messages have places in a schedule.
struct Scheduled {
  SortedMessages messages;
  Labels labels;
  const Pipeline* pipeline = nullptr;
  Position at;
};

std::optional<Scheduled> schedule_of(const Pipelines& pipelines, std::size_t trace, const IterationShape& shape,
                                     std::uint32_t number_of_shape) {
  for (const std::size_t number : pipelines.of_trace(trace)) {
    const Pipeline& pipeline = pipelines.all()[number];
    const auto known = pipeline.shapes.find(trace);
    if (known == pipeline.shapes.end() || !known->second.contains(number_of_shape)) continue;
    std::optional<SortedMessages> messages = pipelines.sort(number, trace, shape);
    if (!messages) continue;
    std::optional<Labels> labels = pipelines.labels(number, trace, *messages);
    if (labels)
      return Scheduled{std::move(*messages), std::move(*labels), &pipeline, *pipelines.position(number, trace)};
  }
  return std::nullopt;
}

MessageName message_of(const Scheduled& scheduled, const Peers& peers, const LaneOfOperation& where) {
  const Label label = scheduled.labels[where.lane][where.number];
  const int ranks = scheduled.at.ranks;
  const bool to_next = where.lane == Lane::activation_out || where.lane == Lane::gradient_in;
  const int neighbour = scheduled.at.rank + (to_next ? 1 : -1);
  MessageName name;
  name.is_gradient = !is_forward(where.lane);
  name.is_received = is_received(where.lane);
  name.microbatch = label.microbatch;
  name.microbatches = scheduled.labels.microbatches;
  name.stage = scheduled.at.rank;
  name.chunk = label.chunk;
  name.peer_stage = (neighbour + ranks) % ranks;
  name.peer_chunk = neighbour < 0 ? label.chunk - 1 : neighbour == ranks ? label.chunk + 1 : label.chunk;
  name.peer_rank = peers.rank_of(scheduled.pipeline->ranks[static_cast<std::size_t>(name.peer_stage)]);
  return name;
}

std::string text_of(const MessageName& message, bool has_chunks) {
  std::string text =
      formatted("%s %d of %d %s stage %d", message.is_gradient ? "gradient" : "activation", message.microbatch + 1,
                message.microbatches, message.is_received ? "from" : "to", message.peer_stage);
  if (has_chunks) text += formatted(", chunk %d", message.peer_chunk);
  if (message.peer_rank) text += " (rank " + std::to_string(*message.peer_rank) + ")";
  return text;
}

// By the order of the calls: which group has the first gradient, the last activation, the last message.
class Phases {
 public:
  Phases(const Lanes& lanes, const IterationShape& shape, bool is_first_stage)
      : is_first_stage_(is_first_stage), turns_(turns_of(lanes)) {
    for (std::uint32_t group = 0; group < turns_.last_message; ++group) used_.insert(shape.groups[group].communicator);
  }

  Phase of(std::uint32_t group, CommunicatorId communicator) const {
    if (turns_.first_gradient == Turns::none) return Phase::unknown;  // forward passes alone
    // The first stage has a backward pass behind its last message, which may use what other passes use.
    if (group > turns_.last_message && is_first_stage_ && used_.contains(communicator)) return Phase::unknown;
    if (group > turns_.last_message) return Phase::optimizer;
    if (group < turns_.first_gradient) return Phase::warm_up;
    return group > turns_.last_activation ? Phase::cool_down : Phase::steady;
  }

 private:
  bool is_first_stage_;
  Turns turns_;
  std::set<CommunicatorId> used_;  // before the last message
};

constexpr std::array operation_texts{"send",      "receive",        "all-reduce", "reduce",
                                     "broadcast", "reduce-scatter", "all-gather", "all-to-all",
                                     "gather",    "scatter",        "put",        "wait for signals"};
static_assert(operation_texts.size() == operation_names.size());

}  // namespace

const char* text_of(Operation kind) {
  return operation_texts[static_cast<std::size_t>(kind)];
}

std::string ordinal_number(std::uint64_t number) {
  const std::uint64_t tens = number / 10 % 10, ones = tens == 1 ? 0 : number % 10;
  return std::to_string(number) + (ones == 1 ? "st" : ones == 2 ? "nd" : ones == 3 ? "rd" : "th");
}

std::string text_of_message(const std::string& peer, Operation kind) {
  return text_of(kind) + std::string(kind == Operation::receive ? " from " : " to ") + peer;
}

std::string text_of_collective(const NamedRank& rank, CommunicatorId communicator, Operation kind,
                               std::uint64_t bytes) {
  std::string text = text_of(kind);
  if (kind != Operation::wait_signals) text += formatted(" of %llu byte%s", number(bytes), bytes == 1 ? "" : "s");
  if (const std::string name = name_of_communicator(rank, communicator); !name.empty()) return text + " in " + name;
  const CommunicatorRecord* const record = rank.iterations->communicator(communicator);
  return record == nullptr ? text : text + formatted(" among %d ranks", record->ranks);
}

std::vector<GroupName> name_groups(const std::vector<NamedRank>& ranks, const Peers& peers, const Pipelines& pipelines,
                                   std::size_t trace, std::uint32_t number_of_shape) {
  const IterationShape& shape = ranks[trace].iterations->shapes()[number_of_shape];
  const std::optional<Scheduled> scheduled = schedule_of(pipelines, trace, shape, number_of_shape);
  const Phases phases(scheduled ? scheduled->messages.lanes : Lanes{}, shape, scheduled && scheduled->at.is_first());
  std::map<std::pair<std::string, Operation>, std::uint64_t> seen;  // messages of each peer
  std::vector<GroupName> names(shape.groups.size());
  for (std::uint32_t index = 0; index < shape.groups.size(); ++index) {
    const IssuedGroup& group = shape.groups[index];
    names[index].phase = phases.of(index, group.communicator);
    for (std::size_t i = 0; i < group.operations.size(); ++i) {
      const OperationRecord& operation = group.operations[i];
      OperationName& name = names[index].operations.emplace_back();
      if (!is_message(operation.kind)) {
        name.text = text_of_collective(ranks[trace], group.communicator, operation.kind, operation.bytes);
        continue;
      }
      if (scheduled && scheduled->messages.of_group[index][i]) {
        name.message = message_of(*scheduled, peers, *scheduled->messages.of_group[index][i]);
        name.text = text_of(*name.message, scheduled->pipeline->is_ring);
        continue;
      }
      const std::string peer = name_of_peer(peers, ranks[trace], trace, group.communicator, operation.peer);
      name.text = text_of_message(peer, operation.kind) + ", " + ordinal_number(++seen[{peer, operation.kind}]) +
                  " of the iteration";
    }
  }
  return names;
}

}  // namespace weft::names
