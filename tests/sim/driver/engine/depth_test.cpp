// How far a host may launch ahead (SIMGPU_QUEUE_DEPTH): a call that finds its hardware queue full stands until a
// command of that queue has finished, and everybody else goes on.
#include <chrono>
#include <thread>

#include "harness.h"

namespace simtest {
namespace {

constexpr int depth = 8;
constexpr std::chrono::milliseconds a_while{30};

Environment with_depth(const char* connections = "8", const char* entries = "8") {
  return {{"SIMGPU_QUEUE_DEPTH", entries}, {"CUDA_DEVICE_MAX_CONNECTIONS", connections}};
}

// Nothing that a running kernel would hold up is left to do.
CUstream prepared_stream() {
  function("work");
  return stream();
}

// A stream whose queue has room for `free` calls more, behind a kernel that runs until it is released.
struct Blocked {
  explicit Blocked(int free, int most = depth) : Blocked(prepared_stream(), make_spin(), free, most) {}
  Blocked(CUstream on, Spin* until, int free, int most) : first(on), words(until) {
    spin(first, words);
    for (int call = 1; call + free < most; ++call) work(first, 1, 10);
  }
  CUstream first;
  Spin* words;
};

// Makes the call on a thread of its own.
class Call {
 public:
  explicit Call(std::function<void()> call) {
    CUcontext context = nullptr;
    cuCtxGetCurrent(&context);
    thread_ = std::thread([this, context, call = std::move(call)] {
      cuCtxSetCurrent(context);
      call();
      returned_ = true;
    });
  }
  bool stands() const {
    std::this_thread::sleep_for(a_while);
    return !returned_;
  }
  void join() { thread_.join(); }

 private:
  std::atomic<bool> returned_{false};
  std::thread thread_;
};

CUgraphExec graph_of(CUstream captured, int kernels) {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  for (int kernel = 0; kernel < kernels; ++kernel) work(captured, 1, 10);
  EXPECT_EQ(cuStreamEndCapture(captured, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
  return executable;
}

struct Tools {
  CUevent event;
  CUdeviceptr word;
  CUgraphExec graph;
};

// The call fits into the last entry, and stands where there is none.
void takes_one_entry(const std::function<CUresult(CUstream, const Tools&)>& call) {
  isolated(with_depth(), [&] {
    CUcontext context = make_context();
    ASSERT_NE(context, nullptr);
    Tools tools{};
    CHECK_CUDA(cuEventCreate(&tools.event, CU_EVENT_DISABLE_TIMING));
    CHECK_CUDA(cuMemAlloc(&tools.word, 8));
    tools.graph = graph_of(stream(), 2 * depth);
    const Blocked blocked(1);
    CHECK_CUDA(call(blocked.first, tools));
    Call second([&] { EXPECT_EQ(call(blocked.first, tools), CUDA_SUCCESS); });
    EXPECT_TRUE(second.stands());
    release(blocked.words);
    second.join();
    CHECK_CUDA(cuCtxSynchronize());
  });
}

TEST(QueueDepth, KernelsTakeEntries) {
  takes_one_entry([](CUstream stream, const Tools&) { return work(stream, 1, 10), CUDA_SUCCESS; });
}
TEST(QueueDepth, EventsDo) {
  takes_one_entry([](CUstream stream, const Tools& tools) { return cuEventRecord(tools.event, stream); });
}
TEST(QueueDepth, WaitsForEventsDo) {
  takes_one_entry([](CUstream stream, const Tools& tools) { return cuStreamWaitEvent(stream, tools.event, 0); });
}
TEST(QueueDepth, WritesDo) {
  takes_one_entry([](CUstream stream, const Tools& tools) { return cuStreamWriteValue32(stream, tools.word, 1, 0); });
}
TEST(QueueDepth, ABatchOfWritesTakesOne) {
  takes_one_entry([](CUstream stream, const Tools& tools) {
    CUstreamBatchMemOpParams writes[3]{};
    for (CUstreamBatchMemOpParams& write : writes) {
      write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
      write.writeValue.address = tools.word;
    }
    return cuStreamBatchMemOp(stream, 3, writes, 0);
  });
}
TEST(QueueDepth, SetsDo) {
  takes_one_entry([](CUstream stream, const Tools& tools) { return cuMemsetD32Async(tools.word, 0, 1, stream); });
}
TEST(QueueDepth, CopiesDo) {
  takes_one_entry(
      [](CUstream stream, const Tools& tools) { return cuMemcpyDtoDAsync(tools.word + 4, tools.word, 4, stream); });
}
TEST(QueueDepth, HostFunctionsDo) {
  takes_one_entry([](CUstream stream, const Tools&) {
    return cuLaunchHostFunc(
        stream, [](void*) {}, nullptr);
  });
}
TEST(QueueDepth, AGraphTakesOneWhateverIsInIt) {
  takes_one_entry([](CUstream stream, const Tools& tools) { return cuGraphLaunch(tools.graph, stream); });
}
TEST(QueueDepth, AnEventOfTheContextTakesOneInEachQueue) {
  takes_one_entry([](CUstream, const Tools& tools) {
    CUcontext context = nullptr;
    EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
    return cuCtxRecordEvent(context, tools.event);
  });
}

TEST(QueueDepth, OnlyTheCallsOfItsQueueStand) {
  isolated(with_depth(), [] {
    make_context();
    const CUstream second = stream();
    const Blocked blocked(0);
    Call standing([&] { work(blocked.first, 1, 10); });
    EXPECT_TRUE(standing.stands());
    for (int launch = 0; launch < 3 * depth; ++launch) work(second, 1, 10);
    CHECK_CUDA(cuStreamSynchronize(second));
    EXPECT_TRUE(standing.stands());
    release(blocked.words);
    standing.join();
    CHECK_CUDA(cuCtxSynchronize());
  });
}

TEST(QueueDepth, StreamsThatShareAQueueShareItsEntries) {
  isolated(with_depth("1"), [] {
    make_context();
    const CUstream second = stream();
    const Blocked blocked(0);
    Call standing([&] { work(second, 1, 10); });
    EXPECT_TRUE(standing.stands());
    release(blocked.words);
    standing.join();
    CHECK_CUDA(cuCtxSynchronize());
  });
}

TEST(QueueDepth, OneEntryThatBecomesFreeLetsOneCallGo) {
  isolated(with_depth("1"), [] {
    make_context();
    const CUstream first = prepared_stream(), second = stream();
    Spin* const own = make_spin();
    Spin* const others = make_spin();
    spin(second, own);
    const Blocked blocked(first, others, 0, depth - 1);  // the other one has an entry, too
    std::atomic<int> done{0};
    Call one([&] { work(blocked.first, 1, 10), ++done; });
    Call other([&] { work(blocked.first, 1, 10), ++done; });
    EXPECT_TRUE(one.stands());
    EXPECT_EQ(done, 0);
    release(own);
    wait_until([&] { return done > 0; });
    std::this_thread::sleep_for(a_while);
    EXPECT_EQ(done, 1);
    release(blocked.words);
    one.join();
    other.join();
    CHECK_CUDA(cuCtxSynchronize());
  });
}

void fits(const Environment& settings, int calls, bool one_more_fits) {
  isolated(settings, [&] {
    make_context();
    const Blocked blocked(0, calls);
    Call next([&] { work(blocked.first, 1, 10); });
    EXPECT_EQ(next.stands(), !one_more_fits);
    release(blocked.words);
    next.join();
    CHECK_CUDA(cuCtxSynchronize());
  });
}
TEST(QueueDepth, IsAThousandUnlessAsked) {
  fits({}, 1023, true);
  fits({}, 1024, false);
}
TEST(QueueDepth, MayBeUnbounded) {
  fits(with_depth("8", "0"), 3000, true);
}

TEST(QueueDepth, DestroyingTheContextEndsTheCall) {
  isolated(with_depth(), [] {
    make_context();
    CUcontext context = nullptr;
    CHECK_CUDA(cuCtxCreate(&context, nullptr, 0, 0));
    const Blocked blocked(0);
    CUresult result = CUDA_SUCCESS;
    Call standing(
        [&] { result = cuStreamWriteValue32(blocked.first, reinterpret_cast<CUdeviceptr>(&blocked.words->go), 0, 0); });
    EXPECT_TRUE(standing.stands());
    Call destroys([&] { CHECK_CUDA(cuCtxDestroy(context)); });
    standing.join();  // while the kernel still runs
    EXPECT_EQ(result, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    release(blocked.words);
    destroys.join();
  });
}

TEST(QueueDepth, AStickyErrorEndsTheCall) {
  Environment settings = with_depth();
  settings.emplace_back("SIMGPU_FAULTS", "launch@2");
  isolated(settings, [] {
    make_context();
    const CUstream second = stream();
    const Blocked blocked(0);
    CUresult result = CUDA_SUCCESS;
    CUevent event = nullptr;
    CHECK_CUDA(cuEventCreate(&event, 0));
    Call standing([&] { result = cuEventRecord(event, blocked.first); });
    EXPECT_TRUE(standing.stands());
    work(second, 1, 10);
    standing.join();
    EXPECT_EQ(result, CUDA_ERROR_ILLEGAL_ADDRESS);
  });
}

TEST(QueueDepth, AProcessMayEndMeanwhile) {
  const int status = isolated(
      with_depth(),
      [] {
        make_context();
        const Blocked blocked(0);
        static Call* const standing = new Call([&] { work(blocked.first, 1, 10); });
        EXPECT_TRUE(standing->stands());
        std::exit(testing::Test::HasFailure() ? 1 : 42);
      },
      false);
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

}  // namespace
}  // namespace simtest
