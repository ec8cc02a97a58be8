// Kernels of an NCCL that is not hooked, which are known by the names under which the main job looks them up.
#include <dlfcn.h>

#include "tests/shim/shim_fixture.h"

namespace {

class UnseenNccl : public LaunchingJob {
 protected:
  enum class Way { plain, ex };
  static CUfunction function_of(const char* name) {
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(cuLibraryGetKernel(&kernel, nullptr, name), CUDA_SUCCESS);
    EXPECT_EQ(cuKernelGetFunction(&function, kernel), CUDA_SUCCESS);
    return function;
  }
  void launch_ex(CUfunction function) {
    CUlaunchConfig config{};
    config.hStream = compute;
    EXPECT_EQ(cuLaunchKernelEx(&config, function, nullptr, nullptr), CUDA_SUCCESS);
  }
  void launch_plain(CUfunction function) {
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, compute, nullptr, nullptr), CUDA_SUCCESS);
  }
  // It is announced as a group of which nothing is known, with markers on either side.
  bool is_announced(Way way, CUfunction function) {
    const std::size_t before = fake_enqueued(compute);
    events();
    way == Way::ex ? launch_ex(function) : launch_plain(function);
    const auto seen = events();
    const bool announced = kinds(seen) == Kinds{EventKind::group_issued};
    const bool first_behind_one = kinds(seen) == Kinds{EventKind::launch_noted};
    EXPECT_TRUE(announced || first_behind_one || seen.empty());
    EXPECT_EQ(fake_enqueued(compute), before + (announced ? 2 : 0));
    if (announced) {
      EXPECT_EQ(seen[0].summary.captured, weft::Captured::unseen_kernel);
    }
    return announced;
  }
  bool is_announced(const char* name) { return is_announced(Way::ex, function_of(name)); }
};

TEST_F(UnseenNccl, IsKnownByTheNamesOfItsKernels) {
  EXPECT_EQ(core()->shim->unseen_nccl(), nullptr);
  EXPECT_FALSE(is_announced("gemm"));
  EXPECT_FALSE(is_announced("_Z4gemmPf11ncclDevComm"));
  EXPECT_FALSE(is_announced("my_ncclDevKernel"));
  EXPECT_FALSE(is_announced("ncclGemm"));
  EXPECT_EQ(core()->shim->unseen_nccl(), nullptr);
  EXPECT_TRUE(is_announced("ncclDevKernel_SendRecv"));
  EXPECT_NE(core()->shim->unseen_nccl(), nullptr);
  EXPECT_TRUE(is_announced("_Z21ncclDevKernel_Generic24ncclDevKernelArgsStorageILm4096EE"));
  EXPECT_TRUE(is_announced("_ZN5ncclx20ncclDevKernelGenericEv"));
  EXPECT_TRUE(is_announced("ncclKernelAllGatherCtranDirect"));
  EXPECT_FALSE(is_announced("gemm")) << "other kernels are launches, as before";
}

// The runtime looks up for all libraries, on any thread of NCCL: these may be kernels of the one that is hooked.
TEST_F(UnseenNccl, IsNoneThatASharedRuntimeLooksUp) {
  void* const runtime = dlopen(SHARED_RUNTIME, RTLD_NOW);
  ASSERT_NE(runtime, nullptr) << dlerror();
  const auto look_up = reinterpret_cast<decltype(&cuLibraryGetKernel)>(dlsym(runtime, "look_up"));
  CUkernel kernel = nullptr;
  EXPECT_EQ(look_up(&kernel, nullptr, "ncclDevKernel_Generic"), CUDA_SUCCESS);
  EXPECT_EQ(core()->shim->unseen_nccl(), nullptr);
  EXPECT_FALSE(is_announced(Way::plain, reinterpret_cast<CUfunction>(kernel)));
}

TEST_F(UnseenNccl, IsSeenInEachWayToLookUpAndToLaunch) {
  CUkernel kernel = nullptr;
  ASSERT_EQ(cuLibraryGetKernel(&kernel, nullptr, "ncclDevKernel_Generic"), CUDA_SUCCESS);
  EXPECT_TRUE(is_announced(Way::ex, reinterpret_cast<CUfunction>(kernel)));
  EXPECT_TRUE(is_announced(Way::plain, reinterpret_cast<CUfunction>(kernel)));
  CUfunction of_module = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&of_module, nullptr, "ncclDevKernel_SendRecv"), CUDA_SUCCESS);
  EXPECT_TRUE(is_announced(Way::plain, of_module));
}

TEST_F(UnseenNccl, IsCapturedLikeOperations) {
  const CUfunction function = function_of("ncclDevKernel_SendRecv");
  CUgraph graph = nullptr;
  CUgraphExec step = nullptr;
  ASSERT_EQ(cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  launch_ex(function);
  ASSERT_EQ(cuStreamEndCapture(compute, &graph), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&step, graph, 0), CUDA_SUCCESS);
  events();
  cuGraphLaunch(step, compute);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::group_issued});
  EXPECT_EQ(seen[0].summary.captured, weft::Captured::graph);
}

// A wait for it is marked, as one for a group is.
TEST_F(UnseenNccl, IsWaitedForLikeAGroup) {
  fake_block(compute);
  launch_ex(function_of("ncclDevKernel_SendRecv"));
  cuEventRecord(arrived, compute);
  events();
  cuStreamWaitEvent(transfer, arrived, 0);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::wait_issued});
}

}  // namespace
