// Names for the frames of a stack: as they go into the trace.
//
// Used by a thread of Weft's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runner/sites/code_names.h"
#include "runner/sites/stack_reader.h"
#include "trace/record.h"

namespace weft {

constexpr std::size_t most_named_frames = 32;  // of each kind

// The addresses whose names named_frames() wants; to those that are there.
void add_calls(const CallStack& stack, std::vector<std::uintptr_t>& calls);

// Slot and group are the caller's. The NVTX range first, unless it is "", then Python's frames; of each kind the
// innermost one first, without those of Weft.
std::vector<CallFrameRecord> named_frames(const CallStack& stack, std::string_view range, const CodeNames& names);

}  // namespace weft
