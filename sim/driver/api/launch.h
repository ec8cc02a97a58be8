// Turns a launch as an application describes it into a command, with all the checks that hardware makes at the call.
// Used by the launch functions and by graph nodes. Any thread, without the engine's lock: the first launch of a kernel
// loads it, which may wait.
#pragma once

#include <cuda.h>

#include <memory>

#include "engine/command.h"
#include "engine/objects.h"

namespace simgpu {

struct LaunchRequest {
  CUfunction function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  const CUlaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
  bool cooperative = false;
};

CUresult build_launch(const LaunchRequest& request, Context& context, std::shared_ptr<const KernelLaunch>& launch);

}  // namespace simgpu
