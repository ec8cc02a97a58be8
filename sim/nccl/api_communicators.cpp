// Making, splitting, asking and ending communicators. Host threads.
#include <sys/types.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "api.h"
#include "driver.h"
#include "group.h"

using namespace simgpu::nccl;

namespace {

static_assert(sizeof(Address) <= NCCL_UNIQUE_ID_BYTES);

// NCCL_DEBUG=VERSION, as with the real library.
void print_version_once() {
  static const bool printed = [] {
    const char* level = std::getenv("NCCL_DEBUG");
    int version = 0;
    if (level == nullptr || ncclGetVersion(&version) != ncclSuccess) return false;
    std::fprintf(stderr, "simgpu: NCCL version %d (simulated)\n", version);
    return true;
  }();
  (void)printed;
}

ncclResult_t make(const char* name, ncclComm_t* out, int ranks, const ncclUniqueId& id, int rank,
                  const ncclConfig_t* config) {
  if (const ncclResult_t result = check_pointer(out, name, "the result"); result != ncclSuccess) return result;
  *out = nullptr;
  if (ranks < 1 || rank < 0 || rank >= ranks) {
    return fail(ncclInvalidArgument, "%s: rank %d of %d is not possible", name, rank, ranks);
  }
  Address address;
  std::memcpy(&address, id.internal, sizeof address);
  if (!Segment::valid(address)) return fail(ncclInvalidArgument, "%s: this is no unique id", name);
  Settings settings;
  if (const ncclResult_t result = read_settings(config, Settings{}, &settings); result != ncclSuccess) return result;
  if (driver() == nullptr) return ncclUnhandledCudaError;
  auto made = std::make_unique<ncclComm>(ranks, rank, settings);
  if (const ncclResult_t result = made->bind_context(); result != ncclSuccess) return result;
  ncclComm* const communicator = made.release();
  *out = communicator;
  // When this fails the handle stays, in the state of that error, for ncclCommAbort: another thread may be there
  // already.
  return submit(Job{communicator, [communicator, address] {
                      const ncclResult_t joined = communicator->join(address, {}, nullptr);
                      communicator->set_state(joined);
                      return joined;
                    }});
}

ncclResult_t initialise(const char* name, ncclComm_t* out, int ranks, const ncclUniqueId& id, int rank,
                        const ncclConfig_t* config) {
  print_version_once();
  return group_failed(make(name, out, ranks, id, rank, config));
}

}  // namespace

SIMGPU_NCCL_API(ncclResult_t, ncclGetVersion, (int* version)) {
  if (const ncclResult_t result = check_pointer(version, "ncclGetVersion", "version"); result != ncclSuccess)
    return result;
  static const int reported = [] {
    const char* text = std::getenv("SIMGPU_NCCL_VERSION");  // nothing else depends on it
    const int number = text == nullptr ? 0 : std::atoi(text);
    return number > 0 ? number : NCCL_VERSION_CODE;
  }();
  *version = reported;
  return ncclSuccess;
}

SIMGPU_NCCL_API(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * uniqueId)) {
  const ncclResult_t checked = check_pointer(uniqueId, "ncclGetUniqueId", "the result");
  if (checked != ncclSuccess) return checked;
  Address address;
  if (!Segment::create(LinkModel::from_environment().fifo_bytes(), &address)) {
    return fail(ncclSystemError, "ncclGetUniqueId: no shared memory");
  }
  std::memset(uniqueId, 0, sizeof *uniqueId);
  std::memcpy(uniqueId->internal, &address, sizeof address);
  return ncclSuccess;
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommInitRank, (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank)) {
  return initialise("ncclCommInitRank", comm, nranks, commId, rank, nullptr);
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommInitRankConfig,
                (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config)) {
  return initialise("ncclCommInitRankConfig", comm, nranks, commId, rank, config);
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommInitRankScalable,
                (ncclComm_t * newcomm, int nranks, int myrank, int nId, ncclUniqueId* commIds, ncclConfig_t* config)) {
  if (const ncclResult_t result = check_pointer(commIds, "ncclCommInitRankScalable", "the ids");
      result != ncclSuccess) {
    return group_failed(result);
  }
  if (nId < 1 || nId > nranks) {
    return group_failed(fail(ncclInvalidArgument, "ncclCommInitRankScalable: %d ids are not possible", nId));
  }
  return initialise("ncclCommInitRankScalable", newcomm, nranks, commIds[0], myrank, config);
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommInitAll, (ncclComm_t * comm, int ndev, const int* devlist)) {
  if (const ncclResult_t result = check_pointer(comm, "ncclCommInitAll", "the result"); result != ncclSuccess)
    return result;
  if (driver() == nullptr) return ncclUnhandledCudaError;
  int devices = 0;
  CUresult counted = driver()->cuInit(0);
  if (counted == CUDA_SUCCESS) counted = driver()->cuDeviceGetCount(&devices);
  if (counted != CUDA_SUCCESS) return driver_failed("cuDeviceGetCount", counted);
  if (ndev < 1 || ndev > devices)
    return fail(ncclInvalidArgument, "ncclCommInitAll: %d devices, there are %d", ndev, devices);
  ncclUniqueId id;
  if (const ncclResult_t result = ncclGetUniqueId(&id); result != ncclSuccess) return result;
  CUcontext previous = nullptr;
  driver()->cuCtxGetCurrent(&previous);
  group_start();
  for (int rank = 0; rank < ndev; ++rank) {
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUresult result = driver()->cuDeviceGet(&device, devlist == nullptr ? rank : devlist[rank]);
    if (result == CUDA_SUCCESS) result = driver()->cuDevicePrimaryCtxRetain(&context, device);
    if (result == CUDA_SUCCESS) result = driver()->cuCtxSetCurrent(context);
    if (result != CUDA_SUCCESS) {
      group_failed(driver_failed("cuDevicePrimaryCtxRetain", result));
      continue;
    }
    initialise("ncclCommInitAll", &comm[rank], ndev, id, rank, nullptr);
  }
  const ncclResult_t result = group_end();
  driver()->cuCtxSetCurrent(previous);
  return result;
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommSplit,
                (ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config)) {
  const char* const name = "ncclCommSplit";
  if (const ncclResult_t result = check_pointer(newcomm, name, "the result"); result != ncclSuccess) {
    return group_failed(result);
  }
  *newcomm = nullptr;
  if (const ncclResult_t result = check_ready(comm, name); result != ncclSuccess) return group_failed(result);
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR) {
    return group_failed(fail(ncclInvalidArgument, "%s: %d is no color", name, color));
  }
  Settings settings;
  if (const ncclResult_t result = read_settings(config, comm->settings(), &settings); result != ncclSuccess) {
    return group_failed(result);
  }
  return submit(Job{comm, [comm, color, key, settings, newcomm] {
                      std::unique_ptr<ncclComm> child;
                      const ncclResult_t result = comm->split(color, key, settings, &child);
                      if (result == ncclSuccess) *newcomm = child.release();
                      return result;
                    }});
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommGetUniqueId, (ncclComm_t comm, ncclUniqueId* uniqueId)) {
  if (const ncclResult_t result = check_ready(comm, "ncclCommGetUniqueId"); result != ncclSuccess) return result;
  return pncclGetUniqueId(uniqueId);
}

namespace {

// A rank of the parent: it keeps its number, and hears the address from the one that has the id.
ncclResult_t grow(const char* name, ncclComm_t parent, int ranks, const ncclUniqueId* id, ncclComm_t* out,
                  const ncclConfig_t* config) {
  if (const ncclResult_t result = check_ready(parent, name); result != ncclSuccess) return result;
  if (ranks <= parent->ranks()) {
    return fail(ncclInvalidArgument, "%s: %d ranks do not grow to %d", name, parent->ranks(), ranks);
  }
  Address mine{};
  if (id != nullptr) std::memcpy(&mine, id->internal, sizeof mine);
  if (id != nullptr && !Segment::valid(mine)) return fail(ncclInvalidArgument, "%s: this is no unique id", name);
  Settings settings = parent->settings();
  if (config != nullptr) {
    if (const ncclResult_t result = read_settings(config, Settings{}, &settings); result != ncclSuccess) return result;
  }
  auto made = std::make_unique<ncclComm>(ranks, parent->rank(), settings);
  made->adopt_device(*parent);
  ncclComm* const communicator = made.release();
  *out = communicator;
  return submit(Job{communicator, [parent, communicator, mine] {
                      Address address{};
                      ncclResult_t result = parent->agree(mine, &address);
                      if (result == ncclSuccess) result = communicator->join(address, {}, nullptr);
                      communicator->set_state(result);
                      return result;
                    }});
}

}  // namespace

SIMGPU_NCCL_API(ncclResult_t, ncclCommGrow,
                (ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank, ncclComm_t* newcomm,
                 ncclConfig_t* config)) {
  const char* const name = "ncclCommGrow";
  if (const ncclResult_t result = check_pointer(newcomm, name, "the result"); result != ncclSuccess) {
    return group_failed(result);
  }
  *newcomm = nullptr;
  if (comm == nullptr) {
    if (uniqueId != nullptr) return initialise(name, newcomm, nRanks, *uniqueId, rank, config);
    return group_failed(check_pointer(uniqueId, name, "the id of a rank that joins"));
  }
  if (rank == -1) return group_failed(grow(name, comm, nRanks, uniqueId, newcomm, config));
  return group_failed(fail(ncclInvalidArgument, "%s: a rank of the parent keeps its rank: -1, not %d", name, rank));
}

namespace {

// Both wait for all ranks.
ncclResult_t change_memory(const char* name, ncclComm_t comm, ncclResult_t (Communicator::*change)()) {
  if (comm->device_stream().use_count() > 1) {
    return fail(ncclInvalidUsage, "%s: the communicator shares what it has with another one", name);
  }
  return submit(Job{comm, [comm, change] { return (comm->*change)(); }});
}

}  // namespace

SIMGPU_NCCL_API(ncclResult_t, ncclCommSuspend, (ncclComm_t comm, int flags)) {
  const char* const name = "ncclCommSuspend";
  if (const ncclResult_t result = check_ready(comm, name); result != ncclSuccess) return group_failed(result);
  if ((flags & NCCL_SUSPEND_MEM) == 0) return ncclSuccess;
  return group_failed(change_memory(name, comm, &Communicator::suspend));
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommResume, (ncclComm_t comm)) {
  const char* const name = "ncclCommResume";
  if (const ncclResult_t result = check_handle(comm, name); result != ncclSuccess) return group_failed(result);
  if (!comm->suspended()) return group_failed(fail(ncclInvalidUsage, "%s: the communicator is not suspended", name));
  return group_failed(change_memory(name, comm, &Communicator::resume));
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommFinalize, (ncclComm_t comm)) {
  if (const ncclResult_t result = check_ready(comm, "ncclCommFinalize"); result != ncclSuccess) return result;
  comm->set_finalized();
  return submit(Job{comm, [comm] { return comm->finish(); }});
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommDestroy, (ncclComm_t comm)) {
  if (comm == nullptr) return ncclSuccess;
  if (const ncclResult_t result = check_handle(comm, "ncclCommDestroy"); result != ncclSuccess) return result;
  comm->worker.reset();
  const ncclResult_t result = comm->finish();
  delete comm;
  return result;
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommAbort, (ncclComm_t comm)) {
  if (comm == nullptr) return ncclSuccess;
  if (const ncclResult_t result = check_handle(comm, "ncclCommAbort"); result != ncclSuccess) return result;
  comm->abort();
  delete comm;
  return ncclSuccess;
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommRevoke, (ncclComm_t comm, int revokeFlags)) {
  if (const ncclResult_t result = check_handle(comm, "ncclCommRevoke"); result != ncclSuccess) return result;
  if (revokeFlags != NCCL_REVOKE_DEFAULT) return fail(ncclInvalidArgument, "ncclCommRevoke: the flags must be 0");
  comm->revoke();
  return ncclSuccess;
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t* asyncError)) {
  const char* const name = "ncclCommGetAsyncError";
  if (const ncclResult_t result = check_handle(comm, name); result != ncclSuccess) return result;
  if (const ncclResult_t result = check_pointer(asyncError, name, "the result"); result != ncclSuccess) return result;
  *asyncError = comm->asynchronous_state();
  return ncclSuccess;
}

namespace {

// The simple questions; they also wait for a non-blocking communicator to be there, by refusing.
template <class Answer>
ncclResult_t ask(const char* name, ncclComm_t comm, int* out, Answer answer) {
  if (const ncclResult_t result = check_handle(comm, name); result != ncclSuccess) return result;
  if (const ncclResult_t result = check_pointer(out, name, "the result"); result != ncclSuccess) return result;
  if (!comm->ready()) return fail(ncclInvalidArgument, "%s: the communicator is not there yet", name);
  *out = answer(*comm);
  return ncclSuccess;
}

}  // namespace

SIMGPU_NCCL_API(ncclResult_t, ncclCommCount, (const ncclComm_t comm, int* count)) {
  return ask("ncclCommCount", comm, count, [](const ncclComm& known) { return known.ranks(); });
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommCuDevice, (const ncclComm_t comm, int* device)) {
  return ask("ncclCommCuDevice", comm, device, [](const ncclComm& known) { return known.device(); });
}

SIMGPU_NCCL_API(ncclResult_t, ncclCommUserRank, (const ncclComm_t comm, int* rank)) {
  return ask("ncclCommUserRank", comm, rank, [](const ncclComm& known) { return known.rank(); });
}
