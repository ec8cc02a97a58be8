// NCCL groups: calls between ncclGroupStart and the outermost ncclGroupEnd are collected per thread and run together.
// A call outside any group is a group of one. The group of a non-blocking communicator runs on a worker thread.
#ifndef SIMGPU_NCCL_GROUP_H
#define SIMGPU_NCCL_GROUP_H

#include <functional>
#include <vector>

#include "communicator.h"

namespace simgpu::nccl {

// One operation on one stream. Exactly one of the three is meant.
struct Call {
  enum class Kind { collective, send, receive };
  ncclComm* communicator = nullptr;
  CUstream stream = nullptr;
  Kind kind = Kind::collective;
  Collective collective;
  Transfer transfer;
};

// Making, splitting or finalizing a communicator: may have to wait for other ranks. Runs before the operations.
struct Job {
  ncclComm* communicator = nullptr;  // whose settings and state count
  std::function<ncclResult_t()> run;
};

ncclResult_t group_start();
ncclResult_t group_end();
// Drops what has been collected; the depth goes down by one, as with group_end().
ncclResult_t group_drop();

// Both run at once outside a group.
ncclResult_t submit(Call call);
ncclResult_t submit(Job job);
// Makes the group fail as a whole when the thread is inside one.
ncclResult_t group_failed(ncclResult_t error);

// All operations of one communicator in one group: one kernel (launch.cpp).
struct CommunicatorWork {
  ncclComm* communicator = nullptr;
  std::vector<CUstream> streams;  // distinct, in the order of their first use
  std::shared_ptr<LaunchedPlan> launched;
};
ncclResult_t launch(CommunicatorWork& work);

}  // namespace simgpu::nccl

#endif
