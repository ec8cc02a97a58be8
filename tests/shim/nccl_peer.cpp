// See nccl_peer.h.
#include "tests/shim/nccl_peer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>

namespace {

struct Told {
  std::uint32_t communicator;
  std::uint32_t sends;
};

void exchange(ncclComm_t with, int peer, bool sends, void* memory, CUstream stream) {
  if (sends)
    ncclSend(memory, NcclPeer::bytes, ncclInt8, peer, with, stream);
  else
    ncclRecv(memory, NcclPeer::bytes, ncclInt8, peer, with, stream);
}

struct Rank {
  ncclComm_t communicator = nullptr;
  CUstream stream = nullptr;
};

// Of rank 1. A message is the id of a communicator, or what to do.
[[noreturn]] void obey(int from_test) {
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 1);
  cuCtxSetCurrent(context);
  cuMemAlloc_v2(&memory, NcclPeer::bytes);
  void* const bytes = reinterpret_cast<void*>(memory);
  std::vector<Rank> ranks;
  std::uint32_t count = 0;
  if (read(from_test, &count, sizeof count) != sizeof count) _exit(2);
  while (ranks.size() < count) {
    ncclUniqueId id{};
    if (read(from_test, &id, sizeof id) != sizeof id) _exit(2);
    Rank& rank = ranks.emplace_back();
    cuStreamCreate(&rank.stream, CU_STREAM_NON_BLOCKING);
    ncclCommInitRank(&rank.communicator, 2, id, 1);
    exchange(rank.communicator, 0, false, bytes, rank.stream);
    exchange(rank.communicator, 0, true, bytes, rank.stream);
  }
  Told told{};
  while (read(from_test, &told, sizeof told) == sizeof told) {
    const Rank& rank = ranks.at(told.communicator);
    exchange(rank.communicator, 0, told.sends != 0, bytes, rank.stream);
  }
  _exit(0);
}

}  // namespace

void NcclPeer::start() {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  to_peer_ = ends[1];
  if (const pid_t child = fork(); child == 0) {
    close(ends[1]);
    obey(ends[0]);
  } else {
    ASSERT_GT(child, 0);
  }
  close(ends[0]);
}

NcclPeer::~NcclPeer() {
  close(to_peer_);
}

std::vector<ncclComm_t> NcclPeer::open(int count, void* memory, CUstream stream) {
  std::vector<ncclComm_t> made;
  const auto wanted = static_cast<std::uint32_t>(count);
  EXPECT_EQ(write(to_peer_, &wanted, sizeof wanted), sizeof wanted);
  for (int i = 0; i < count; ++i) {
    ncclUniqueId id{};
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    EXPECT_EQ(write(to_peer_, &id, sizeof id), sizeof id);
    EXPECT_EQ(ncclCommInitRank(&made.emplace_back(), 2, id, 0), ncclSuccess);
    exchange(made.back(), 1, true, memory, stream);
    exchange(made.back(), 1, false, memory, stream);
  }
  return made;
}

void NcclPeer::take_part(std::size_t communicator, bool sends) {
  const Told told{static_cast<std::uint32_t>(communicator), sends ? 1u : 0u};
  EXPECT_EQ(write(to_peer_, &told, sizeof told), sizeof told);
}
