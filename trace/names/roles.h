// For what the communicators of a rank are used, from what they carry, when, and among whom.
//
// Used by names.cpp only. Pure.
#pragma once

#include <map>
#include <vector>

#include "trace/names/names.h"
#include "trace/names/peers.h"
#include "trace/names/pipelines.h"

namespace weft::names {

// `stages`: of all traces. `names`: of the groups of each shape of this trace.
std::map<CommunicatorId, Role> roles_of(const std::vector<NamedRank>& ranks, const Peers& peers, std::size_t trace,
                                        const std::vector<std::optional<StageOfRank>>& stages,
                                        const std::vector<std::vector<GroupName>>& names);

}  // namespace weft::names
