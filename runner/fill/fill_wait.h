// The one way in which fill work is waited for: its stream is asked until it is dry, with a bound, asleep in between.
//
// On the thread that makes a fill job ready or takes it down, and in the fill probe. Never a synchronisation: that has
// no bound, and one of a whole context would wait for the training's work and end its captures.
#pragma once

#include <cuda.h>

#include "detector/time.h"
#include "runner/core/driver.h"

namespace weft {

// Of work that has the GPU to itself; what takes longer hangs.
inline constexpr Duration longest_fill_work = std::chrono::seconds(20);

// `stream`: of the fill work, so nothing of the training is in it. CUDA_ERROR_NOT_READY: `limit` is over.
CUresult dry_within(const Driver& driver, CUstream stream, Duration limit) noexcept;

// Likewise; an error of the stream, and `limit` being over, are a SetUpError.
void wait_for(const Driver& driver, CUstream stream, Duration limit);

// As long as it takes: for a thread that has nothing else to do, before it frees what the work uses.
void outlast(const Driver& driver, CUstream stream) noexcept;

}  // namespace weft
