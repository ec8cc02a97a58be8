// Memory of the GPUs of a pipeline: what the training needs at most, and what is left for fill jobs.
//
// Used by the model of a simulation. Pure. By place in the pipeline, as all pipelines are alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runner/model/run.h"

namespace weft::model {

struct MemoryOptions {
  std::uint64_t gpu = 0;  // bytes; 0: as much as anyone wants
  // Parameters, gradients and optimizer states of a place: one for all, or one for each. Mixed precision with Adam has
  // 16 to 18 bytes for each parameter.
  std::vector<std::uint64_t> parameters{8ULL << 30};
  std::uint64_t reserve = 2ULL << 30;  // contexts, NCCL's buffers, gaps of the allocator
};

struct StageMemory {
  std::uint64_t parameters = 0, activations = 0;  // the latter at most, at any time of the run without fill
  std::uint64_t free = 0;                         // of the GPU, behind the reserve; 0 also where there is no limit
  std::vector<std::size_t> jobs;                  // that fit there, by their numbers in the list
  std::vector<std::string> variants;              // of each of these: the best that fits there; "": it has none
};

// Throws std::invalid_argument where the training itself does not fit.
std::vector<StageMemory> memory_of(const MemoryOptions& options, const RunResult& without,
                                   const std::vector<JobOptions>& jobs);

}  // namespace weft::model
