// See roles.h. A role is said where everything fits; a communicator that may be used for two things is `other`.
#include "trace/names/roles.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

namespace weft::names {
namespace {

std::set<std::string> words_of(const std::string& name) {
  std::set<std::string> words;
  std::string word;
  for (const char letter : name + " ") {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) != 0) {
      word += static_cast<char>(std::tolower(byte));
    } else if (!word.empty()) {
      words.insert(word);
      word.clear();
    }
  }
  return words;
}

// As frameworks name their groups: PIPELINE_MODEL_PARALLEL_GROUP, mesh_dp. Nothing: the name does not tell.
std::optional<Role> role_by_name(const std::string& name) {
  const std::set<std::string> words = words_of(name);
  const auto has = [&](std::initializer_list<const char*> any) {
    return std::ranges::any_of(any, [&](const char* word) { return words.contains(word); });
  };
  const bool pipeline = has({"pipeline", "pp"}), data = has({"data", "dp", "ddp", "fsdp"}),
             tensor = has({"tensor", "tp"});
  if (has({"expert", "ep", "context", "cp", "embedding", "embd"}) || pipeline + data + tensor > 1) return Role::other;
  if (pipeline) return Role::pipeline;
  if (data) return Role::data;
  if (tensor) return Role::tensor;
  return std::nullopt;
}

// Of one communicator, in all shapes of iterations.
struct Traffic {
  bool scheduled = false, unscheduled = false;  // messages
  bool sums = false;                            // all_reduce, reduce, reduce_scatter, in any phase
  bool all_reduces_only = true;
  bool early = false;        // in the warm-up, so in forward passes
  bool unknown_use = false;  // in an iteration of which that is not known
};

std::map<CommunicatorId, Traffic> traffic_of(const RankIterations& iterations,
                                             const std::vector<std::vector<GroupName>>& names) {
  std::map<CommunicatorId, Traffic> all;
  for (std::size_t shape = 0; shape < names.size(); ++shape) {
    const bool has_phases =
        std::ranges::any_of(names[shape], [](const GroupName& name) { return name.phase != Phase::unknown; });
    for (std::size_t place = 0; place < names[shape].size(); ++place) {
      const IssuedGroup& group = iterations.shapes()[shape].groups[place];
      Traffic& traffic = all[group.communicator];
      for (std::size_t i = 0; i < group.operations.size(); ++i) {
        const Operation kind = group.operations[i].kind;
        if (is_message(kind))
          (names[shape][place].operations[i].message ? traffic.scheduled : traffic.unscheduled) = true;
        traffic.all_reduces_only = traffic.all_reduces_only && kind == Operation::all_reduce;
        traffic.sums = traffic.sums || kind == Operation::all_reduce || kind == Operation::reduce ||
                       kind == Operation::reduce_scatter;
        traffic.early = traffic.early || names[shape][place].phase == Phase::warm_up;
        traffic.unknown_use = traffic.unknown_use || !has_phases;
      }
    }
  }
  return all;
}

// Gradients of one stage are summed up over the pipelines: in the backward pass, or behind it. All-reduces in forward
// passes are of tensors that are split; other collectives there may be of parts of the sequence, of experts, or of
// parameters. The last stage has its first backward pass before its first gradient leaves, so early sums tell nothing
// there.
Role role_of_sums(const Traffic& traffic, const StageOfRank& stage) {
  if (!traffic.sums || traffic.unknown_use) return Role::other;
  if (!traffic.early) return Role::data;
  return traffic.all_reduces_only && stage.stage + 1 < stage.stages ? Role::tensor : Role::other;
}

}  // namespace

std::map<CommunicatorId, Role> roles_of(const std::vector<NamedRank>& ranks, const Peers& peers, std::size_t trace,
                                        const std::vector<std::optional<StageOfRank>>& stages,
                                        const std::vector<std::vector<GroupName>>& names) {
  const RankIterations& iterations = *ranks[trace].iterations;
  const std::map<CommunicatorId, Traffic> traffic = traffic_of(iterations, names);
  // Whether all its ranks have traces, and are the same stage of different pipelines.
  const auto is_of_one_stage = [&](const CommunicatorRecord& communicator) {
    if (communicator.id == 0 || !stages[trace] || communicator.ranks < 2) return false;
    const std::vector<Node>& members = peers.members(communicator.id);
    return members.size() == static_cast<std::size_t>(communicator.ranks) &&
           std::ranges::all_of(members, [&](Node node) {
             return stages[node] && stages[node]->stage == stages[trace]->stage &&
                    stages[node]->stages == stages[trace]->stages;
           });
  };
  std::map<CommunicatorId, Role> roles;
  for (const auto& [number, communicator] : iterations.communicators()) {
    Role& role = roles[number] = Role::other;
    if (const std::optional<Role> named = role_by_name(name_of_communicator(ranks[trace], number))) {
      role = *named;
      continue;
    }
    const auto found = traffic.find(number);
    if (found == traffic.end() || found->second.unscheduled) continue;
    if (found->second.scheduled)
      role = Role::pipeline;
    else if (is_of_one_stage(communicator))
      role = role_of_sums(found->second, *stages[trace]);
  }
  return roles;
}

}  // namespace weft::names
