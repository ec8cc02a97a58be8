// Open stream captures: while there is one, a marker goes only onto streams that say they are not capturing.
//
// Hooks on the main job's threads. A marker on a capturing stream would become a part of the main job's graph.
#pragma once

#include "shim/main_job/streams.h"

namespace weft {

void capture_begins(CUstream stream, bool per_thread) noexcept;  // before the real call
void capture_ended(CUstream stream, bool per_thread) noexcept;   // also when the real call did not begin it

bool any_capture() noexcept;
bool is_capturing(const Stream& stream) noexcept;

}  // namespace weft
