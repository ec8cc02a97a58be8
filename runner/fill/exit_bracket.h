// Keeps what a fill job does while the process exits from holding the process up.
//
// A job's CUDA runtime unloads the job's kernels in an exit handler that was registered when the job was loaded, after
// the driver had registered its own; so it still reaches the driver, which waits for the device to be idle. Next to a
// receive whose peer has died that never ends, where the main job alone would have ended. So whatever is registered
// while a bracket is open runs, at exit, with unloading refused on its thread, as it is after the driver's end.
#pragma once

#include "shim/seam/core_interface.h"

namespace weft {

// On the thread that loads the job, around all that may load code for it.
class ExitBracket {
 public:
  explicit ExitBracket(const ShimServices& shim);
  ~ExitBracket();
  ExitBracket(const ExitBracket&) = delete;
  ExitBracket& operator=(const ExitBracket&) = delete;
};

}  // namespace weft
