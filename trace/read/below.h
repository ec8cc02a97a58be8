// Where the traces may be when a directory has none: in folders below it.
//
// Used by `weft summary` and `weft validate` for their message, never inside the training process. Reads names only.
#pragma once

#include <string>
#include <vector>

namespace weft {

// Whether a file of that name is a trace.
bool is_trace_name(const std::string& name);

// The folders below that hold traces, sorted, links not followed: down to three levels, among the first 20,000 entries,
// so that a mistyped "/" is answered at once.
std::vector<std::string> folders_with_traces_below(const std::string& directory);

}  // namespace weft
