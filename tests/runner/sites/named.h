// Frames with their names, for tests that have one stack.
#pragma once

#include <string_view>
#include <vector>

#include "runner/sites/code_names.h"
#include "runner/sites/frame_names.h"

namespace weft {

inline std::vector<CallFrameRecord> named(const CallStack& stack, std::string_view range) {
  std::vector<std::uintptr_t> calls;
  add_calls(stack, calls);
  return named_frames(stack, range, names_of_code(calls));
}

}  // namespace weft
