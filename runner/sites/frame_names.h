// Names for the frames of a stack: as they go into the trace.
//
// Used by a thread of Weft's own: dladdr() takes the loader's lock, which a thread of the main job may hold for long.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runner/sites/stack_reader.h"
#include "trace/record.h"

namespace weft {

constexpr std::size_t most_named_frames = 32;  // of each kind

// Slot and group are the caller's. Python's frames first; of either kind the innermost one first, without those of
// Weft.
std::vector<CallFrameRecord> named_frames(const CallStack& stack);

}  // namespace weft
