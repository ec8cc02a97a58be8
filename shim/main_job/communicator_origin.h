// Where a communicator comes from: an id that all of its ranks find for themselves and alike, so that their traces can
// be joined, and the name that the program has given it.
//
// Hooks that make communicators only, on the main job's threads; no lock, no allocation. An id is a hash of what NCCL
// demands to be equal on all ranks. Where nothing is known to be so there is none: it is never made up.
#pragma once

#include <cstdint>

#include "shim/routing/vendor.h"
#include "shim/seam/core_interface.h"

namespace weft {

struct CommunicatorOrigin {
  std::uint64_t shared_id;  // 0: not known
  CommunicatorName name;
};

// Kept by a communicator for those that are made of it. Zeroed memory has made none.
struct Descent {
  std::uint32_t splits;
  std::uint32_t shrinks;
  std::uint64_t excluded;   // hash of the ranks that the shrinks left out
  bool splits_are_unsure;   // one has failed, perhaps on some ranks only
  bool shrinks_are_unsure;  // likewise, or they left out different ranks, so that not all ranks count alike
};

// From the unique ids that all ranks have been given in the same order.
CommunicatorOrigin origin_of_ids(const ncclUniqueId* ids, int count, const ncclConfig_t* config) noexcept;

// All communicators are in this process: whatever no other one has will do.
CommunicatorOrigin origin_in_process() noexcept;

// Every rank of the parent splits it, also one that gets no communicator (NCCL_SPLIT_NOCOLOR), so all count alike.
// `parent_id` and `descent` are the parent's; `made` is false when NCCL has refused the call.
CommunicatorOrigin origin_of_split(std::uint64_t parent_id, Descent& descent, int color, const ncclConfig_t* config,
                                   bool made) noexcept;

// The ranks that are left out do not take part.
CommunicatorOrigin origin_of_shrink(std::uint64_t parent_id, Descent& descent, const int* excluded, int count,
                                    const ncclConfig_t* config, bool made) noexcept;

// Ranks of the parent and ranks that join have nothing in common that a hook sees: only the name.
CommunicatorOrigin origin_unknown(const ncclConfig_t* config) noexcept;

}  // namespace weft
