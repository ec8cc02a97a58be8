// The other rank of communicators, in a process of its own that no hook sees: it does its half of a group when it is
// told to, so that groups of the test end when the test wants it. For simulated_programs_test.cpp, on its thread; the
// process is made before anything of CUDA or NCCL is used, and ends with the test's.
#pragma once

#include <cstddef>
#include <vector>

#include "shim/routing/vendor.h"

class NcclPeer {
 public:
  static constexpr std::size_t bytes = 8192;  // of each message

  void start();
  ~NcclPeer();

  // With communicators whose connections exist in both directions. This process is the rank 0.
  std::vector<ncclComm_t> open(int count, void* memory, CUstream stream);
  void take_part(std::size_t communicator, bool sends);

 private:
  int to_peer_ = -1;
};
