// The core behind the hooks: whether it runs, and its start.
//
// core(): hooks, any thread. start_core(): main_job/communicators.cpp, one thread at a time.
#pragma once

#include "shim/seam/core_interface.h"

namespace weft {

// nullptr while there is no core.
const CoreServices* core() noexcept;

// The libweft-core.so next to this library is started; false: it cannot be, which has been said.
bool start_core() noexcept;

}  // namespace weft
