// See names.h.
#include "trace/names/names.h"

#include <algorithm>
#include <utility>

#include "trace/formatted.h"
#include "trace/names/group_names.h"
#include "trace/names/peers.h"
#include "trace/names/pipelines.h"
#include "trace/names/roles.h"
#include "trace/read/summary.h"

namespace weft {

using names::NamedRank;
using names::Node;
using names::Pipeline;
using names::RankIterations;
using names::text_of_collective;
using names::text_of_message;

std::string GroupName::text() const {
  std::string text;
  for (const OperationName& operation : operations) text += (text.empty() ? "" : ", with ") + operation.text;
  return text;
}

const OperationName* GroupName::awaited(Cause cause) const {
  if (operations.empty()) return nullptr;
  const auto received = [](const OperationName& operation) {
    return operation.message ? operation.message->is_received : operation.text.starts_with("receive");
  };
  if (cause == Cause::send) {
    const auto sent = std::ranges::find_if_not(operations, received);
    return sent == operations.end() ? &operations.front() : &*sent;
  }
  const auto found = std::ranges::find_if(operations, received);
  return found == operations.end() ? &operations.front() : &*found;
}

RunNames::RunNames(std::vector<NamedRank> traces) : ranks_(std::move(traces)) {
  peers_ = std::make_unique<names::Peers>(ranks_);
  pipelines_ = std::make_unique<names::Pipelines>(ranks_, *peers_);
  stages_.resize(ranks_.size());
  for (std::size_t number = 0; number < pipelines_->all().size(); ++number) {
    const Pipeline& pipeline = pipelines_->all()[number];
    for (std::size_t stage = 0; stage < pipeline.ranks.size(); ++stage)
      if (peers_->has_trace(pipeline.ranks[stage]))
        stages_[pipeline.ranks[stage]] = {static_cast<std::int32_t>(stage),
                                          static_cast<std::int32_t>(pipeline.ranks.size()),
                                          pipeline.is_ring ? pipeline.looping.chunks : 1};
  }
  add_notes();
}

RunNames::~RunNames() = default;
RunNames::RunNames(RunNames&&) noexcept = default;
RunNames& RunNames::operator=(RunNames&&) noexcept = default;

std::optional<StageOfRank> RunNames::stage(std::size_t trace) const {
  return stages_[trace];
}

std::map<CommunicatorId, Role> RunNames::roles(std::size_t trace) const {
  std::vector<std::vector<GroupName>> names;
  for (std::uint32_t shape = 0; shape < ranks_[trace].iterations->shapes().size(); ++shape)
    names.push_back(groups(trace, shape));
  return names::roles_of(ranks_, *peers_, trace, stages_, names);
}

std::vector<GroupName> RunNames::groups(std::size_t trace, std::uint32_t shape) const {
  return names::name_groups(ranks_, *peers_, *pipelines_, trace, shape);
}

std::string RunNames::communicator(std::size_t trace, CommunicatorId communicator) const {
  return names::name_of_communicator(ranks_[trace], communicator);
}

GroupName RunNames::group(std::size_t trace, const GroupRecord& group) const {
  GroupName name;
  const NamedRank& rank = ranks_[trace];
  for (const OperationRecord& operation : group.operations) {
    OperationName& named = name.operations.emplace_back();
    const bool is_message = operation.kind == Operation::send || operation.kind == Operation::receive;
    named.text = is_message ? text_of_message(name_of_peer(*peers_, rank, trace, group.communicator, operation.peer),
                                              operation.kind)
                            : text_of_collective(rank, group.communicator, operation.kind, operation.bytes);
  }
  return name;
}

std::string RunNames::of_slot(std::size_t trace, const Slot& slot, Cause cause) const {
  const NamedRank& rank = ranks_[trace];
  const auto message = [&](std::int32_t peer, Operation kind) {
    return text_of_message(name_of_peer(*peers_, rank, trace, slot.communicator, peer), kind);
  };
  if (slot.receive_peer >= 0 && cause != Cause::send) return message(slot.receive_peer, Operation::receive);
  if (slot.send_peer >= 0) return message(slot.send_peer, Operation::send);
  if (slot.receive_peer >= 0) return message(slot.receive_peer, Operation::receive);
  std::string text = formatted("collective of %llu byte%s", number(slot.bytes), slot.bytes == 1 ? "" : "s");
  const std::string name = names::name_of_communicator(rank, slot.communicator);
  return name.empty() ? text : text + " in " + name;
}

// Iterations that other ones of a known pipeline do not prove.
bool RunNames::has_unmatched_shapes(std::size_t trace) const {
  const std::vector<names::IterationShape>& shapes = ranks_[trace].iterations->shapes();
  return std::ranges::any_of(pipelines_->of_trace(trace), [&](std::size_t number) {
    const auto known = pipelines_->all()[number].shapes.find(trace);
    if (known == pipelines_->all()[number].shapes.end()) return false;
    for (std::uint32_t shape = 0; shape < shapes.size(); ++shape)
      if (!known->second.contains(shape) && pipelines_->talks(number, trace, shapes[shape])) return true;
    return false;
  });
}

// One note for all pipelines with the same fault.
void RunNames::add_notes() {
  std::map<std::string, std::vector<std::string>> unknown;
  for (const Pipeline& pipeline : pipelines_->all()) {
    if (pipeline.unknown.empty()) continue;
    for (const Node node : pipeline.members)
      if (peers_->has_trace(node)) unknown[pipeline.unknown].push_back(std::to_string(ranks_[node].rank));
  }
  for (const auto& [why, ranks] : unknown)
    notes_.push_back("messages of " + listed_ranks(ranks) + " are named by peer and number: " + why);
  std::vector<std::string> odd;
  for (std::size_t trace = 0; trace < ranks_.size(); ++trace)
    if (has_unmatched_shapes(trace)) odd.push_back(std::to_string(ranks_[trace].rank));
  if (!odd.empty())
    notes_.push_back("some iterations of " + listed_ranks(odd) +
                     " do not match those of its neighbours: their messages are named by peer and number");
  std::vector<std::string> too_many;
  for (const NamedRank& rank : ranks_)
    if (rank.iterations->has_too_many_shapes()) too_many.push_back(std::to_string(rank.rank));
  if (!too_many.empty())
    notes_.push_back("iterations of " + listed_ranks(too_many) + " differ in more than " +
                     std::to_string(RankIterations::most_shapes) + " ways: further ones have no names");
}

}  // namespace weft
