// `weft top --json`: the run as one object. Its keys are those of `weft summary --json` where they mean the same
// (docs/top.md).
//
// Used by the verb and by tests. Pure.
#pragma once

#include <string>

#include "cli/top/view.h"
#include "trace/live/live_run.h"

namespace weft::cli {

// The ranks that the view lets through, in its order.
std::string top_json(const LiveRun& run, const TopView& view);

}  // namespace weft::cli
