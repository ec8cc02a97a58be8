// The end of streams: their handles are about to become invalid.
//
// Hooks of destruction and of a context's end, any thread. When these return, nobody uses the handles any more.
#pragma once

#include "shim/routing/vendor.h"

namespace weft {

void forget_stream(CUstream stream) noexcept;
void forget_streams_of(CUcontext context) noexcept;
void forget_streams_of(int device) noexcept;  // with its default streams

}  // namespace weft
