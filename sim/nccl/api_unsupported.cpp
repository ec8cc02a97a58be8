// Entry points that are exported, as by the real library, and do nothing here. Host threads.
#include <nccl_device/core.h>
#include <nccl_device/gin_barrier.h>
#include <nccl_device/ll_a2a.h>
#include <nccl_device/lsa_barrier.h>

#include "api.h"

using namespace simgpu::nccl;

namespace {

ncclResult_t unsupported(const char* name) {
  return fail(ncclInvalidUsage, "%s is not supported by the simulated NCCL", name);
}

}  // namespace

SIMGPU_NCCL_API(ncclResult_t, ncclCommShrink, (ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int)) {
  return unsupported("ncclCommShrink");
}

SIMGPU_NCCL_API(ncclResult_t, ncclDevCommCreate, (ncclComm_t, ncclDevCommRequirements_t const*, ncclDevComm_t*)) {
  return unsupported("ncclDevCommCreate");
}

SIMGPU_NCCL_API(ncclResult_t, ncclDevCommDestroy, (ncclComm_t, ncclDevComm_t const*)) {
  return unsupported("ncclDevCommDestroy");
}

SIMGPU_NCCL_API(ncclResult_t, ncclGinBarrierCreateRequirement,
                (ncclComm_t, ncclTeam_t, int, ncclGinBarrierHandle_t*, ncclDevResourceRequirements_t*)) {
  return unsupported("ncclGinBarrierCreateRequirement");
}

SIMGPU_NCCL_API(ncclResult_t, ncclLsaBarrierCreateRequirement,
                (ncclTeam_t, int, ncclLsaBarrierHandle_t*, ncclDevResourceRequirements_t*)) {
  return unsupported("ncclLsaBarrierCreateRequirement");
}

SIMGPU_NCCL_API(ncclResult_t, ncclLLA2ACreateRequirement,
                (int, int, ncclLLA2AHandle_t*, ncclDevResourceRequirements_t*)) {
  return unsupported("ncclLLA2ACreateRequirement");
}

SIMGPU_NCCL_API(int, ncclLLA2ACalcSlots, (int, int)) {
  return 0;
}

// Teams need no device: all ranks can reach each other's memory, so the world is one team.
SIMGPU_NCCL_API(ncclTeam_t, ncclTeamWorld, (ncclComm_t comm)) {
  return {comm->ranks(), comm->rank(), 1};
}

SIMGPU_NCCL_API(ncclTeam_t, ncclTeamLsa, (ncclComm_t comm)) {
  return {comm->ranks(), comm->rank(), 1};
}

SIMGPU_NCCL_API(ncclTeam_t, ncclTeamRail, (ncclComm_t comm)) {
  return {1, 0, comm->ranks()};
}

SIMGPU_NCCL_API(int, ncclTeamRankToWorld, (ncclComm_t comm, ncclTeam_t team, int rank)) {
  return comm->rank() + (rank - team.rank) * team.stride;
}

SIMGPU_NCCL_API(int, ncclTeamRankToLsa, (ncclComm_t comm, ncclTeam_t team, int rank)) {
  return comm->rank() + (rank - team.rank) * team.stride;
}
