// The process around the main job: forked children, exit handlers, cancelled threads.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/shim/shim_fixture.h"

namespace {

class Process : public ReceivingJob {};

TEST_F(Process, UnloadingIsRefusedToTheExitHandlersOfAFillJobOnly) {
  EXPECT_EQ(cuModuleUnload(nullptr), CUDA_SUCCESS);
  core()->shim->set_unload_refused(true);
  EXPECT_EQ(cuModuleUnload(nullptr), CUDA_ERROR_DEINITIALIZED);
  EXPECT_EQ(cuLibraryUnload(nullptr), CUDA_ERROR_DEINITIALIZED);
  std::thread([] { EXPECT_EQ(cuLibraryUnload(nullptr), CUDA_SUCCESS); }).join();
  EXPECT_EQ(fake_unloaded(), 2);
  core()->shim->set_unload_refused(false);
  EXPECT_EQ(cuLibraryUnload(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(fake_unloaded(), 3);
}

TEST_F(Process, AForkedChildIsAPassThrough) {
  const std::size_t before = fake_enqueued(transfer);
  const pid_t child = fork();
  if (child == 0) {
    const bool fine = ncclRecv(buffer, 1, ncclInt8, 0, c, transfer) == ncclSuccess && events().empty() &&
                      fake_enqueued(transfer) == before + 2;
    _exit(fine ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  receive();
}

// A thread that is cancelled inside the core would have to be unwound through it.
TEST_F(Process, NoCallIntoTheCoreIsCutShort) {
  const ncclComm_t other = communicator();
  fake_fail_allocations(1);
  CUdeviceptr memory = 0;
  cuMemAlloc_v2(&memory, 16);
  ncclCommDestroy(other);
  cuDevicePrimaryCtxReset_v2(0);
  EXPECT_EQ(core()->rescues, 1);
  EXPECT_EQ(core()->contexts_closed, 1);
  EXPECT_FALSE(core()->cancellable);
}

}  // namespace
