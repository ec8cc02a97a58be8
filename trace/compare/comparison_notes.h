// The notes of a comparison: how two runs are not of the same thing, and what makes their numbers doubtful.
//
// Used by comparison.cpp. Pure. Notes are printable, and stand behind those that are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/compare/compared_run.h"

namespace weft {

// By the number of the rank; nothing where processes share one.
std::optional<std::map<std::int64_t, std::size_t>> rank_numbers(const RunSummary& run);

// Stages and chunks of each, as ranks have them; as a rule one.
using PipelineShape = std::set<std::pair<std::int32_t, std::int32_t>>;
PipelineShape shape_of(const RunSummary& run);
std::string text_of(const PipelineShape& shape);

void note_headers(std::vector<std::string>& notes, const ComparedRun& first, const ComparedRun& second);
// False: there is nothing to say. Iterations with other groups are other work.
bool note_other_groups(std::vector<std::string>& notes, const ComparedRun& first, const ComparedRun& second);
// Of one run, "A" or "B": which iterations the numbers are of, and whether few of them hold much of the time.
void note_sample(std::vector<std::string>& notes, const char* name, const ComparedRun& run);
void note_iterations(std::vector<std::string>& notes, const char* name, const ComparedRun& run);

}  // namespace weft
