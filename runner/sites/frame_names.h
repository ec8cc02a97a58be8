// Names for the frames of a stack: as they go into the trace.
//
// Used by a thread of Weft's own: it takes the loader's lock, which a thread of the main job may hold for long.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "runner/sites/stack_reader.h"
#include "trace/record.h"

namespace weft {

constexpr std::size_t most_named_frames = 32;  // of each kind

// Slot and group are the caller's. The NVTX range first, unless it is "", then Python's frames; of each kind the
// innermost one first, without those of Weft.
std::vector<CallFrameRecord> named_frames(const CallStack& stack, std::string_view range);

}  // namespace weft
