// Random legal programs under the real hooks on the simulated GPU: its libcuda.so.1 and libnccl.so.2 (sim/). See
// program_player.h.
//
// Time is the programs' own here, too. A kernel spins until the program says that it ends, as NCCL's do until the peer
// comes, and the peer comes when the program says that the group ends. Behind each call lies an event that no hook
// sees: it tells when the GPU has come as far as the program has. Calls of the host arrive at once, and each
// stream has a hardware queue of its own. A copy cannot be held back: a kernel that no hook sees stands behind it.
// Streams that are made next to a spinning kernel would wait for it on this GPU; the programs make them all the time,
// so it only logs that (SIMGPU_HAZARDS).
#include <sys/prctl.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <list>
#include <queue>
#include <set>
#include <thread>
#include <tuple>

#include "simgpu/kernels.h"
#include "tests/shim/nccl_peer.h"
#include "tests/shim/program_player.h"

namespace {

using Gate = std::atomic<bool>;
constexpr int communicators = 14;  // no program has so many streams, one after the other
// Of the device. The first ones are of the legacy stream, the one here, and those that each communicator has: behind a
// kernel of another stream, which holds up their queue, they would hold up NCCL's next kernel.
constexpr std::size_t queues = 32, first_queue = 2 + communicators;
constexpr auto limit = std::chrono::seconds(10);  // for anything that should happen now

// On the engine's thread.
int spin_until_open(const simgpu_launch* launch, std::int64_t started, std::int64_t now, std::int64_t* finish) {
  const Gate* gate = nullptr;
  std::memcpy(&gate, launch->parameters[0], sizeof gate);
  *finish = std::max(started, now);
  return gate->load() ? 1 : 0;
}

constexpr std::uint32_t parameter_size = sizeof(Gate*);
constexpr simgpu_kernel kernel{sizeof(simgpu_kernel), "compute", 1, &parameter_size, nullptr, nullptr,
                               &spin_until_open,      0,         0};
constexpr simgpu_kernel_list kernels{sizeof(simgpu_kernel_list), 1, &kernel};

class SimulatedCalls : public ProgramPlayer {
 protected:
  void SetUp() override {
    prctl(PR_SET_TIMERSLACK, 1UL);
    peer_.start();
    CUcontext context = nullptr;
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    set_up_kernel();
    ASSERT_EQ(cuMemAlloc_v2(&memory_, copied), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAllocHost_v2(&host_memory_, copied), CUDA_SUCCESS);
    CUstream stream = nullptr;
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    communicators_ = peer_.open(communicators, reinterpret_cast<void*>(memory_), stream);
    ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    TestCore* const core = SimulatedCalls::core();
    ASSERT_NE(core, nullptr);
    ASSERT_EQ(cuMemHostRegister_v2(core->words[0], core->word_count * sizeof *core->words[0], 0), CUDA_SUCCESS);
    core->shim->set_launches_counted(true);
    const auto find = core->shim->real_driver_symbol;
    unseen_.create_stream = reinterpret_cast<decltype(&cuStreamCreate)>(find("cuStreamCreate"));
    unseen_.destroy_stream = reinterpret_cast<decltype(&cuStreamDestroy_v2)>(find("cuStreamDestroy_v2"));
    unseen_.create = reinterpret_cast<decltype(&cuEventCreate)>(find("cuEventCreate"));
    unseen_.record = reinterpret_cast<decltype(&cuEventRecord)>(find("cuEventRecord"));
    unseen_.query = reinterpret_cast<decltype(&cuEventQuery)>(find("cuEventQuery"));
    unseen_.launch = reinterpret_cast<decltype(&cuLaunchKernel)>(find("cuLaunchKernel"));
    events();
  }

 private:
  // The least that is noted as a copy, and the most that the engine copies at once.
  static constexpr std::size_t copied = 64 << 10;

  // Behind a call.
  struct Place {
    std::int64_t end;
    std::size_t number;
    CUevent event;
    std::function<void()> let_go;  // what it waits for, if anything
    std::size_t stream;
    bool is_group;
    bool operator>(const Place& other) const { return std::tie(end, number) > std::tie(other.end, other.number); }
  };

  void set_up_kernel() {
    constexpr CUuuid id{SIMGPU_SERVICES_UUID_BYTES};
    const void* table = nullptr;
    ASSERT_EQ(cuGetExportTable(&table, &id), CUDA_SUCCESS);
    services_ = static_cast<const simgpu_services*>(table);
    ASSERT_EQ(services_->register_kernels(&kernels), 0);
    CUmodule module = nullptr;
    ASSERT_EQ(cuModuleLoadData(&module, ".version 9.0\n.target sm_90\n"), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&kernel_, module, "compute"), CUDA_SUCCESS);
    ASSERT_EQ(cuFuncLoad(kernel_), CUDA_SUCCESS);
  }

  void let_go(std::int64_t time) override {
    for (; !ahead_.empty() && ahead_.top().end <= time; ahead_.pop()) {
      const Place& place = ahead_.top();
      if (place.let_go) place.let_go();
      ASSERT_TRUE(happens([&] { return unseen_.query(place.event) == CUDA_SUCCESS; }))
          << "stream " << place.stream << " does not get as far as " << place.end
          << (place.is_group ? ", a group" : "");
      if (place.is_group) groups_.erase(groups_.find(place.stream));
      unused_events_.push_back(place.event);
    }
    if (time == end_of_program) clean_up();
  }

  // Streams get their hardware queues one after the other, so after so many the next program has the same ones.
  void clean_up() {
    ASSERT_LE(streams_made(), queues - first_queue) << "streams share hardware queues";
    for (std::size_t made = streams_made(); made < queues; ++made) {
      CUstream stream = nullptr;
      ASSERT_EQ(unseen_.create_stream(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
      ASSERT_EQ(unseen_.destroy_stream(stream), CUDA_SUCCESS);
    }
    gates_.clear();
  }

  template <class Condition>
  static bool happens(Condition has_happened) {
    const auto give_up = std::chrono::steady_clock::now() + limit;
    while (!has_happened()) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(5));
    }
    return true;
  }

  // The kernel that is launched next.
  void** spinning() {
    gate_ = &gates_.emplace_back(false);
    let_go_ = [gate = gate_, this] {
      gate->store(true);
      services_->ring();
    };
    parameters_[0] = &gate_;
    return parameters_;
  }

  void launch(const Call&, CUstream of) override {
    if (graph_ == nullptr) {
      EXPECT_EQ(cuLaunchKernel(kernel_, 1, 1, 1, 32, 1, 1, 0, of, spinning(), nullptr), CUDA_SUCCESS);
      return;
    }
    let_go_ = std::move(let_go_of_graph_);
    EXPECT_EQ(cuGraphLaunch(graph_, of), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphExecDestroy(graph_), CUDA_SUCCESS);
    graph_ = nullptr;
  }

  void begin_capture(CUstream of) override {
    ProgramPlayer::begin_capture(of);
    EXPECT_EQ(cuLaunchKernel(kernel_, 1, 1, 1, 32, 1, 1, 0, of, spinning(), nullptr), CUDA_SUCCESS);
    let_go_of_graph_ = std::move(let_go_);
  }

  // The program launches it at once.
  void end_capture(CUstream of) override {
    CUgraph captured = nullptr;
    EXPECT_EQ(cuStreamEndCapture(of, &captured), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiateWithFlags(&graph_, captured, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(captured), CUDA_SUCCESS);
  }

  void copy(const Call&, CUstream of) override {
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(memory_, host_memory_, copied, of), CUDA_SUCCESS);
    EXPECT_EQ(unseen_.launch(kernel_, 1, 1, 1, 32, 1, 1, 0, of, spinning(), nullptr), CUDA_SUCCESS);
  }

  void group(const Call& call, CUstream of) override {
    void* const bytes = reinterpret_cast<void*>(memory_);
    const ncclComm_t with = communicators_.at(call.communicator);
    EXPECT_EQ(call.receives ? ncclRecv(bytes, NcclPeer::bytes, ncclInt8, 1, with, of)
                            : ncclSend(bytes, NcclPeer::bytes, ncclInt8, 1, with, of),
              ncclSuccess);
    let_go_ = [this, number = call.communicator, sends = call.receives] { peer_.take_part(number, sends); };
    groups_.insert(call.stream);
    is_group_ = true;
  }

  void is_enqueued(const Call& call, CUstream of) override {
    if (unused_events_.empty()) unseen_.create(&unused_events_.emplace_back(), CU_EVENT_DISABLE_TIMING);
    const CUevent behind = unused_events_.back();
    unused_events_.pop_back();
    EXPECT_EQ(unseen_.record(behind, of), CUDA_SUCCESS);
    unseen_.query(behind);  // what can begin, begins here
    ahead_.push(
        {call.end, ++number_, behind, std::exchange(let_go_, nullptr), call.stream, std::exchange(is_group_, false)});
  }

  // Work that ends meanwhile is let go by another thread, once the hook has noted that the host waits, where it has to.
  void synchronise(const Call& call, CUstream of) override {
    const bool is_noted = std::any_of(groups_.begin(), groups_.end(), [this](std::size_t s) { return is_alive(s); });
    std::thread others([&, before = static_cast<std::ptrdiff_t>(take_events().size())] {
      const auto is_waiting = [&] {
        const Events& seen = take_events();
        return std::any_of(seen.begin() + before, seen.end(),
                           [](const weft::Event& e) { return e.kind == weft::EventKind::host_wait_begun; });
      };
      if (is_noted) happens(is_waiting);
      let_go(call.end);
    });
    ProgramPlayer::synchronise(call, of);
    others.join();
  }

  NcclPeer peer_;
  const simgpu_services* services_ = nullptr;
  CUfunction kernel_ = nullptr;
  CUdeviceptr memory_ = 0;
  void* host_memory_ = nullptr;
  std::vector<ncclComm_t> communicators_;
  // The driver's own functions.
  struct {
    decltype(&cuStreamCreate) create_stream;
    decltype(&cuStreamDestroy_v2) destroy_stream;
    decltype(&cuEventCreate) create;
    decltype(&cuEventRecord) record;
    decltype(&cuEventQuery) query;
    decltype(&cuLaunchKernel) launch;
  } unseen_{};

  std::priority_queue<Place, std::vector<Place>, std::greater<>> ahead_;
  std::size_t number_ = 0;
  std::multiset<std::size_t> groups_;  // streams of those that are not over
  std::vector<CUevent> unused_events_;
  std::list<Gate> gates_;
  // Of the call that is made.
  Gate* gate_ = nullptr;
  void* parameters_[1]{};
  std::function<void()> let_go_;
  bool is_group_ = false;
  // Of the capture that has ended, or has begun.
  CUgraphExec graph_ = nullptr;
  std::function<void()> let_go_of_graph_;
};

TEST_F(SimulatedCalls, GiveTheEventsOfTheOracle) {
  play_all();
}

}  // namespace
