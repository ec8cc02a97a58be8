// The names of the groups of one iteration of a rank.
//
// Used by names.cpp, and the texts of operations by whoever shows them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/names/names.h"
#include "trace/names/peers.h"
#include "trace/names/pipelines.h"

namespace weft::names {

// In a known iteration: by the schedule of the rank's pipeline where it has one, else by peer and number.
std::vector<GroupName> name_groups(const std::vector<NamedRank>& ranks, const Peers& peers, const Pipelines& pipelines,
                                   std::size_t trace, std::uint32_t number_of_shape);

// "all-reduce": the keys of the trace have no hyphens.
const char* text_of(Operation kind);

// "all-reduce of 8 bytes in MODEL_PARALLEL_GROUP"
std::string text_of_collective(const NamedRank& rank, CommunicatorId communicator, Operation kind, std::uint64_t bytes);

// "receive from rank 3"
std::string text_of_message(const std::string& peer, Operation kind);

// "5th"
std::string ordinal_number(std::uint64_t number);

}  // namespace weft::names
